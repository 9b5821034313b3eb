"""The main job on real input: freeze row-max, load it into Docker, verify it under the hardening flags."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bundler.bundle.content import BUNDLE_PREFIX, experiment_entries
from bundler.bundle.freeze import find_base, freeze
from bundler.digest import Digest
from bundler.experiment.load import load, parse_evidence
from bundler.model.evidence import evidence_json
from bundler.oci.image import Image, append, own_layers
from bundler.oci.layer import build_layer
from bundler.oci.tree import Entry
from tests.e2e.harden import HARDENING, ROOT, cpu_base, docker, loaded_into_docker

pytestmark = [pytest.mark.docker, pytest.mark.slow]

QUICK = ("--ground", "interpreter", "--candidate", "without-skill/01", "--case", "33x100/sliced")


@pytest.fixture(scope="module")
def base() -> Image:
    return cpu_base()


@pytest.fixture(scope="module")
def row_max(base: Image, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    image = freeze(load(ROOT / "proof/portability/row-max"), base).image
    tag = loaded_into_docker(image, tmp_path_factory.mktemp("row-max"), "bundler-e2e-row-max:latest")
    yield tag
    docker("image", "rm", "--force", tag)


def test_everything_is_reproduced_without_a_gpu(row_max: str) -> None:
    done = docker("run", "--rm", *HARDENING, row_max, "verify", "--json", "-")
    assert done.returncode == 0, done.stderr[-3000:]
    evidence = parse_evidence(done.stdout.encode(), "the container's evidence")
    assert evidence.complete
    assert evidence.grounds["device"].status == "not-available"
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("REPRODUCED: 3,840 cells reproduced, 0 differ"), last


def test_any_user_may_run_it(row_max: str) -> None:
    done = docker("run", "--rm", *HARDENING, "-u", "12345", row_max, "verify", *QUICK)
    assert done.returncode == 0, done.stdout + done.stderr


def changed(image: Image, entries: list[Entry]) -> Image:
    """The same image with other files in its experiment's layer."""
    config = image.config
    return append(
        find_base("cpu", ROOT),
        [own_layers(image)[0], build_layer(entries, BUNDLE_PREFIX)],
        entrypoint=config.entrypoint,
        cmd=config.cmd,
        user=config.user,
        working_dir=config.working_dir,
        env={"BUNDLER_BUNDLE": f"/{BUNDLE_PREFIX}"},
        labels={},
    )


@pytest.mark.parametrize(
    ("part", "code"),
    [
        ("proof/portability/row-max/outputs/with-skill/01.md", 3),
        ("proof/portability/row-max/harness.py", 3),
        ("proof/portability/row-max/evidence/cpu.json.xz", 3),
    ],
)
def test_one_changed_byte_is_refused(base: Image, tmp_path: Path, part: str, code: int) -> None:
    loaded = load(ROOT / "proof/portability/row-max")
    entries = [
        Entry(e.path, bytes([*e.data[:-2], e.data[-2] ^ 1, e.data[-1]])) if e.path == part else e
        for e in experiment_entries(loaded)
    ]
    tag = loaded_into_docker(
        changed(freeze(loaded, base).image, entries), tmp_path, "bundler-e2e-changed:latest"
    )
    done = docker("run", "--rm", *HARDENING, tag, "verify", *QUICK)
    assert done.returncode == code, done.stdout + done.stderr
    assert part in done.stderr


def test_other_recorded_evidence_differs(base: Image, tmp_path: Path) -> None:
    """A bundle whose author recorded what is not so: nothing is damaged, but it does not reproduce."""
    source = ROOT / "proof/portability/row-max"
    loaded = load(source)
    evidence = next(e for _, e in loaded.recorded if "interpreter" in e.grounds)
    report = evidence.grounds["interpreter"]
    passed = report.cells["without-skill/01"]["33x100/sliced"]
    failed = report.cells["without-skill/03"]["33x100/sliced"]
    row = {**report.cells["without-skill/01"], "33x100/sliced": failed}
    cells = {**report.cells, "without-skill/01": row}
    assert passed != failed
    forged = evidence.model_copy(
        update={"grounds": {"interpreter": report.model_copy(update={"cells": cells})}}
    )
    folder = tmp_path / "proof/portability/row-max"
    subprocess.run(
        ["cp", "-r", "--parents", "proof/portability/row-max", "skills", tmp_path], cwd=ROOT, check=True
    )
    (folder / "evidence/cpu.json.xz").write_bytes(evidence_json(forged))
    tag = loaded_into_docker(freeze(load(folder), base).image, tmp_path, "bundler-e2e-forged:latest")
    done = docker("run", "--rm", *HARDENING, tag, "verify", *QUICK)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "DIFFERS" in done.stdout


def test_the_image_keeps_its_digest(base: Image) -> None:
    loaded = load(ROOT / "proof/portability/row-max")
    first, second = freeze(loaded, base), freeze(loaded, base)
    assert Digest(first.image.digest) == second.image.digest
    assert first.added_bytes < 1 << 20
