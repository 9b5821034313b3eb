"""Ask NVML, and turn every way of not answering into a stated reason. The only import of pynvml."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import pynvml

from bundler.model.host import Read, Reading, Unread, Value

Status = Literal["not_supported", "no_permission", "function_missing", "not_available", "error"]
Handle = Any
"""NVML's own device handle; opaque."""


class NvmlLibrary(Protocol):
    """The module ``pynvml``, or something that speaks like it.

    All further functions and constants are looked up by name, because which of them exist depends
    on the release of nvidia-ml-py and of the driver.
    """

    NVMLError: type[Exception]

    def nvmlInit(self) -> None: ...  # noqa: N802
    def nvmlShutdown(self) -> None: ...  # noqa: N802
    def nvmlDeviceGetCount(self) -> int: ...  # noqa: N802
    def nvmlDeviceGetHandleByIndex(self, index: int) -> Handle: ...  # noqa: N802


class Missing(LookupError):
    """This release of nvidia-ml-py has no such name."""


class NotAvailable(ValueError):
    """NVML answered, and the answer says that there is nothing to tell."""


@dataclass(frozen=True)
class Session:
    """An initialised NVML, and what decides how its answers are read."""

    nvml: NvmlLibrary
    wsl2: bool = False
    version: str = ""
    """Of the NVML library that answers (``13.580.159``); empty where it would not say."""


@dataclass(frozen=True)
class Call:
    """One way to ask. ``text`` names the function that is asked, for the evidence."""

    text: str
    run: Callable[[Session, Handle], Value]


def real_nvml() -> NvmlLibrary:
    """nvidia-ml-py itself. It loads ``libnvidia-ml.so.1`` only when it is initialised."""
    library: NvmlLibrary = pynvml
    return library


def named(nvml: NvmlLibrary, name: str) -> Any:
    """A function or constant of the library. Raises Missing."""
    try:
        return getattr(nvml, name)
    except AttributeError:
        raise Missing(f"nvidia-ml-py has no {name}") from None


def ask(session: Session, handle: Handle, calls: Iterable[Call]) -> Reading:
    """The first call that answers. None does: the reason of the first that the driver knows.

    Never raises: what a call raises becomes the reading's status and code.
    """
    reasons: list[Unread] = []
    for call in calls:
        answer = _once(session, handle, call)
        if isinstance(answer, Read):
            return answer
        reasons.append(answer)
    known = [reason for reason in reasons if reason.status != "function_missing"]
    return (known or reasons)[0]


def _once(session: Session, handle: Handle, call: Call) -> Read | Unread:
    nvml = session.nvml
    try:
        return Read(value=call.run(session, handle), call=call.text)
    except Missing as missing:
        return Unread(status="function_missing", code=str(missing), call=call.text)
    except NotAvailable as reason:
        return Unread(status="not_available", code=str(reason), call=call.text)
    except nvml.NVMLError as error:
        return failure(error, call.text, wsl2=session.wsl2)
    except _mismatch(nvml) as error:
        return Unread(status="function_missing", code=type(error).__name__, call=call.text)
    except (ctypes.ArgumentError, ValueError, TypeError, OSError) as error:
        # nvidia-ml-py converts what it gets: bytes that are no UTF-8, say, end as a ValueError.
        return Unread(status="error", code=f"{type(error).__name__}: {error}"[:300], call=call.text)


def _mismatch(nvml: NvmlLibrary) -> type[Exception]:
    return getattr(nvml, "NVMLLibraryMismatchError", Missing)


_STATUS: dict[int, Status] = {
    3: "not_supported",
    4: "no_permission",
    6: "not_available",  # not found
    13: "function_missing",
    21: "not_available",  # no data
    22: "not_supported",  # ECC under vGPU
    25: "function_missing",  # the driver does not know this version of the argument
    26: "function_missing",  # deprecated: the driver dropped it
    27: "not_available",  # not ready
}
_UNKNOWN = 999


def failure(error: Exception, call: str, *, wsl2: bool) -> Unread:
    """An NVMLError as a reading. WSL2 answers UNKNOWN (999) where others answer NOT_SUPPORTED (3)."""
    number = getattr(error, "value", None)
    code = f"{type(error).__name__} ({number})"
    if number == _UNKNOWN and wsl2:
        return Unread(status="not_supported", code=f"{code}, which WSL2 answers for it", call=call)
    return Unread(status=_STATUS.get(number or 0, "error"), code=code, call=call)


def device(
    name: str, *arguments: str | int, take: Callable[[Any], Value] | None = None, text: str = ""
) -> Call:
    """Ask the function ``name`` of a device. A string argument is the name of one of NVML's constants."""

    def run(session: Session, handle: Handle) -> Value:
        function = named(session.nvml, name)
        values = [named(session.nvml, each) if isinstance(each, str) else each for each in arguments]
        answer = function(handle, *values)
        return told(take(answer) if take else answer)

    shown = ", ".join(str(each) for each in arguments)
    return Call(text or (f"{name}({shown})" if shown else name), run)


def system(name: str, *, take: Callable[[Any], Value] | None = None) -> Call:
    """Ask the function ``name``, which takes no device."""

    def run(session: Session, _handle: Handle) -> Value:
        answer = named(session.nvml, name)()
        return told(take(answer) if take else answer)

    return Call(name, run)


def told(value: Any) -> Value:
    """The value, unless it is one of NVML's marks for "no value". Raises NotAvailable."""
    if value is None or value in ("", b""):
        raise NotAvailable("NVML gave no value")
    if value in (2**64 - 1, 2**32 - 1) and not isinstance(value, bool):
        raise NotAvailable(f"NVML gave {value:#x}, its mark for no value")
    return value.decode() if isinstance(value, bytes) else value
