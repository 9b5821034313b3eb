"""Growth: 1, 4, 16, 64 candidates on 8, 64, 512 cases; time and peak memory, in all and a cell.

    python -m benchmarks.growth [--candidates 1 4 16 64] [--cases 8 64 512] [--jobs 1]

The experiment is synthetic: every candidate doubles four numbers, so a cell is what bundler adds to one. Each
run has its own controls, which count as candidates. Memory is the judge's own: its workers' is what torch
takes, whatever the size. The fits below the table are constant + candidates + cells, by least squares over
all runs, with the largest deviation: that is how linear it is.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import BUNDLER, ROOT, Measured, measure, show
from bundler.digest import Digest
from bundler.errors import ExitCode

TASK, GUIDANCE, ID, SKILL = b"Double x.\n", b"# Doubling\n", "triton/double", "triton/doubling"
HARNESS = b"""\
def inputs(case, which, make):
    return [make.tensor(make.normal((4,)))]


def reference(case, which, arguments):
    return 2.0 * arguments[0].values.astype("f8")
"""
RIGHT = b"def double(x):\n    return x + x\n"
WRONG = b"def double(x):\n    return x * 3\n"
CONTROLS = 2


@dataclass(frozen=True)
class Run:
    """One experiment, verified."""

    candidates: int
    cases: int
    measured: Measured

    @property
    def cells(self) -> int:
        """Those of the controls included."""
        return (self.candidates + CONTROLS) * self.cases


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--candidates", type=int, nargs="+", default=[1, 4, 16, 64])
    parser.add_argument("--cases", type=int, nargs="+", default=[8, 64, 512])
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    runs = [
        Run(candidates, cases, _verify(candidates, cases, options.jobs))
        for candidates in options.candidates
        for cases in options.cases
    ]
    rows = [_row(run) for run in runs]
    columns = (
        "candidates x cases",
        "cells",
        "time",
        "a cell",
        "processor a cell",
        "judge's memory",
        "a cell",
    )
    notes = [
        _fit("time", runs, [run.measured.seconds for run in runs], "s", 1e3, "ms"),
        _fit("processor", runs, [run.measured.cpu_seconds for run in runs], "s", 1e3, "ms"),
        _fit("memory", runs, [run.measured.own_peak_bytes / 2**20 for run in runs], "MiB", 1024, "KiB"),
    ]
    show(f"growth: interpreter, {options.jobs} at a time", columns, rows, notes)


def _row(run: Run) -> tuple[str, ...]:
    measured, cells = run.measured, run.cells
    return (
        f"{run.candidates} x {run.cases}",
        f"{cells}",
        f"{measured.seconds:.1f} s",
        f"{1e3 * measured.seconds / cells:.2f} ms",
        f"{1e3 * measured.cpu_seconds / cells:.2f} ms",
        f"{measured.own_peak_bytes / 2**20:.0f} MiB",
        f"{measured.own_peak_bytes / 1024 / cells:.1f} KiB",
    )


def _fit(what: str, runs: list[Run], values: list[float], unit: str, factor: float, small: str) -> str:
    """constant + a candidate + a cell, by least squares of the relative deviation."""
    terms = np.array([[1.0, run.candidates + CONTROLS, run.cells] for run in runs])
    if len(runs) <= terms.shape[1]:
        return f"{what}: too few sizes to tell of growth"
    weighed = terms / np.array(values)[:, None]
    (constant, candidate, cell), *_ = np.linalg.lstsq(weighed, np.ones(len(runs)), rcond=None)
    off = np.max(np.abs(weighed @ [constant, candidate, cell] - 1))
    return (
        f"{what} = {constant:.1f} {unit} + {factor * candidate:.1f} {small} a candidate + "
        f"{factor * cell:.2f} {small} a cell; no run is further than {100 * off:.0f} % from that"
    )


def _verify(candidates: int, cases: int, jobs: int) -> Measured:
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as name:
        folder = _write(Path(name), candidates, cases)
        command = [
            *BUNDLER,
            "verify",
            folder,
            "--engine",
            "host",
            "--ground",
            "interpreter",
            "--jobs",
            str(jobs),
        ]
        return measure(command, codes=(ExitCode.OK, ExitCode.NOTHING_JUDGED))


def _write(root: Path, candidates: int, cases: int) -> Path:
    """An experiment of ``candidates`` that are right and the two controls."""
    folder = root / "proof" / ID

    def put(path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def file(path: str, data: bytes) -> dict[str, Any]:
        put(folder / path, data)
        return {"path": path, "sha256": str(Digest.of(data))}

    def control(name: str, source: bytes, expect: str) -> dict[str, Any]:
        output = file(f"controls/{name}.py", source)
        return {
            "name": name,
            "origin": "control",
            "expect": expect,
            "on": ["interpreter"],
            "outputs": [output],
        }

    put(root / "skills" / SKILL / "SKILL.md", GUIDANCE)
    answer = b"```python\n" + RIGHT + b"```\n"
    arm = {
        "name": "without-skill",
        "origin": "generated",
        "prompt_sha256": str(Digest.of(TASK)),
        "outputs": [file(f"outputs/without-skill/{n + 1:02}.md", answer) for n in range(candidates)],
    }
    unknown = ("name", "version", "sampling", "system_prompt", "date", "procedure")
    put(folder / "harness.py", HARNESS)
    declared = {
        "schema": "bundler/experiment/1",
        "id": ID,
        "title": "Double four numbers",
        "skill": SKILL,
        "language": "triton",
        "entry": "double",
        "base_task": file("base_task.md", TASK),
        "extraction": "only-block:python",
        "model": dict.fromkeys(unknown, "unknown"),
        "arms": [arm, control("control-right", RIGHT, "pass"), control("control-wrong", WRONG, "fail")],
        "harness": {"path": "harness.py", "sets": 1},
        "own_kernel": "reported",
        "returns": [{"name": "out", "dtype": "float32", "compare": {"nan": "forbidden", "reason": "exact"}}],
        "cases": [{"id": "n={n}", "axes": [[{"n": n} for n in range(cases)]]}],
        "architectures": [90],
        "runtime": {"name": "cpu", "torch": "2.13.0", "triton": "3.7.1"},
    }
    put(folder / "experiment.yaml", json.dumps(declared, indent=1).encode())
    return folder


if __name__ == "__main__":
    main()
