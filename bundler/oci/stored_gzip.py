"""Gzip without compression (stored blocks, by hand), and careful reading of anyone's gzip.

DEFLATE's output differs between zlib, zlib-ng and their versions; even level 0 depends on how the
input was cut up. Stored blocks of a fixed size do not. zlib is used here to read only.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from bundler.digest import Digest
from bundler.errors import BadBundle

CHUNK_BYTES = 65_535
"""The most that a stored block can hold."""

_HEADER = bytes((0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255))
"""Deflate, no flags, no time, no extra flags, unknown operating system."""
_READ_BYTES = 1024 * 1024
_BOMB_HINT = "do not use this file; ask its author for one that bundler wrote"


@dataclass(frozen=True)
class Stored:
    """What ``store_gzip`` wrote."""

    digest: Digest
    """Of the gzip."""
    diff_id: Digest
    """Of what is inside it."""
    size: int
    """Of the gzip, in bytes."""


def store_gzip(source: BinaryIO, destination: BinaryIO) -> Stored:
    """Copy ``source`` to its end into ``destination`` as a gzip; memory use does not grow with it."""
    outside, inside = hashlib.sha256(), hashlib.sha256()
    checksum = length = size = 0

    def write(data: bytes) -> None:
        nonlocal size
        outside.update(data)
        size += len(data)
        destination.write(data)

    write(_HEADER)
    for chunk, last in _chunks(source):
        inside.update(chunk)
        checksum = zlib.crc32(chunk, checksum)
        length += len(chunk)
        write(struct.pack("<BHH", last, len(chunk), len(chunk) ^ 0xFFFF))
        write(chunk)
    write(struct.pack("<II", checksum, length & 0xFFFF_FFFF))
    return Stored(_digest(outside.hexdigest()), _digest(inside.hexdigest()), size)


def _chunks(source: BinaryIO) -> Iterator[tuple[bytes, bool]]:
    """Full chunks, however the source hands out its bytes, and whether each is the last."""
    chunk = _read_full(source)
    while True:
        following = _read_full(source) if len(chunk) == CHUNK_BYTES else b""
        yield chunk, not following
        if not following:
            return
        chunk = following


def _read_full(source: BinaryIO) -> bytes:
    parts: list[bytes] = []
    missing = CHUNK_BYTES
    while missing and (part := source.read(missing)):
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def _digest(hexadecimal: str) -> Digest:
    return Digest("sha256:" + hexadecimal)


def inflate(source: BinaryIO, *, limit_bytes: int, name: str) -> bytes:
    """What the gzip in ``source`` holds; ``source`` is read to its end, whatever it holds.

    Raises BadBundle, quoting ``name``, when it is not one whole gzip, or holds more than
    ``limit_bytes``; it never takes up more memory than that plus a few MiB.
    """
    decoder = zlib.decompressobj(wbits=31)
    out = bytearray()
    while data := source.read(_READ_BYTES):
        while data:
            out += _step(decoder, data, limit_bytes - len(out) + 1, name)
            if len(out) > limit_bytes:
                problem = f"{name} unpacks to more than {limit_bytes} bytes"
                raise BadBundle(problem, hint=_BOMB_HINT)
            if decoder.unused_data:
                raise BadBundle(f"{name} has bytes after the end of its gzip", hint=_BOMB_HINT)
            data = decoder.unconsumed_tail
    if not decoder.eof:
        raise BadBundle(f"{name} is a gzip that ends too early", hint="fetch the file again")
    return bytes(out)


def _step(decoder: zlib._Decompress, data: bytes, room: int, name: str) -> bytes:
    try:
        return decoder.decompress(data, min(room, _READ_BYTES))
    except zlib.error as error:
        raise BadBundle(f"{name} is not a sound gzip: {error}", hint="fetch the file again") from error
