"""Assemble PTX with Triton's own ptxas, away from the candidate that it came from."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

from triton.backends.nvidia.compiler import get_ptxas, sm_arch_from_capability

from bundler.worker import wire

_TIMEOUT_S = 120


def prepare(flavour: str) -> None:
    """Nothing to do before a fork."""


class Server:
    """Assembles one PTX text a request."""

    def __init__(self, flavour: str) -> None:
        self._output = Path("kernel.cubin")

    def answer(self, message: wire.Message) -> tuple[dict[str, Any], list[bytes]]:
        request = message.header
        source = Path("kernel.ptx")
        source.write_bytes(message.payload)
        sm = int(request["sm"])
        fusion = [] if request["fp_fusion"] else ["--fmad=false"]
        # Triton's own options (triton/backends/nvidia/compiler.py, make_cubin), less the line info.
        command = [get_ptxas(sm).path, "-v", *fusion, "--regAllocOptLevel=2"]
        command += [f"--gpu-name={sm_arch_from_capability(sm)}", str(source), "-o", str(self._output)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
        except OSError as error:
            return {"unavailable": f"ptxas cannot be started: {error.strerror}"}, []
        if done.returncode != 0:
            return {"error": f"ptxas ended with {done.returncode}: {done.stderr[:1500]}"}, []
        return {"error": None, **_usage(done.stderr)}, []


def _usage(log: str) -> dict[str, int]:
    registers = re.findall(r"Used (\d+) registers", log)
    spills = re.findall(r"(\d+) bytes spill stores", log)
    return {
        "registers": max(map(int, registers), default=0),
        "spill_bytes": sum(map(int, spills)),
    }
