"""A worker, as the judge sees it: one confined process, asked, watched, killed."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from bundler.model.base import Frozen
from bundler.model.outcome import NotRun, Shown, Why
from bundler.replay.allowance import Allowance
from bundler.replay.answers import OutOfForm, read
from bundler.replay.guard import Guard
from bundler.replay.removal import remove
from bundler.worker import wire

HELLO_S = 120
"""How long a fresh worker may take until it is confined, on a host whose cores are all busy; and to answer
what needs no candidate."""
_START_TRIES, _START_S = 20, 0.2
"""Longer than a guard takes to kill a candidate that has all the threads that there may be."""
_GRACE_S = 2.0
"""How long a request may still be on its way once its answer is there."""


class SpawnFailed(Exception):
    """No worker could be forked and confined: never a candidate's fault. ``str`` is why."""


class Refused(NotRun):
    """Not run since the host refused a process, a thread or memory: a later try may be granted them.

    For the replay alone; evidence has it without that (``plain``).
    """

    why: Why = Why.INFRASTRUCTURE

    def plain(self) -> NotRun:
        """As evidence has it."""
        return NotRun(why=self.why, detail=self.detail)


class _Confined(Frozen):
    """A worker's first message: what confines it, step by step."""

    isolation: dict[str, Shown] = Field(max_length=100)


class Pipes:
    """Requests, responses, output: our ends and the worker's."""

    def __init__(self) -> None:
        their_requests, self.requests = os.pipe()
        self.responses, their_responses = os.pipe()
        self.output, their_output = os.pipe()
        self.theirs = [their_requests, their_responses, their_output]

    def close_theirs(self) -> None:
        """Once they were sent to the worker."""
        for fd in self.theirs:
            os.close(fd)

    def close_ours(self) -> None:
        """Once the worker has ended, or was never forked."""
        for fd in (self.requests, self.responses, self.output):
            with contextlib.suppress(OSError):
                os.close(fd)


@dataclass(frozen=True)
class Ended:
    """How a worker ended, in words, and whether the replay killed it for what it used."""

    detail: str
    over: str = ""
    """The limit that it crossed; empty when it ended by itself."""


class Worker:
    """One confined process. Not for two threads at once."""

    def __init__(
        self,
        wait: Callable[[int], int | None],
        pid: int,
        pipes: Pipes,
        scratch: Path,
        allowance: Allowance,
    ) -> None:
        """``wait`` gives the wait status of the process with a number, as its parent does."""
        self._wait = wait
        self._pid = pid
        self._pipes = pipes
        self._scratch = scratch
        self._pidfd = os.pidfd_open(pid)
        self._guard = Guard(pid, pipes.output, scratch, allowance)
        self.isolation: dict[str, str] = {}

    def hello(self, seconds: float) -> None:
        """Wait until it is confined; no candidate's code ran yet. Raises SpawnFailed."""
        _start(self._guard)
        deadline = time.monotonic() + seconds
        try:
            answer = wire.receive(self._pipes.responses, wire.Limits(), deadline=deadline, watch=self._pidfd)
            confined = read(_Confined, answer.header)
        except (wire.WireError, OutOfForm) as error:
            raise SpawnFailed(f"a worker was not confined: {error}") from None
        self.isolation = {step: state[:200] for step, state in confined.isolation.items()}

    def ask(
        self,
        header: dict[str, Any],
        parts: Sequence[bytes | bytearray | memoryview] = (),
        *,
        seconds: float,
        limits: wire.Limits,
    ) -> wire.Message:
        """One request, one response. Raises wire.WireError, its DeadlinePassed and PeerGone among them, and
        SpawnFailed where this process can start no thread.

        What lies in the pipe beforehand was never asked for, and an answer repeats its request's number,
        which nobody can know beforehand: a forged or belated answer cannot pass for that of a later request.
        """
        if _has_ended(self._pidfd):
            raise wire.PeerGone("the process had ended before it was asked")
        if select.select([self._pipes.responses], [], [], 0)[0]:
            raise wire.WireError("it answered before it was asked")
        number = secrets.token_hex(8)
        message = self._exchange({**header, wire.NUMBER: number}, parts, seconds, limits)
        answered = message.header.pop(wire.NUMBER, None)
        if answered != number:
            raise wire.WireError(f"it answered request {str(answered)[:40]}, not {number}")
        return message

    def _exchange(
        self,
        header: dict[str, Any],
        parts: Sequence[bytes | bytearray | memoryview],
        seconds: float,
        limits: wire.Limits,
    ) -> wire.Message:
        deadline = time.monotonic() + seconds
        sender = threading.Thread(target=self._send, args=(header, parts), daemon=True)
        _start(sender)
        try:
            return wire.receive(self._pipes.responses, limits, deadline=deadline, watch=self._pidfd)
        finally:
            sender.join(_GRACE_S)
            if sender.is_alive():
                # It answered, or not, without reading the request: nothing more can be asked of it.
                self.kill()
                sender.join()

    def _send(self, header: dict[str, Any], parts: Sequence[bytes | bytearray | memoryview]) -> None:
        with contextlib.suppress(wire.PeerGone):
            wire.send(self._pipes.requests, header, parts)

    def kill(self) -> None:
        """Kill the whole process group, at once."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)

    def close(self) -> Ended:
        """Kill what is left and clean up; say how it ended. Once only."""
        # A leader that has ended stays a zombie until it is waited for, so its group's number is not reused.
        self.kill()
        self._guard.stop()
        status = self._wait(self._pid)
        os.close(self._pidfd)
        self._pipes.close_ours()
        remove(self._scratch)
        return Ended(_how_it_ended(status), self._guard.over)

    @property
    def pid(self) -> int:
        """Its process id, as this process sees it."""
        return self._pid

    @property
    def printed(self) -> bytes:
        """The first bytes that it printed."""
        return self._guard.printed


def _start(thread: threading.Thread) -> None:
    """Start it, perhaps a little later: a candidate may have all that there may be. Raises SpawnFailed."""
    for attempt in range(_START_TRIES):
        try:
            return thread.start()
        except RuntimeError:
            time.sleep(_START_S if attempt < _START_TRIES - 1 else 0)
    raise SpawnFailed("this process could start no thread more")


def _has_ended(pidfd: int) -> bool:
    return bool(select.select([pidfd], [], [], 0)[0])


def _how_it_ended(status: int | None) -> str:
    if status is None:
        return "was killed and did not go away"
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"ended by {signal.Signals(number).name if number in signal.valid_signals() else number}"
    return f"ended with status {os.waitstatus_to_exitcode(status)}"
