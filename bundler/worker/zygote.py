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
import traceback
from collections.abc import Callable
from typing import Any, NoReturn, Protocol

from bundler.worker import sandbox, wire

CONTROL_BYTES = 1 << 16
_REQUESTS_FD, _RESPONSES_FD = 3, 4

FLAVOURS = {
    "device": "bundler.worker.candidate",
    "interpreter": "bundler.worker.candidate",
    "compile": "bundler.worker.candidate",
    "oracle": "bundler.worker.oracle",
    "assembler": "bundler.worker.assembler",
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
        self._ended: dict[int, int] = {}

    def serve(self) -> None:
        self._reply({"ready": self._flavour})
        while True:
            data, fds, _, _ = socket.recv_fds(self._control, CONTROL_BYTES, 3)
            if not data:
                return
            request = json.loads(data)
            if request["op"] == "spawn":
                self._reply({"pid": self._spawn(request, fds)})
            else:
                self._reply({"status": self._wait(request["pid"])})

    def _reply(self, message: dict[str, Any]) -> None:
        self._control.send(json.dumps(message).encode())

    def _spawn(self, request: dict[str, Any], fds: list[int]) -> int:
        pid = os.fork()
        if pid == 0:
            self._become_worker(request, fds)
        for fd in fds:
            os.close(fd)
        return pid

    def _wait(self, pid: int) -> int:
        """The wait status of a worker; its orphans, which come to this process, are reaped as well."""
        while pid not in self._ended:
            ended, status = os.waitpid(-1, 0)
            self._ended[ended] = status
        return self._ended.pop(pid)

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
    os.chdir(request["scratch"])


def _serve(server: Server) -> None:
    limits = wire.Limits(header_bytes=64 << 20, payload_bytes=1 << 40)
    while True:
        header, parts = server.answer(wire.receive(_REQUESTS_FD, limits))
        wire.send(_RESPONSES_FD, header, parts)
        if header.get("unusable"):
            return
