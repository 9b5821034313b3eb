"""A process that has imported torch and Triton once, and forks a confined worker for each request.

It is started by exec, so it holds nothing of the judge's memory; it never touches CUDA, runs no code
of a bundle, and cannot be traced. The replay sends it ``spawn`` with three descriptors (requests,
responses, output) and ``wait``; everything else goes between the replay and the worker itself.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, Protocol

from bundler.worker import sandbox, wire

CONTROL_BYTES = 1 << 16
KILLED_S = 60
"""How long what was killed may take to end: the driver takes a device's memory back meanwhile."""
_ORPHAN_ROUNDS = 200
_REQUESTS_FD, _RESPONSES_FD = 3, 4

FLAVOURS = {
    "device": "bundler.worker.candidate",
    "interpreter": "bundler.worker.candidate",
    "compile": "bundler.worker.candidate",
    "oracle": "bundler.worker.oracle",
    "assembler": "bundler.worker.assembler",
    "nvrtc": "bundler.worker.cuda_compile",
}
"""What a zygote can fork, and the module that serves it."""


class Server(Protocol):
    """What a worker does with one request."""

    def answer(self, message: wire.Message) -> tuple[dict[str, Any], list[bytes]]:
        """The response's header and payload."""


def main(flavour: str) -> None:
    """Serve the control socket on descriptor 0 until the replay closes it."""
    module = importlib.import_module(FLAVOURS[flavour])
    module.prepare(flavour)
    sandbox.prctl(sandbox.PR_SET_CHILD_SUBREAPER, 1)
    sandbox.make_undumpable()
    gc.collect()
    gc.freeze()
    _Zygote(flavour, lambda: module.Server(flavour)).serve()


class _Zygote:
    def __init__(self, flavour: str, make_server: Callable[[], Server]) -> None:
        self._flavour = flavour
        self._make_server = make_server
        self._control = socket.socket(fileno=os.dup(0))
        self._workers: dict[int, int | None] = {}
        """Workers that nobody waited for yet, and their wait status once they have ended."""

    def serve(self) -> None:
        self._reply({"ready": self._flavour})
        while True:
            data, fds, _, _ = socket.recv_fds(self._control, CONTROL_BYTES, 3)
            if not data:
                return self._end_all()
            request = json.loads(data)
            if request["op"] == "spawn":
                self._reply(self._spawn(request, fds))
            else:
                self._reply({"status": self._wait(request["pid"])})

    def _reply(self, message: dict[str, Any]) -> None:
        self._control.send(json.dumps(message).encode())

    def _spawn(self, request: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        try:
            pid = os.fork()
        except OSError as error:
            return {"pid": None, "why": error.strerror}
        else:
            if pid == 0:
                self._become_worker(request, fds)
            # From both sides, so that the group exists before anyone kills it.
            with contextlib.suppress(OSError):
                os.setpgid(pid, pid)
            self._workers[pid] = None
            return {"pid": pid}
        finally:
            for fd in fds:
                os.close(fd)

    def _wait(self, pid: int) -> int | None:
        """The wait status of a worker that was killed or has ended; None when it does not go away.

        Whatever it leaves behind comes to this process, and is killed and reaped with it.
        """
        deadline = time.monotonic() + KILLED_S
        while self._workers[pid] is None and time.monotonic() < deadline:
            if not self._reap():
                time.sleep(0.005)
        self._kill_orphans()
        while self._reap():
            pass
        return self._workers.pop(pid)

    def _reap(self) -> bool:
        """Take one ended child off the process table, if there is one."""
        try:
            ended, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if ended in self._workers:
            self._workers[ended] = status
        return ended != 0

    def _end_all(self) -> None:
        """Kill every worker's group and whatever left one: nothing outlives this process."""
        for pid in self._workers:
            with contextlib.suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
        self._workers.clear()
        self._kill_orphans()

    def _kill_orphans(self) -> None:
        """Kill children of this process that are in no living worker's group: they left theirs."""
        for _ in range(_ORPHAN_ROUNDS):
            strays = [pid for pid, group in _children() if group not in self._workers]
            if not strays:
                return
            for pid in strays:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            while self._reap():
                pass
            time.sleep(0.005)

    def _become_worker(self, request: dict[str, Any], fds: list[int]) -> NoReturn:
        status = 70
        try:
            _settle(request, fds)
            limits = sandbox.Confinement(**request["confinement"])
            report = sandbox.confine(limits)
            wire.send(_RESPONSES_FD, {"isolation": report})
            _serve(self._make_server())
            status = 0
        except wire.PeerGone:
            status = 0
        except BaseException:  # noqa: BLE001 (the worker's edge: say why, then end)
            traceback.print_exc()
        finally:
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            # Never return into the zygote's loop, and run nothing that a candidate registered.
            os._exit(status)


def _children() -> list[tuple[int, int]]:
    """This process's children that have not ended: their ids and process groups."""
    found: list[tuple[int, int]] = []
    own = os.getpid()
    if not Path("/proc/self").exists():
        return found  # the replay's record says so: its watch needs /proc as well
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            pid = int(entry.name)
            fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            if int(fields[1]) == own and fields[0] != b"Z":
                found.append((pid, int(fields[2])))
    return found


def _settle(request: dict[str, Any], fds: list[int]) -> None:
    """Take the descriptors, a process group, and the scratch folder; keep nothing else."""
    os.setpgid(0, 0)
    sandbox.prctl(sandbox.PR_SET_PDEATHSIG, signal.SIGKILL)
    requests, responses, output = (os.dup2(fd, 20 + index) for index, fd in enumerate(fds))
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (output, 1), (output, 2), (requests, 3), (responses, 4)):
        os.dup2(source, target)
    os.closerange(5, 1 << 16)
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
    os.environ.update(request["environment"])
    tempfile.tempdir = request["scratch"]  # the zygote's own choice was remembered
    os.chdir(request["scratch"])


def _serve(server: Server) -> None:
    limits = wire.Limits(header_bytes=64 << 20, payload_bytes=1 << 40, values=64 << 20)
    while True:
        message = wire.receive(_REQUESTS_FD, limits)
        header, parts = server.answer(message)
        wire.send(_RESPONSES_FD, {**header, wire.NUMBER: message.header[wire.NUMBER]}, parts)
        if header.get("unusable"):
            return
