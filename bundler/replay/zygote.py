"""The zygote as the judge sees it: one process that has a flavour's imports and forks confined workers."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from bundler import interrupts
from bundler.errors import UnavailableError
from bundler.files import temporary_folder
from bundler.replay.allowance import Allowance, confinement, worker_environment, zygote_environment
from bundler.replay.process import Pipes, SpawnFailed, Worker
from bundler.replay.removal import remove
from bundler.worker.zygote import CONTROL_BYTES

_SPAWN_TRIES = 5
_ZYGOTE_START_S = 180


class ZygoteFailed(Exception):
    """The zygote could not start; ``str`` is its last output."""

    @property
    def reason(self) -> str:
        """The last line of it, no longer than a report takes."""
        return (str(self).splitlines() or ["no reason given"])[-1][:300]


def start(flavour: str, environment: Mapping[str, str] | None = None) -> Zygote:
    """A zygote that the replay cannot do without. Raises UnavailableError."""
    try:
        return Zygote(flavour, environment=environment)
    except ZygoteFailed as error:
        raise UnavailableError(
            f"the {flavour}'s processes could not be started: {error.reason}",
            hint="install torch and triton in this Python, as a bundle's runtime has them: "
            "pip install '.[replay,cuda]' in bundler's checkout",
        ) from None


class Zygote:
    """One process that has the imports of a flavour and forks workers."""

    def __init__(self, flavour: str, *, environment: Mapping[str, str] | None = None) -> None:
        self._flavour = flavour
        self._lock = threading.Lock()
        with contextlib.ExitStack() as stack:
            self._scratch = stack.enter_context(temporary_folder(remove))
            self._log = stack.enter_context(tempfile.TemporaryFile())
            self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs, interrupts.holding():
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-s", "-B", "-m", "bundler.worker", flavour],
                    stdin=theirs.fileno(),
                    stdout=self._log,
                    stderr=self._log,
                    env=zygote_environment(self._scratch, environment or {}),
                    cwd=self._scratch,
                    start_new_session=True,
                )
                stack.callback(self._end)
            self._ask_ready()
            self._left = stack.pop_all()

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

    def spawn(self, allowance: Allowance) -> Worker:
        """A new confined worker. Raises SpawnFailed; UnavailableError when the zygote itself has ended."""
        scratch = Path(tempfile.mkdtemp(prefix="worker-", dir=self._scratch))
        pipes = Pipes()
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
        return Worker(self.wait, pid, pipes, scratch, allowance)

    def _fork(self, request: dict[str, Any], pipes: Pipes) -> int:
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
        self._left.close()

    def _end(self) -> None:
        self._control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=2)
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
