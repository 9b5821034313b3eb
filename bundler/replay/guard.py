"""Watch a worker from outside: take what it prints, and kill it when it uses more than it may."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import threading
import time
from pathlib import Path

from bundler.model.outcome import MOST_SHOWN
from bundler.replay.allowance import Allowance
from bundler.replay.usage import overfull

_THREADS = 512
"""The most threads of a worker's group. RLIMIT_NPROC does not bind root, and a container's limit is the
judge's and the other candidates' as well, so they are counted."""
_MOST_LEFT_READS = 64
_TICK_S = 0.2


class Guard(threading.Thread):
    """Drains a worker's output, and kills it when it uses more memory or disk than it may."""

    def __init__(self, pid: int, output: int, scratch: Path, allowance: Allowance) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._output = output
        self._scratch = scratch
        self._allowance = allowance
        self._stopped = threading.Event()
        self.printed = b""
        self.over = ""

    def run(self) -> None:
        open_ = True
        next_check = 0.0
        while not self._stopped.is_set():
            if open_ and select.select([self._output], [], [], _TICK_S)[0]:
                open_ = self._drain()
            elif not open_:
                self._stopped.wait(_TICK_S)
            if time.monotonic() >= next_check:
                self._check()
                next_check = time.monotonic() + _TICK_S

    def stop(self) -> None:
        """End the thread, with a last look at what was printed."""
        self._stopped.set()
        if self.ident is not None:
            self.join()
        for _ in range(_MOST_LEFT_READS):  # no more than a pipe holds, whoever still writes
            if not select.select([self._output], [], [], 0)[0] or not self._drain():
                return

    def _drain(self) -> bool:
        data = os.read(self._output, 1 << 16)
        self.printed += data[: max(0, MOST_SHOWN - len(self.printed))]  # no more than evidence takes
        return bool(data)

    def _check(self) -> None:
        threads, used = _group_use(self._pid)
        if threads > _THREADS:
            self._stop_it(f"had {threads} threads, over {_THREADS}")
        if used > self._allowance.memory_bytes:
            self._stop_it(f"used {used >> 20} MiB of memory, over {self._allowance.memory_bytes >> 20} MiB")
        if how := overfull(str(self._scratch), self._allowance.scratch_bytes):
            self._stop_it(how)

    def _stop_it(self, why: str) -> None:
        self.over = self.over or why
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)


def watch_state() -> str:
    """Whether what a worker uses can be watched on this host: ``held``, or why not."""
    return "held" if Path("/proc/self/stat").exists() else "/proc is not mounted"


def _group_use(pgid: int) -> tuple[int, int]:
    """Threads of a group, and their resident bytes: own and shared memory, page tables, no mapped files."""
    threads = total = 0
    if watch_state() != "held":
        return 0, 0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            if int(fields[2]) == pgid:
                threads += int(fields[17])
                total += _resident((entry / "status").read_bytes())
    return threads, total


def _resident(status: bytes) -> int:
    kibibytes = re.findall(rb"^(?:RssAnon|RssShmem|VmPTE|HugetlbPages):\s+([0-9]+) kB$", status, re.MULTILINE)
    return sum(map(int, kibibytes)) << 10
