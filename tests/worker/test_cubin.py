"""Which kernels a cubin has: from its bytes, whatever they are."""

from __future__ import annotations

import struct

from bundler.worker.cubin import has_kernel

NAMES = b"\0.text.k\0.shstrtab\0"


def _elf(names_index: int = 2) -> bytes:
    header = b"\x7fELF\x02\x01" + bytes(34) + struct.pack("<Q", 64 + len(NAMES)) + bytes(10)
    header += struct.pack("<HHH", 64, 3, names_index)
    sections = [(0, 0, 0), (1, 0, 0), (9, 64, len(NAMES))]
    table = b"".join(struct.pack("<IIQQQQIIQQ", n, 0, 0, 0, at, size, 0, 0, 0, 0) for n, at, size in sections)
    return header + NAMES + table


def test_a_kernel_has_a_section_of_its_name() -> None:
    elf = _elf()
    assert has_kernel(elf, "k")
    assert not has_kernel(elf, "text.k")
    assert not has_kernel(elf, "k2")


def test_a_damaged_file_has_none() -> None:
    elf = _elf()
    assert not has_kernel(b"", "k")
    assert not has_kernel(b"\x7fELF", "k")
    assert not has_kernel(elf.replace(b"ELF", b"FLE"), "k")
    assert not any(has_kernel(elf[:end], "k") for end in range(len(elf) - 1))
    assert not has_kernel(_elf(names_index=9), "k")
