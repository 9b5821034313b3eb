"""Tar headers, written by hand so that every Python on every machine writes the same ones.

A name of up to 100 ASCII bytes and a size below 8 GiB fit ustar's fields; anything else gets one
PAX header with exactly the records that it needs.
"""

from __future__ import annotations

import struct

BLOCK_BYTES = 512
MODIFIED_S = 1_577_836_800
"""2020-01-01T00:00:00Z, for every file. Not 0: some programs read 0 as "no time", and a zip archive
cannot hold a time before 1980, in any zone."""
END = b"\0" * (2 * BLOCK_BYTES)
"""Two empty blocks end an archive."""

CLONE_BYTES = 4096
"""What file systems that clone (btrfs, XFS) share between files: whole blocks, of this size by default."""

_NAME_BYTES = 100
_MAX_USTAR_SIZE = 8 * 1024**3 - 1
_FIELDS = struct.Struct("100s8s8s8s12s12s8s1s100s6s2s32s32s8s8s155s12x")


def file_header(path: str, *, size: int, executable: bool = False) -> bytes:
    """What comes before the ``size`` bytes of a file; after them comes ``padding(size)``."""
    return _header(path, size=size, mode=0o755 if executable else 0o644, kind=b"0")


def aligned_header(path: str, *, size: int, offset: int) -> bytes:
    """As ``file_header``, for a member at ``offset`` of the archive whose bytes begin at a whole block.

    Then the kernel can share the blocks of another file instead of copying them. What fills the gap is a PAX
    comment, which every reader skips.
    """
    plain = file_header(path, size=size)
    if (offset + len(plain)) % CLONE_BYTES == 0:
        return plain
    return _header(path, size=size, mode=0o644, kind=b"0", aligned_at=offset)


def folder_header(path: str) -> bytes:
    """The whole member for a folder. ``path`` has no trailing slash."""
    return _header(path + "/", size=0, mode=0o755, kind=b"5")


def padding(size: int) -> bytes:
    """What fills the last block of a file of ``size`` bytes."""
    return b"\0" * (-size % BLOCK_BYTES)


def _header(path: str, *, size: int, mode: int, kind: bytes, aligned_at: int | None = None) -> bytes:
    records = b""
    if not path.isascii() or len(path) > _NAME_BYTES:
        records += _pax_record("path", path)
    if size > _MAX_USTAR_SIZE:
        records += _pax_record("size", str(size))
    if aligned_at is not None:
        records += _comment(-(aligned_at + 2 * BLOCK_BYTES + len(records)) % CLONE_BYTES)
    # Readers that know PAX replace these by the records; the others get something that fits.
    name = path.encode("ascii", "replace")[:_NAME_BYTES]
    main = _ustar(name, size=min(size, _MAX_USTAR_SIZE), mode=mode, kind=kind)
    return (_pax_member(records) if records else b"") + main


def _pax_member(records: bytes) -> bytes:
    header = _ustar(b"PaxHeader", size=len(records), mode=0o644, kind=b"x")
    return header + records + padding(len(records))


def _pax_record(key: str, value: str) -> bytes:
    """``LENGTH KEY=VALUE\\n``, where LENGTH counts its own digits too."""
    rest = f" {key}={value}\n".encode()
    length = len(rest) + 1
    while len(str(length)) + len(rest) != length:
        length = len(str(length)) + len(rest)
    return str(length).encode() + rest


def _comment(length: int) -> bytes:
    """A record of ``length`` bytes in all, or of a whole block more where none is that short."""
    start = f"{length} comment="
    if length <= len(start):
        return _comment(length + CLONE_BYTES)
    return (start + " " * (length - len(start) - 1) + "\n").encode()


def _ustar(name: bytes, *, size: int, mode: int, kind: bytes) -> bytes:
    zero = b"0000000\0"
    block = _FIELDS.pack(
        name,
        b"%07o\0" % mode,
        zero,  # uid
        zero,  # gid
        b"%011o\0" % size,
        b"%011o\0" % MODIFIED_S,
        b" " * 8,  # the checksum is taken with its own field blank
        kind,
        b"",
        b"ustar\0",
        b"00",
        b"",  # no names for owner and group: they would be looked up on the reader's machine
        b"",
        zero,
        zero,
        b"",
    )
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]
