"""What an exception says of where a candidate failed. Claims: the judge stores them as such."""

from __future__ import annotations

import types
from typing import Any

MAX_TEXT = 2000

_COMPILERS = ("triton/compiler/", "triton/language/", "triton/backends/nvidia/compiler.py")
_LAUNCHERS = ("triton/backends/nvidia/driver.py", "bundler/worker/launcher.py")
_RESOURCES = {
    "OutOfMemoryError": "out-of-memory",
    "MemoryError": "out-of-memory",
    "OutOfResources": "out-of-resources",
    "GridTooLarge": "grid-too-large",
}
_HARMLESS = (
    "out of memory", "invalid argument", "invalid device ordinal", "no kernel image",
    "too many resources requested",
)  # fmt: skip
"""CUDA errors after which a context goes on. After any other one it is taken for lost, as the CUDA Driver API
says of most (CUresult: "the process must be terminated and relaunched"); that costs a fresh process."""


# An exception's class is a candidate's as well: what it overrides is not asked.
_cause = BaseException.__dict__["__cause__"].__get__
_context = BaseException.__dict__["__context__"].__get__
_suppressed = BaseException.__dict__["__suppress_context__"].__get__
_traceback = BaseException.__dict__["__traceback__"].__get__
_class_name = type.__dict__["__name__"].__get__


def describe(error: BaseException, *, phase: str | None = None) -> dict[str, Any]:
    """The exception as the wire carries it: phase, types and texts of the whole chain, resource fault."""
    chain = _chain(error)
    names = [_class_name(type(link)) for link in chain]
    return {
        "phase": phase or _phase(error, names),
        "errors": [[clean(name, 200), text_of(link)] for link, name in zip(chain[:4], names, strict=False)],
        "resource": _resource(chain, names),
    }


def _resource(chain: list[BaseException], names: list[str]) -> str | None:
    """By the exception's name, or in CUDA's own words: a module that finds no memory is no torch error."""
    if found := next((_RESOURCES[name] for name in names if name in _RESOURCES), None):
        return found
    texts = [text_of(link) for link in chain[:4]]
    if any(map(_is_out_of_memory, texts)):
        return "out-of-memory"
    return "no-process" if any(_is_no_process(*each) for each in zip(names, texts, strict=False)) else None


def _is_no_process(name: str, text: str) -> bool:
    """The host starts no process or thread more (EAGAIN), as Python says it."""
    return text == "can't start new thread" or (name == "BlockingIOError" and text.startswith("[Errno 11]"))


def _is_out_of_memory(text: str) -> bool:
    return _is_cuda(text) and "out of memory" in text


def is_sticky(error: BaseException) -> bool:
    """Whether the CUDA context may be lost, so that nothing more can be asked of this process."""
    text = text_of(error)
    return _is_cuda(text) and not any(harmless in text for harmless in _HARMLESS)


def _is_cuda(text: str) -> bool:
    return "CUDA error" in text or "[CUDA]" in text


def clean(text: str, most: int = MAX_TEXT) -> str:
    """The start of ``text`` as UTF-8 can carry it: an exact str, lone surrogates spelled out."""
    exact = str.__getitem__(text, slice(0, most))
    return exact.encode("utf-8", "backslashreplace").decode()[:most]


def text_of(value: object, most: int = MAX_TEXT) -> str:
    """``str(value)`` of something that a candidate made, or which exception it raised instead."""
    try:
        return clean(str(value), most)
    except BaseException as second:  # noqa: BLE001 (a candidate's own __str__)
        return f"<{clean(_class_name(type(second)), 200)} while its text was asked for>"


def _chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and not any(link is seen for seen in chain) and len(chain) < 8:
        chain.append(link)
        cause = _cause(link)
        link = cause if cause is not None or _suppressed(link) else _context(link)
    return chain


def _phase(error: BaseException, names: list[str]) -> str:
    if {"OutOfResources", "GridTooLarge"} & set(names):
        return "launch"
    files = _files(_traceback(error))
    if "CompilationError" in names or any(name in path for path in files for name in _COMPILERS):
        return "compile"
    return "launch" if any(name in path for path in files for name in _LAUNCHERS) else "run"


def _files(traceback: types.TracebackType | None) -> list[str]:
    files = []
    while traceback is not None:
        files.append(traceback.tb_frame.f_code.co_filename)
        traceback = traceback.tb_next
    return files
