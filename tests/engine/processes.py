"""Which processes run, as tests ask it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path


def running_from(folder: Path) -> list[int]:
    """The processes that run a program below ``folder``, or were told of a file there."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(folder).encode() + b"/" in (process / "cmdline").read_bytes():
                found.append(int(process.name))
    return found


def wait_until(reached: Callable[[], bool]) -> None:
    """Some time; fails when it does not come to pass."""
    deadline = time.monotonic() + 40
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.2)
