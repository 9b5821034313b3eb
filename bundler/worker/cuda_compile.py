"""The compile grounds of CUDA C++: one source, by NVRTC, for one architecture a request."""

from __future__ import annotations

from typing import Any

from bundler.worker import faults, nvrtc, wire

Header = dict[str, Any]
_WARM_UP = b'extern "C" __global__ void warm() {}'


def prepare(flavour: str) -> None:
    """Load NVRTC and its parts before any fork: a worker then opens headers and nothing else."""
    nvrtc.compile_source(_WARM_UP, "warm", 75, ())


class Server:
    """One candidate."""

    def __init__(self, flavour: str) -> None:
        self._source = b""
        self._entry = ""
        self._options: list[str] = []
        self._parameters: nvrtc.Parameters = ()

    def answer(self, message: wire.Message) -> tuple[Header, list[bytes]]:
        request = message.header
        if request["op"] == "load":
            self._source, self._entry = bytes(message.payload), request["entry"]
            self._options = request["options"]
            self._parameters = request.get("parameters", ())
            return {"raised": None}, []
        if request["op"] == "supports":
            return {"unsupported": nvrtc.unsupported(int(request["sm"]))}, []
        return self._compile(int(request["sm"]))

    def _compile(self, sm: int) -> tuple[Header, list[bytes]]:
        try:
            made = nvrtc.compile_source(self._source, self._entry, sm, self._options, self._parameters)
        except nvrtc.Unsupported as reason:
            return {"unsupported": str(reason)}, []
        except nvrtc.CompileFailed as failed:
            return {"raised": refused(failed)}, []
        return {
            "ptx_bytes": len(made.ptx),
            "registers": made.registers,
            "static_shared_bytes": made.static_shared_bytes,
            "spill_bytes": made.spill_bytes,
        }, [made.ptx, made.cubin]


def refused(failed: nvrtc.CompileFailed) -> Header:
    """What NVRTC says, as the wire carries an exception."""
    return {"phase": "compile", "errors": [["NVRTC", faults.clean(str(failed))]], "resource": None}
