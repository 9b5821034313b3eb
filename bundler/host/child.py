"""Read the two libraries each in a short-lived process of its own.

A driver in trouble crashes in ``cuInit`` or waits for ever in ``nvmlInit``, and a thread that waits
inside it cannot be ended. In the judge's process that would cost the whole replay. A process costs
about 0.3 s once and can be left behind, so the probe of the real libraries runs in two, one for each,
side by side: what one of them does costs its own half. They also keep ``cuInit`` out of the judge's
process, which forks workers. Libraries that are passed in (tests) are called in process.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ValidationError

DEADLINE_S = 8.0
"""For both. Without persistence mode a driver takes one to two seconds a GPU to wake up."""
_LEAVE_S = 0.5
Half = Literal["nvml", "driver"]
Report = TypeVar("Report", bound=BaseModel)


def _path() -> list[str]:
    """Where the child imports from: this very bundler first, then what this process has; never "here"."""
    return [str(Path(__file__).resolve().parents[2]), *(path for path in sys.path if path)]


class Asked:
    """A started process. Ask for its answer once."""

    def __init__(self, half: Half, *, command: tuple[str, ...] = (), deadline_s: float | None = None) -> None:
        """Start it. ``command`` replaces the process, for tests."""
        self._deadline_s = DEADLINE_S if deadline_s is None else deadline_s
        self._until = time.monotonic() + self._deadline_s
        self._process: subprocess.Popen[bytes] | None = None
        self._refused = ""
        try:
            self._process = subprocess.Popen(
                command or (sys.executable, "-P", "-m", "bundler.host", half),
                env=os.environ | {"PYTHONPATH": os.pathsep.join(_path())},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            self._refused = f"no process could be started for it: {error}"

    def answer(self, report: type[Report]) -> Report | str:
        """The report, or why there is none. Never waits past the deadline, and never raises."""
        if self._process is None:
            return self._refused
        try:
            out, err = self._process.communicate(timeout=max(0.1, self._until - time.monotonic()))
        except subprocess.TimeoutExpired:
            _leave(self._process)
            return f"no answer within {self._deadline_s:g} s"
        if self._process.returncode:
            return _ended(self._process.returncode, err)
        try:
            return report.model_validate_json(out.strip().rpartition(b"\n")[2])
        except ValidationError:
            return f"the answer cannot be read: {out[-200:]!r}"


def _leave(process: subprocess.Popen[bytes]) -> None:
    """Kill it without waiting for its end: in the kernel's hands it may outlive the signal."""
    process.kill()
    try:
        process.communicate(timeout=_LEAVE_S)
    except subprocess.TimeoutExpired:
        for pipe in (process.stdout, process.stderr):
            if pipe:
                pipe.close()


def _ended(code: int, err: bytes) -> str:
    last = err.decode(errors="replace").strip().rpartition("\n")[2][:200]
    if code < 0:
        names = {each.value: each.name for each in signal.Signals}
        return f"the process that asked was ended by {names.get(-code, f'signal {-code}')}"
    return f"the process that asked ended with {code}: {last}"
