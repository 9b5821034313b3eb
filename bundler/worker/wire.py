"""One message each way: a JSON header and raw bytes, both with a stated length.

A frame is ``BNDL``, the header's length (u32, little endian), the payload's length (u64), the header
(UTF-8 JSON, an object), the payload. Lengths are checked against the receiver's limits before
anything is allocated. Nothing that arrives is executed, unpickled, or used as a path.
"""

from __future__ import annotations

import json
import math
import os
import select
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

MAGIC = b"BNDL"
NUMBER = "number"
"""The header's key for a request's number, which the answer repeats: a stale answer is known as such."""
MOST_KEYS = 256
"""Of one object of a header; each one that nobody knows would be a fault of its own."""
_PREFIX = struct.Struct("<4sIQ")
_CHUNK_BYTES = 1 << 20


class WireError(Exception):
    """The other side broke the protocol; ``str`` says how."""


class PeerGone(WireError):
    """The other side closed the pipe or ended before its message was complete."""


class DeadlinePassed(WireError):
    """No complete message came in time."""


@dataclass(frozen=True)
class Limits:
    """The most that a receiver takes, in bytes."""

    header_bytes: int = 1 << 20
    payload_bytes: int = 0
    values: int = 100_000
    """Of the header's JSON, counted before it is parsed: two bytes of text are a hundred as an object."""


@dataclass(frozen=True)
class Message:
    header: dict[str, Any]
    payload: bytes | bytearray = b""


def encode(header: dict[str, Any], payload_bytes: int) -> bytes:
    """The frame's bytes up to the payload."""
    text = json.dumps(header, separators=(",", ":"), allow_nan=False).encode()
    return _PREFIX.pack(MAGIC, len(text), payload_bytes) + text


def decode_prefix(prefix: bytes, limits: Limits) -> tuple[int, int]:
    """The two lengths of a frame; raise WireError when they are over the limits or the frame is none."""
    magic, header_bytes, payload_bytes = _PREFIX.unpack(prefix)
    if magic != MAGIC:
        raise WireError(f"a frame starts with {magic!r}, not {MAGIC!r}")
    if header_bytes > limits.header_bytes:
        raise WireError(f"a header of {header_bytes} bytes is over the limit of {limits.header_bytes}")
    if payload_bytes > limits.payload_bytes:
        raise WireError(f"a payload of {payload_bytes} bytes is over the limit of {limits.payload_bytes}")
    return header_bytes, payload_bytes


def decode_header(text: bytes | bytearray, values: int = Limits.values) -> dict[str, Any]:
    """The JSON object in ``text``; raise WireError when it is anything else, or too deep for Python.

    So is one of over ``values`` values, and an object in it of over ``MOST_KEYS`` keys or with a key twice.
    """
    there = sum(map(text.count, (b",", b"[", b"{")))
    if there > values:
        raise WireError(f"a header of about {there} values is over the limit of {values}")
    try:
        header = json.loads(
            text, parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_object
        )
    except (ValueError, RecursionError) as error:
        raise WireError(f"the header is no JSON: {error}") from None
    if not isinstance(header, dict):
        raise WireError(f"the header is of type {type(header).__name__}, not an object")
    return header


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > MOST_KEYS:
        raise ValueError(f"an object has {len(pairs)} keys, over {MOST_KEYS}")
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("an object gives one key twice")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is no finite number")
    return value


def send(fd: int, header: dict[str, Any], parts: Sequence[bytes | bytearray | memoryview] = ()) -> None:
    """Write one frame to ``fd``, blocking. Raise PeerGone when nobody reads."""
    total = sum(memoryview(part).nbytes for part in parts)
    try:
        _write(fd, memoryview(encode(header, total)))
        for part in parts:
            _write(fd, memoryview(part).cast("B"))
    except BrokenPipeError:
        raise PeerGone("the other side closed the pipe") from None


def _write(fd: int, view: memoryview) -> None:
    while view.nbytes:
        view = view[os.write(fd, view[:_CHUNK_BYTES]) :]


def receive(fd: int, limits: Limits, *, deadline: float | None = None, watch: int | None = None) -> Message:
    """Read one frame from ``fd``.

    ``deadline`` is a ``time.monotonic()`` second. ``watch`` is a pidfd: once its process has ended and
    the pipe is dry, PeerGone is raised, even where a grandchild still holds the pipe open.
    """
    reader = _Reader(fd, deadline, watch)
    header_bytes, payload_bytes = decode_prefix(bytes(reader.exactly(_PREFIX.size)), limits)
    header = decode_header(reader.exactly(header_bytes), limits.values)
    return Message(header, reader.exactly(payload_bytes))


class _Reader:
    def __init__(self, fd: int, deadline: float | None, watch: int | None) -> None:
        self._fd = fd
        self._deadline = deadline
        self._poll = select.poll()
        self._poll.register(fd, select.POLLIN)
        if watch is not None:
            self._poll.register(watch, select.POLLIN)

    def exactly(self, count: int) -> bytearray:
        """``count`` bytes; they are allocated as they arrive, so a lying length costs nothing."""
        data = bytearray()
        while len(data) < count:
            self._wait()
            chunk = os.read(self._fd, min(_CHUNK_BYTES, count - len(data)))
            if not chunk:
                raise PeerGone(f"the other side ended after {len(data)} of {count} bytes")
            data += chunk
        return data

    def _wait(self) -> None:
        """Return once ``fd`` can be read; it comes first, so that a last message is not lost."""
        while True:
            ready = dict(self._poll.poll(self._milliseconds_left()))
            if ready.get(self._fd):
                return
            if ready:
                raise PeerGone("the process ended without an answer")
            if self._deadline is not None and time.monotonic() >= self._deadline:
                raise DeadlinePassed("no answer in time")

    def _milliseconds_left(self) -> int | None:
        if self._deadline is None:
            return None
        return max(0, math.ceil((self._deadline - time.monotonic()) * 1000))
