"""Verifying against a plain script that imports one candidate and loops over its cases.

    python -m benchmarks.verify [--device] [--candidate with-skill/01] [--repeat 3]
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
from dataclasses import replace
from pathlib import Path

from benchmarks.common import BUNDLER, ROOT, Measured, checkout, measure, median, show, together
from bundler.errors import ExitCode
from bundler.experiment.load import load
from bundler.model.experiment import Origin

PLAIN = "plain script, a process for each candidate"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", action="store_true", help="on the GPU, in place of the CPU")
    parser.add_argument("--candidate", default="with-skill/01")
    parser.add_argument("--experiment", default="proof/portability/row-max")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    (ROOT / "build").mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=ROOT / "build") as name,
        checkout(options.experiment, Path(name)) as experiment,
    ):
        _compare(experiment, options.candidate, options.repeat, "device" if options.device else "interpreter")


def _compare(experiment: Path, candidate: str, repeat: int, ground: str) -> None:
    candidates = [
        c.id
        for c in load(experiment, evidence=False).experiment.candidates()
        if c.id == candidate or c.arm.origin is Origin.CONTROL
    ]
    ways = _ways(experiment, candidate, candidates, ground)
    runs = {name: median([run() for _ in range(repeat)]) for name, run in ways.items()}
    rows = [(name, *_cells(run, runs[PLAIN])) for name, run in runs.items()]
    columns = ("", "time", "of plain", "processor", "of plain", "peak memory")
    agreed = runs[PLAIN].stdout.split()
    notes = [
        f"{len(candidates)} candidates: {', '.join(candidates)}",
        f"plain: {' '.join(agreed)} cells agreed",
    ]
    show(f"verify on the {ground}: median of {repeat} runs", columns, rows, notes)


def _cells(run: Measured, plain: Measured) -> tuple[str, ...]:
    return (
        f"{run.seconds:.1f} s",
        f"{run.seconds / plain.seconds:.2f}x",
        f"{run.cpu_seconds:.1f} s",
        f"{run.cpu_seconds / plain.cpu_seconds:.2f}x",
        f"{run.peak_bytes / (1 << 20):.0f} MiB",
    )


def _ways(
    experiment: Path, candidate: str, candidates: Sequence[str], ground: str
) -> dict[str, Callable[[], Measured]]:
    def plain(names: Sequence[str]) -> Measured:
        with tempfile.TemporaryDirectory() as cache:
            env = {"TRITON_CACHE_DIR": cache} | ({"TRITON_INTERPRET": "1"} if ground == "interpreter" else {})
            command = [sys.executable, "-m", "benchmarks.plain", experiment, ground, "same", *names]
            return measure(command, env=env)

    def one_each() -> Measured:
        each = [plain([name]) for name in candidates]
        counts = [run.stdout.strip().splitlines()[-1].split(" of ") for run in each]
        told = " of ".join(str(sum(map(int, column))) for column in zip(*counts, strict=True))
        return replace(together(*each), stdout=told)

    def verify(*arguments: str) -> Callable[[], Measured]:
        command = [*BUNDLER, "verify", experiment, "--engine", "host", "--candidate", candidate, *arguments]
        return lambda: measure(command, codes=(ExitCode.OK, ExitCode.NOTHING_JUDGED))

    alone = {
        PLAIN: one_each,
        "plain script, one process for all": lambda: plain(candidates),
        f"verify, {ground} alone, one job": verify("--ground", ground, "--jobs", "1"),
    }
    if ground == "device":
        return alone
    return alone | {
        f"verify, {ground} alone, a job a core": verify("--ground", ground),
        "verify, compile alone, one job": verify("--ground", "compile", "--jobs", "1"),
        "verify, both grounds, a job a core": verify("--ground", ground, "--ground", "compile"),
    }


if __name__ == "__main__":
    main()
