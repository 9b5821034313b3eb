"""A bundle's own replayer as a process of this machine: started, asked to end, ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from bundler.engine.inside import arguments
from bundler.engine.lifeline import HELD
from bundler.replay.request import Request


@dataclass(frozen=True)
class Places:
    """Where its files lie."""

    replayer: Path
    """Unpacked."""
    experiment: Path
    """The root of the unpacked bundle."""
    work: Path
    """Where it starts, and all that it writes."""

    @property
    def answer(self) -> Path:
        """Its evidence."""
        return self.work / "evidence.json"

    @property
    def temporary(self) -> Path:
        """What is its TMPDIR."""
        return self.work / "tmp"

    def command(self, request: Request) -> list[str]:
        """Its command line. Python puts the folder that it is told to run first on its path, before
        whatever is installed."""
        return [sys.executable, "-P", "-B", str(self.replayer), *arguments(request, str(self.answer))]

    def environment(self) -> dict[str, str]:
        """What it is told, beside where Python, torch and the GPU are found."""
        callers = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
        return {
            # It starts elsewhere than the caller.
            "PYTHONPATH": os.pathsep.join([str(self.replayer), *map(os.path.abspath, callers)]),
            "BUNDLER_BUNDLE": str(self.experiment),
            "BUNDLER_PROGRESS": "lines",
            "TMPDIR": str(self.temporary),
        }


class Started:
    """A process that runs it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def say(self, data: bytes) -> None:
        """Write to its stdin, whether or not it still reads there."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(data)
            self.process.stdin.flush()

    def stop(self) -> None:
        """Ask it to end with what it has. It must not have been waited for."""
        os.kill(self.process.pid, signal.SIGTERM)

    def give_up(self) -> None:
        """End it."""
        os.kill(self.process.pid, signal.SIGKILL)

    def close_pipes(self) -> None:
        """Once it has ended."""
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


Start = Callable[[Request, Places], AbstractContextManager[Started]]
"""Starts it; it is gone when the block ends."""


@contextlib.contextmanager
def unconfined(request: Request, places: Places) -> Iterator[Started]:
    """With the rights and the environment of the caller; what it started in its group ends with it.

    A session of its own keeps a terminal's Ctrl-C from it: the asker passes that on, once.
    """
    process = subprocess.Popen(
        places.command(request),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=os.environ | places.environment(),
        cwd=places.work,
        start_new_session=True,
    )
    started = Started(process)
    try:
        started.say(HELD)
        yield started
    finally:
        # Not waited for before: until then its number, the group's too, is nobody else's.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        started.close_pipes()
