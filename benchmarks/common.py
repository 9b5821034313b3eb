"""What the benchmarks share: a process measured, a table printed, the machine named."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
BUNDLER = (sys.executable, "-m", "bundler")


@dataclass(frozen=True)
class Measured:
    """One process and whatever it waited for."""

    seconds: float
    """On the wall."""
    cpu_seconds: float
    """User and system, of all of its processes. Not those of Docker's daemon."""
    peak_bytes: int
    """Resident, of the largest of its processes."""
    own_peak_bytes: int
    """Resident, of the process itself, as last seen before its end."""
    stdout: str


def measure(
    command: Sequence[object], *, env: Mapping[str, str] | None = None, codes: Sequence[int] = (0,)
) -> Measured:
    """Run ``command`` from the repository's root; end the benchmark unless its exit code is in ``codes``."""
    with tempfile.TemporaryFile() as out:
        began = time.perf_counter()
        process = subprocess.Popen(
            list(map(str, command)),
            cwd=ROOT,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=os.environ | (env or {}),
        )
        own = [0]
        watch = threading.Thread(target=_watch, args=(process.pid, own), daemon=True)
        watch.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        watch.join()
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        said = out.read().decode(errors="replace")
    if process.returncode not in codes:
        sys.exit(f"{' '.join(map(str, command))}\nended with {process.returncode}:\n{said[-2000:]}")
    return Measured(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, own[0], said)


def _watch(pid: int, peak: list[int]) -> None:
    """Note the process's peak as long as it is there."""
    status = Path(f"/proc/{pid}/status")
    with contextlib.suppress(OSError, StopIteration):
        while True:
            line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
            peak[0] = int(line.split()[1]) * 1024
            time.sleep(0.05)


def together(*each: Measured) -> Measured:
    """Several processes, one after the other, as one; said is what the first said."""
    return Measured(
        sum(one.seconds for one in each),
        sum(one.cpu_seconds for one in each),
        max(one.peak_bytes for one in each),
        max(one.own_peak_bytes for one in each),
        each[0].stdout,
    )


def median(runs: Sequence[Measured]) -> Measured:
    """The run whose time on the wall is the median, the lower one of two."""
    middle = statistics.median_low([run.seconds for run in runs])
    return next(run for run in runs if run.seconds == middle)


def repeated(times: int, run: Callable[[], Measured]) -> list[Measured]:
    """``run`` once unmeasured, so that caches are warm, then ``times``."""
    run()
    return [run() for _ in range(times)]


@contextlib.contextmanager
def checkout(experiment: str, scratch: Path) -> Iterator[Path]:
    """A copy of an experiment without its recorded evidence, where it may be written to."""
    folder = scratch / "checkout"
    shutil.copytree(ROOT / experiment, folder / experiment)
    shutil.copytree(ROOT / "skills", folder / "skills")
    declaration = folder / experiment / "experiment.yaml"
    lines = declaration.read_text().splitlines(keepends=True)
    declaration.write_text(
        "".join("evidence: []\n" if line.startswith("evidence:") else line for line in lines)
    )
    yield folder / experiment


def machine() -> str:
    """The machine in a line."""
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    cores = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    return f"{model}, {cores} cores, load {load:.1f}, Python {platform.python_version()}"


def show(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    notes: Sequence[str] = (),
    *,
    texts: int = 1,
) -> None:
    """Print the table, whose first ``texts`` columns are words, the machine, and ``notes``."""
    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number >= texts else "left", no_wrap=number >= texts)
    for row in rows:
        table.add_row(*row)
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(table)
    for note in (machine(), *notes):
        console.print(note, markup=False, highlight=False)
