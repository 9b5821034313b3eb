"""Verifying against a plain script that imports one candidate and loops over its cases.

    python -m benchmarks.verify [--device] [--candidate with-skill/01] [--repeat 1]
                                [--experiment proof/portability/row-max]

What isolation, fresh processes and several grounds cost. Both sides run the same candidates (the one named
and the controls, which verify always runs), the same cases and as many calls a cell, from an empty Triton
cache. The ratios are those of the plain script that is started once for each candidate. Targets: under 2x on
the CPU, under 1.5x on a GPU. On a busy machine the ratio of processor time is the one to read.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.common import BUNDLER, ROOT, Measured, checkout, measure, median, show, together
from bundler.errors import ExitCode
from bundler.experiment.load import load
from bundler.model.experiment import Origin

PLAIN = "plain script, a process each"


@dataclass(frozen=True)
class Subject:
    """What is run, by either side."""

    experiment: Path
    candidate: str
    candidates: tuple[str, ...]
    """That one and the controls."""

    def plain(self, ground: str, names: Sequence[str]) -> Measured:
        """The plain script on ``names``, in one process."""
        with tempfile.TemporaryDirectory() as cache:
            env = {"TRITON_CACHE_DIR": cache} | ({"TRITON_INTERPRET": "1"} if ground == "interpreter" else {})
            command = [sys.executable, "-m", "benchmarks.plain", self.experiment, ground, "same", *names]
            run = measure(command, env=env)
            return replace(run, stdout=run.stdout.strip().splitlines()[-1])

    def one_each(self, *grounds: str) -> Measured:
        """The plain script, started for each candidate on each ground."""
        each = [self.plain(ground, [name]) for ground in grounds for name in self.candidates]
        counts = [map(int, run.stdout.split(" of ")) for run in each]
        return replace(
            together(*each), stdout=" of ".join(str(sum(column)) for column in zip(*counts, strict=True))
        )

    def verify(self, jobs: int, *grounds: str) -> Measured:
        """bundler verify; 0 jobs: one a core."""
        command = [*BUNDLER, "verify", self.experiment, "--engine", "host", "--candidate", self.candidate]
        chosen = [word for ground in grounds for word in ("--ground", ground)]
        codes = (ExitCode.OK, ExitCode.NOTHING_JUDGED)
        return measure([*command, *chosen, "--jobs", jobs], codes=codes)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", action="store_true", help="on the GPU, in place of the CPU")
    parser.add_argument("--candidate", default="with-skill/01")
    parser.add_argument("--experiment", default="proof/portability/row-max")
    parser.add_argument("--repeat", type=int, default=1)
    options = parser.parse_args()
    (ROOT / "build").mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=ROOT / "build") as name,
        checkout(options.experiment, Path(name)) as folder,
    ):
        subject = Subject(folder, options.candidate, _candidates(folder, options.candidate))
        grounds = [("device",)] if options.device else [("interpreter",), ("compile",)]
        _compare(subject, grounds, options.repeat)


def _candidates(folder: Path, candidate: str) -> tuple[str, ...]:
    found = load(folder, evidence=False).experiment.candidates()
    return tuple(c.id for c in found if c.id == candidate or c.arm.origin is Origin.CONTROL)


def _compare(subject: Subject, grounds: Sequence[tuple[str, ...]], repeat: int) -> None:
    rows, notes, plains = [], [], []
    for ground in grounds:
        runs = {name: median([run() for _ in range(repeat)]) for name, run in _ways(subject, ground).items()}
        plains.append(runs[PLAIN])
        notes.append(f"plain on {' and '.join(ground)}: {runs[PLAIN].stdout} cells agreed")
        rows += [(" + ".join(ground), name, *_cells(run, runs[PLAIN])) for name, run in runs.items()]
    if len(grounds) > 1:
        every = tuple(name for ground in grounds for name in ground)
        both = median([subject.verify(0, *every) for _ in range(repeat)])
        rows.append((" + ".join(every), "verify, a job a core", *_cells(both, together(*plains))))
    columns = ("ground", "", "time", "of plain", "processor", "of plain", "peak memory")
    names = f"{len(subject.candidates)} candidates: {', '.join(subject.candidates)}"
    show(f"verify: median of {repeat} runs", columns, rows, [names, *notes], texts=2)


def _ways(subject: Subject, ground: tuple[str, ...]) -> dict[str, Callable[[], Measured]]:
    return {
        PLAIN: lambda: subject.one_each(*ground),
        "plain script, one process for all": lambda: subject.plain(ground[0], subject.candidates),
        "verify, one job": lambda: subject.verify(1, *ground),
        "verify, a job a core": lambda: subject.verify(0, *ground),
    }


def _cells(run: Measured, plain: Measured) -> tuple[str, ...]:
    return (
        f"{run.seconds:.1f} s",
        f"{run.seconds / plain.seconds:.2f}x",
        f"{run.cpu_seconds:.1f} s",
        f"{run.cpu_seconds / plain.cpu_seconds:.2f}x",
        f"{run.peak_bytes / (1 << 20):.0f} MiB",
    )


if __name__ == "__main__":
    main()
