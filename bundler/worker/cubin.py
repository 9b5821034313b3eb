"""What a cubin holds: the names of its sections, by the ELF specification (64 bits, little endian). Pure."""

from __future__ import annotations

import struct

_HEADER_BYTES = 64
_SECTION = struct.Struct("<IIQQQQIIQQ")
"""``Elf64_Shdr``: name, type, flags, address, offset, size, and what is not asked for here."""


def has_kernel(cubin: bytes, entry: str) -> bool:
    """Whether there is machine code of that name. A damaged file has none."""
    try:
        return f".text.{entry}".encode() in _section_names(cubin)
    except (struct.error, IndexError):
        return False


def _section_names(cubin: bytes) -> set[bytes]:
    if cubin[:6] != b"\x7fELF\x02\x01":
        return set()
    (start,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", cubin, 0x3A)
    if start < _HEADER_BYTES or size != _SECTION.size:
        return set()
    sections = [_SECTION.unpack_from(cubin, start + size * index) for index in range(count)]
    offset, length = sections[names_at][4:6]
    names = cubin[offset : offset + length]
    return {names[section[0] :].split(b"\0", 1)[0] for section in sections}
