"""What an exception says of where a candidate failed. Claims: the judge stores them as such."""

from __future__ import annotations

import types
from typing import Any

MAX_TEXT = 2000

_COMPILERS = ("triton/compiler/", "triton/language/", "triton/backends/nvidia/compiler.py")
_LAUNCHERS = ("triton/backends/nvidia/driver.py",)
_RESOURCES = {
    "OutOfMemoryError": "out-of-memory",
    "MemoryError": "out-of-memory",
    "OutOfResources": "out-of-resources",
    "GridTooLarge": "grid-too-large",
}
_DEVICE_FAULTS = (
    "an illegal memory access",
    "misaligned address",
    "unspecified launch failure",
    "illegal instruction",
    "device-side assert",
    "hardware stack error",
    "launch timed out",
)
"""CUDA errors after which the context is unusable (CUDA Driver API, CUresult: "must be terminated")."""


def describe(error: BaseException, *, phase: str | None = None) -> dict[str, Any]:
    """The exception as the wire carries it: phase, types and texts of the whole chain, resource fault."""
    chain = _chain(error)
    names = [type(link).__name__ for link in chain]
    return {
        "phase": phase or _phase(error, names),
        "errors": [[type(link).__name__[:200], _text(link)] for link in chain[:4]],
        "resource": next((_RESOURCES[name] for name in names if name in _RESOURCES), None),
    }


def is_sticky(error: BaseException) -> bool:
    """Whether the CUDA context is lost, so that nothing more can be asked of this process."""
    text = _text(error)
    return "CUDA" in text and any(fault in text for fault in _DEVICE_FAULTS)


def _text(error: BaseException) -> str:
    try:
        return str(error)[:MAX_TEXT]
    except Exception as second:  # noqa: BLE001 (a candidate's own __str__)
        return f"<{type(second).__name__} while its text was asked for>"


def _chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain and len(chain) < 8:
        chain.append(link)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return chain


def _phase(error: BaseException, names: list[str]) -> str:
    if {"OutOfResources", "GridTooLarge"} & set(names):
        return "launch"
    files = _files(error.__traceback__)
    if "CompilationError" in names or any(name in path for path in files for name in _COMPILERS):
        return "compile"
    return "launch" if any(name in path for path in files for name in _LAUNCHERS) else "run"


def _files(traceback: types.TracebackType | None) -> list[str]:
    files = []
    while traceback is not None:
        files.append(traceback.tb_frame.f_code.co_filename)
        traceback = traceback.tb_next
    return files
