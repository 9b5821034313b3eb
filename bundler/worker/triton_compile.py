"""The compile grounds of Triton: a wrapper is run for an architecture, and what it launches is handed on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from bundler.worker import faults
from bundler.worker.archs import ARCHITECTURES
from bundler.worker.standin import Launch, Standin

Header = dict[str, Any]


class Compiler:
    """Remembers which kernels of one candidate were sent."""

    def __init__(self, standin: Standin) -> None:
        self._standin = standin
        self._sent: dict[str, int] = {}

    def run(self, invoke: Callable[[], object], architectures: list[int]) -> tuple[Header, list[bytes]]:
        """Run the wrapper for each architecture: the answer to a request, and the PTX of new kernels."""
        new: list[Header] = []
        parts: list[bytes] = []
        results = [self._compile_for(sm, invoke, new, parts) for sm in architectures]
        return {"architectures": results, "kernels": new}, parts

    def _compile_for(
        self, sm: int, invoke: Callable[[], object], new: list[Header], parts: list[bytes]
    ) -> Header:
        """Run the wrapper as if on ``sm``: what it launched, as indices of the kernels sent so far."""
        self._standin.arch = ARCHITECTURES[sm]
        self._standin.take_launches()
        raised = None
        try:
            invoke()
        except BaseException as error:  # noqa: BLE001 (the worker's edge)
            raised = faults.describe(error)
        kernels = [self._kernel(sm, launch, new, parts) for launch in self._standin.take_launches()]
        return {"sm": sm, "raised": raised, "kernels": list(dict.fromkeys(kernels))}

    def _kernel(self, sm: int, launch: Launch, new: list[Header], parts: list[bytes]) -> int:
        key = f"{sm}/{hashlib.sha256(launch.ptx).hexdigest()}"
        if key not in self._sent:
            self._sent[key] = len(self._sent)
            parts.append(launch.ptx)
            meta = launch.metadata
            new.append(
                {
                    "sm": sm,
                    "name": str(meta.name)[:200],
                    "num_warps": meta.num_warps,
                    "shared_bytes": meta.shared,
                    "fp_fusion": bool(meta.enable_fp_fusion),
                    "ptx_bytes": len(launch.ptx),
                }
            )
        return self._sent[key]
