"""A zygote and its workers, as the judge sees them: started, asked, watched, killed."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from bundler.errors import UnavailableError
from bundler.replay.allowance import Allowance, confinement, worker_environment, zygote_environment
from bundler.replay.guard import Guard
from bundler.worker import wire
from bundler.worker.zygote import CONTROL_BYTES

_SPAWN_TRIES = 5
_GRACE_S = 2.0
"""How long a request may still be on its way once its answer is there."""
_ZYGOTE_START_S = 180


class SpawnFailed(Exception):
    """No worker could be forked and confined: never a candidate's fault. ``str`` is why."""


class ZygoteFailed(Exception):
    """The zygote could not start; ``str`` is its last output."""


class Zygote:
    """One process that has the imports of a flavour and forks workers."""

    def __init__(self, flavour: str, *, environment: Mapping[str, str] | None = None) -> None:
        self._flavour = flavour
        self._lock = threading.Lock()
        self._scratch = Path(tempfile.mkdtemp(prefix="bundler-"))
        self._scratch.chmod(0o700)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control = ours
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed in close)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-s", "-B", "-m", "bundler.worker", flavour],
                stdin=theirs.fileno(),
                stdout=self._log,
                stderr=self._log,
                env=zygote_environment(self._scratch, environment or {}),
                cwd=self._scratch,
                start_new_session=True,
            )
        try:
            self._ask_ready()
        except ZygoteFailed:
            self.close()
            raise

    def _ask_ready(self) -> None:
        self._control.settimeout(_ZYGOTE_START_S)
        try:
            ready = self._control.recv(CONTROL_BYTES)
        except TimeoutError:
            ready = b""
        if not ready:
            self._process.kill()
            self._process.wait()
            self._log.seek(0)
            raise ZygoteFailed(self._log.read()[-2000:].decode(errors="replace").strip() or "no answer")
        self._control.settimeout(None)

    @property
    def flavour(self) -> str:
        """The kind of worker that it forks."""
        return self._flavour

    def spawn(self, allowance: Allowance) -> Worker:
        """A new confined worker. Raises SpawnFailed; UnavailableError when the zygote itself has ended."""
        scratch = Path(tempfile.mkdtemp(prefix="worker-", dir=self._scratch))
        pipes = _Pipes()
        request = {
            "op": "spawn",
            "scratch": str(scratch),
            "environment": worker_environment(scratch),
            "confinement": confinement(scratch, allowance),
        }
        try:
            pid = self._fork(request, pipes)
        except SpawnFailed:
            pipes.close_ours()
            scratch.rmdir()
            raise
        finally:
            pipes.close_theirs()
        return Worker(self, pid, pipes, scratch, allowance)

    def _fork(self, request: dict[str, Any], pipes: _Pipes) -> int:
        """The new worker's process id; tried again while another candidate's children fill the table."""
        why = ""
        for attempt in range(_SPAWN_TRIES):
            time.sleep(attempt * 0.2)
            with self._lock:
                socket.send_fds(self._control, [json.dumps(request).encode()], pipes.theirs)
                answer = self._answer()
            if answer["pid"] is not None:
                return int(answer["pid"])
            why = str(answer["why"])
        raise SpawnFailed(f"no process could be forked: {why}")

    def wait(self, pid: int) -> int | None:
        """The wait status of a worker that has ended or was killed; None when it does not go away."""
        with self._lock:
            try:
                self._control.send(json.dumps({"op": "wait", "pid": pid}).encode())
                status = self._answer()["status"]
            except OSError:  # closed by an interrupt: the worker has died with the process
                return None
        return None if status is None else int(status)

    def _answer(self) -> dict[str, Any]:
        data = self._control.recv(CONTROL_BYTES)
        if not data:
            raise UnavailableError(
                f"the {self._flavour} process that forks workers has ended",
                hint="look for an out-of-memory kill in the system's log, then run the replay again",
            )
        answer: dict[str, Any] = json.loads(data)
        return answer

    def close(self) -> None:
        """End the process; its workers die with it."""
        self._control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=2)
        self._process.kill()
        self._process.wait()
        self._log.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Pipes:
    """Requests, responses, output: our ends and the worker's."""

    def __init__(self) -> None:
        their_requests, self.requests = os.pipe()
        self.responses, their_responses = os.pipe()
        self.output, their_output = os.pipe()
        self.theirs = [their_requests, their_responses, their_output]

    def close_theirs(self) -> None:
        for fd in self.theirs:
            os.close(fd)

    def close_ours(self) -> None:
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

    def __init__(self, zygote: Zygote, pid: int, pipes: _Pipes, scratch: Path, allowance: Allowance) -> None:
        self._zygote = zygote
        self._pid = pid
        self._pipes = pipes
        self._scratch = scratch
        self._pidfd = os.pidfd_open(pid)
        self._guard = Guard(pid, pipes.output, scratch, allowance)
        self.isolation: dict[str, str] = {}

    def hello(self, seconds: float) -> None:
        """Wait until it is confined; no candidate's code ran yet. Raises SpawnFailed."""
        deadline = time.monotonic() + seconds
        try:
            answer = wire.receive(self._pipes.responses, wire.Limits(), deadline=deadline, watch=self._pidfd)
        except wire.WireError as error:
            raise SpawnFailed(f"a worker was not confined: {error}") from None
        self.isolation = {str(k): str(v)[:200] for k, v in answer.header["isolation"].items()}

    def ask(
        self,
        header: dict[str, Any],
        parts: Sequence[bytes | bytearray | memoryview] = (),
        *,
        seconds: float,
        limits: wire.Limits,
    ) -> wire.Message:
        """One request, one response. Raises wire.WireError, its DeadlinePassed and PeerGone among them.

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
        sender.start()
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
        status = self._zygote.wait(self._pid)
        os.close(self._pidfd)
        self._pipes.close_ours()
        shutil.rmtree(self._scratch, ignore_errors=True)
        return Ended(_how_it_ended(status), self._guard.over)

    @property
    def pid(self) -> int:
        """Its process id, as this process sees it."""
        return self._pid

    @property
    def printed(self) -> bytes:
        """The first bytes that it printed."""
        return self._guard.printed


def _has_ended(pidfd: int) -> bool:
    return bool(select.select([pidfd], [], [], 0)[0])


def _how_it_ended(status: int | None) -> str:
    if status is None:
        return "was killed and did not go away"
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"ended by {signal.Signals(number).name if number in signal.valid_signals() else number}"
    return f"ended with status {os.waitstatus_to_exitcode(status)}"
