"""Ctrl-C and SIGTERM: one line and exit code 130, from a command's first moment to its last.

Where nothing is to be undone the process ends on the spot. An exception would not do: while modules are
imported, and while the interpreter ends, it comes out as a traceback, or is lost in a callback. Within
``undoing`` it is KeyboardInterrupt, so that a folder is removed, a container is, and a replay hands over the
cells that it had.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

from bundler.errors import ExitCode

_NUMBERS = (signal.SIGINT, signal.SIGTERM)
_AGAIN_S = 0.01


class _Process:
    """What is known of this process."""

    to_undo = 0
    """Blocks of ``undoing`` that it is in, on all of its threads."""
    held = 0
    """Blocks of ``holding`` that its main thread is in."""
    waiting = False
    """Whether an interrupt came within one."""


def handle() -> None:
    """Handle both signals from now on. For a process that is a command, on its main thread."""
    for number in _NUMBERS:
        # A shell has its background jobs ignore Ctrl-C, and docker stop comes as SIGTERM, always.
        if number != signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupted)
    signal.signal(signal.SIGALRM, _interrupted)
    sys.unraisablehook = _not_lost


def line() -> str:
    """What is said of it; nothing where another bundler started this one, which says it."""
    return "" if for_another() else "interrupted\n"


def for_another() -> bool:
    """Whether it is another bundler that started this one, and that will report."""
    return os.environ.get("BUNDLER_PROGRESS") == "lines"


def ignore() -> None:
    """From now on, where they were handled: all is done and said, and what is left is Python's own end."""
    for number in _NUMBERS:
        if signal.getsignal(number) is _interrupted:
            signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def undoing() -> Iterator[None]:
    """A block that leaves something behind unless it is told of an interrupt, as KeyboardInterrupt."""
    _Process.to_undo += 1  # no call before the try: an interrupt is raised after calls only
    try:
        yield
    finally:
        _Process.to_undo -= 1


@contextlib.contextmanager
def holding() -> Iterator[None]:
    """A short block that an interrupt does not cut in two: the first waits for its end, a second does not.

    For the main thread, the only one that is interrupted; elsewhere it does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _Process.held += 1
    try:
        yield
    finally:
        _Process.held -= 1
        if _Process.waiting and not _Process.held:
            _Process.waiting = False
            _interrupt()


def _interrupted(number: int, frame: FrameType | None) -> None:
    if _Process.held and not _Process.waiting:
        _Process.waiting = True
    else:
        _interrupt()


def _interrupt() -> None:
    if _Process.to_undo:
        raise KeyboardInterrupt
    with contextlib.suppress(OSError):  # not by sys.stderr, which may be in the middle of a write
        below = "\n" if os.isatty(2) else ""  # the terminal's ^C
        os.write(2, f"{below}{line()}".encode())
    os._exit(ExitCode.INTERRUPTED)


def _not_lost(unraisable: Any) -> None:
    """Python drops what is raised in a destructor, or in a callback of its own: raise it a little later."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)
    else:
        sys.__unraisablehook__(unraisable)
