"""Freezing against ``docker build`` of the same content on the same base.

    python -m benchmarks.freeze [--base cpu] [--experiment proof/portability/row-max] [--repeat 3]

Time, bytes added to the base, and whether two runs give one digest. ``docker build`` runs without its cache,
since a changed experiment would miss it too; its context is the very files that a bundle adds.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import BUNDLER, ROOT, Measured, checkout, measure, median, repeated, show, together
from bundler.bundle.content import BUNDLE_PREFIX, REPLAYER_PREFIX, experiment_entries, replayer_entries
from bundler.bundle.freeze import ENTRYPOINT, find_base
from bundler.experiment.load import load
from bundler.oci.archive import write_archive
from bundler.oci.unpack import unpack

BASE = "bundler-benchmark-base:1"
BUILT = "bundler-benchmark:built"
FROZEN = "bundler-benchmark:frozen"
LABEL = "bundler-benchmark"
"""On every image that docker build makes here, all but the last of which lose their name."""
DOCKERFILE = f"""\
FROM {BASE}
COPY opt /opt
COPY bundle /bundle
USER 65534:65534
WORKDIR /tmp
ENTRYPOINT [{", ".join(f'"{word}"' for word in ENTRYPOINT)}]
CMD ["verify"]
"""


@dataclass(frozen=True)
class Way:
    """One way to the same content."""

    name: str
    run: Callable[[], Measured]
    digest: Callable[[Measured], str]
    added_bytes: Callable[[Measured], int | None]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--base", default="cpu", help="cpu or cuda13, built by make images")
    parser.add_argument("--experiment", default="proof/portability/row-max")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(dir=ROOT / "build") as name,
        checkout(options.experiment, Path(name)) as experiment,
    ):
        _compare(Path(name), experiment, options.base, options.repeat)


def _compare(scratch: Path, experiment: Path, base: str, repeat: int) -> None:
    _load_base(scratch, base)
    _lay_out(scratch / "context", experiment)
    measured = [(way, repeated(repeat, way.run)) for way in _ways(scratch, experiment, base)]
    built = median(next(runs for way, runs in measured if way.name == "docker build")).seconds
    rows = []
    for way, runs in measured:
        middle = median(runs)
        digests = {way.digest(run) for run in runs}
        added = way.added_bytes(middle)
        rows.append(
            (
                way.name,
                f"{middle.seconds:.2f} s",
                f"{middle.seconds / built:.2f}x",
                f"{added / 1024:.0f} KiB" if added is not None else "",
                "equal" if len(digests) == 1 else f"{len(digests)} of {len(runs)} differ",
            )
        )
    columns = ("", "time", "of docker build", "added to the base", "digests")
    show(f"freeze on {base}: median of {repeat} runs", columns, rows)
    measure(["docker", "rmi", "--force", BUILT, FROZEN], codes=range(256))
    measure(["docker", "image", "prune", "--force", "--filter", f"label={LABEL}"])


def _ways(scratch: Path, experiment: Path, base: str) -> list[Way]:
    # A base by its name is trusted as this user's own store; by its path it would be hashed each time.
    store = scratch / "checkout" / "build"
    store.mkdir()
    (store / "images").symlink_to(ROOT / "build" / "images")

    def freezing(output: str, *more: str) -> Callable[[], Measured]:
        command = [
            *BUNDLER,
            "freeze",
            experiment,
            "-o",
            f"{scratch}/{output}",
            "--base",
            base,
            "--tag",
            FROZEN,
        ]
        return lambda: measure([*command, *more])

    def loading(output: str) -> Callable[[], Measured]:
        thin = freezing(output, "--thin")
        return lambda: together(thin(), measure(["docker", "load", "-i", f"{scratch}/{output}"]))

    def digest(run: Measured) -> str:
        return run.stdout.partition(" ")[0]

    def added(run: Measured) -> int:
        return int(run.stdout.partition(" add ")[2].partition(" ")[0]) * 1024

    build = [
        "docker",
        "build",
        "--no-cache",
        "--quiet",
        "--label",
        LABEL,
        "--tag",
        BUILT,
        scratch / "context",
    ]

    def saving() -> Measured:
        return together(measure(build), measure(["docker", "save", "-o", f"{scratch}/saved.tar", BUILT]))

    return [
        Way("docker build", lambda: measure(build), lambda run: run.stdout.strip(), lambda run: _layers()),
        Way("docker build, docker save", saving, lambda run: run.stdout.strip(), lambda run: None),
        Way("bundler freeze -o FOLDER/", freezing("folder/"), digest, added),
        Way("bundler freeze -o FILE", freezing("full.tar"), digest, added),
        Way("bundler freeze --thin", freezing("thin.tar", "--thin"), digest, added),
        Way("bundler freeze --thin, docker load", loading("thin.tar"), digest, added),
    ]


def _layers() -> int:
    """What the two COPY steps of the built image added, in bytes, as Docker counts it."""
    command = ["docker", "history", "--human=false", "--format", "{{.CreatedBy}}\t{{.Size}}", BUILT]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return sum(int(line.rpartition("\t")[2]) for line in lines if "COPY" in line)


def _load_base(scratch: Path, base: str) -> None:
    image = find_base(base, ROOT)
    command = ["docker", "image", "inspect", "--format", "{{.Id}}", BASE]
    there = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    if there != image.config_digest:
        measure(["docker", "rmi", BASE], codes=range(256))
        write_archive(image, scratch / "base.tar", reference=BASE)
        measure(["docker", "load", "-i", scratch / "base.tar"])
        (scratch / "base.tar").unlink()


def _lay_out(context: Path, experiment: Path) -> None:
    unpack(replayer_entries(), context / REPLAYER_PREFIX)
    unpack(experiment_entries(load(experiment)), context / BUNDLE_PREFIX)
    (context / "Dockerfile").write_text(DOCKERFILE)


if __name__ == "__main__":
    main()
