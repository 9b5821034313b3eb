"""``python -m tests.timing --out FOLDER``: time the candidates here, and keep the evidence. Needs a GPU."""

from __future__ import annotations

import argparse
import contextlib
import gzip
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from bundler.model.evidence import Evidence, evidence_json
from bundler.model.timing import TimedCell
from bundler.replay.replay import replay
from bundler.replay.request import Request, Watch
from bundler.timing.stopwatch import slope
from tests.timing.build import ATTACKS, EARLY, LARGE, LATE, MIDDLING, SHORT, SMALL, build

_LOAD = """\
import torch
a = torch.randn(4096, 4096, device="cuda")
torch.cuda.synchronize()
print("ready", flush=True)
while True:
    for _ in range(20):
        a @ a
    torch.cuda.synchronize()
"""
PARTS: dict[str, tuple[str, Sequence[str], Sequence[str]]] = {
    "right": ("cold", ("control-right",), (LARGE, MIDDLING, SMALL)),
    "warm": ("warm", ("control-right",), (MIDDLING, SMALL)),
    "beside": ("cold", ("control-right",), (LARGE,)),
    "attacks": ("cold", ATTACKS, (LARGE,)),
    "early": ("cold", (EARLY,), (SHORT,)),
    "late": ("cold", (LATE,), (SHORT,)),
}
"""What is timed: how the L2 is, the candidates, the cases."""


def main() -> None:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="*", choices=list(PARTS), default=list(PARTS))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.only:
        started = time.monotonic()
        with _load() if name == "beside" else contextlib.nullcontext():
            evidence = _run(name)
        data = evidence_json(evidence)
        (options.out / f"{name}.json.gz").write_bytes(gzip.compress(data, mtime=0))
        with (options.out / "raw.txt").open("a") as raw:
            raw.write(f"== {name}, {time.monotonic() - started:.0f} s\n{_outcomes(evidence)}")
            for cell in evidence.timings.cells if evidence.timings else ():
                raw.write(_raw(cell))
        print((options.out / "raw.txt").read_text().rpartition("== ")[2], flush=True)


def _run(name: str) -> Evidence:
    cache, arms, cases = PARTS[name]
    with tempfile.TemporaryDirectory() as root:
        loaded = build(Path(root), cache)
        wanted = tuple(c.id for c in loaded.experiment.candidates() if c.arm.name in arms)
        request = Request(interpreter=False, candidates=wanted, cases=tuple(cases), time=True)
        return replay(loaded, request, Watch())


@contextlib.contextmanager
def _load() -> Iterator[None]:
    """Another process that keeps the device busy."""
    process = subprocess.Popen([sys.executable, "-c", _LOAD], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _outcomes(evidence: Evidence) -> str:
    report = evidence.grounds["device"]
    lines = [f"device: {report.status} {report.reason}\n"]
    for candidate, row in report.cells.items():
        lines += [f"  {candidate} {case}: {str(outcome)[:150]}\n" for case, outcome in row.items()]
    return "".join(lines)


def _raw(cell: TimedCell) -> str:
    """For whoever works on the timer: this is where the numbers of withheld timings are looked at."""
    verdict = cell.verdict
    state = verdict.state if verdict else cell.not_timed
    lines = [f"{cell.candidate} {cell.case} {cell.cache} {cell.method}: {state}\n"]
    for kind in ("withheld", "undetermined", "labels"):
        lines += [f"    {kind} {r.rule} {r.text}\n" for r in (getattr(verdict, kind) if verdict else ())]
    for p in cell.processes:
        found = slope(p.stopwatch) if p.stopwatch else None
        mhz = [clock.mhz for clock in p.clocks]
        q = np.percentile(p.samples_us, (0, 25, 50, 75, 100)) if p.samples_us else []
        lines.append(
            f"    {len(p.samples_us)} samples {[round(float(x), 2) for x in q]} µs, {p.seconds} s, "
            f"starved {p.starved}, converged {p.converged}, slope {found}, covered "
            f"{p.stopwatch.covered if p.stopwatch else None} N {p.stopwatch.calls if p.stopwatch else None}, "
            f"MHz {min(mhz, default=0):.0f}-{max(mhz, default=0):.0f} of {len(mhz)}, checked {p.checked}, "
            f"host {[(s.phase[0], s.lists_own) for s in p.host]} {p.problem} {p.wrong[:80]}\n"
        )
        if p.stopwatch:
            lines.append(f"        {p.stopwatch.with_call} {p.stopwatch.without_call}\n")
    return "".join(lines)


if __name__ == "__main__":
    main()
