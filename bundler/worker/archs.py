"""What a kernel's wrapper may ask of a device that is not there: one row an architecture.

Compute capability, multiprocessors and memory are those of one common board of the architecture,
from NVIDIA's data sheets; shared memory a block is the opt-in maximum of the "Technical Specifications
per Compute Capability" table in the CUDA C++ Programming Guide; L2 is the board's.
"""

from __future__ import annotations

from dataclasses import dataclass

_KIB, _MIB, _GIB = 1 << 10, 1 << 20, 1 << 30


@dataclass(frozen=True)
class Architecture:
    sm: int
    """Compute capability times ten: 90 for 9.0."""
    board: str
    multiprocessors: int
    shared_bytes_per_block: int
    """The most dynamic shared memory a block may opt in to."""
    shared_bytes_per_multiprocessor: int
    l2_bytes: int
    memory_bytes: int
    threads_per_multiprocessor: int

    @property
    def capability(self) -> tuple[int, int]:
        return divmod(self.sm, 10)


ARCHITECTURES: dict[int, Architecture] = {
    row.sm: row
    for row in (
        Architecture(75, "Tesla T4", 40, 64 * _KIB, 64 * _KIB, 4 * _MIB, 16 * _GIB, 1024),
        Architecture(80, "NVIDIA A100", 108, 163 * _KIB, 164 * _KIB, 40 * _MIB, 40 * _GIB, 2048),
        Architecture(86, "NVIDIA GeForce RTX 3050", 20, 99 * _KIB, 100 * _KIB, 2 * _MIB, 8 * _GIB, 1536),
        Architecture(89, "NVIDIA GeForce RTX 4090", 128, 99 * _KIB, 100 * _KIB, 72 * _MIB, 24 * _GIB, 1536),
        Architecture(90, "NVIDIA H200", 132, 227 * _KIB, 228 * _KIB, 60 * _MIB, 141 * _GIB, 2048),
        Architecture(100, "NVIDIA B200", 148, 227 * _KIB, 228 * _KIB, 126 * _MIB, 180 * _GIB, 2048),
        Architecture(120, "NVIDIA GeForce RTX 5090", 170, 99 * _KIB, 100 * _KIB, 96 * _MIB, 32 * _GIB, 1536),
    )
}

INTERPRETER_SM = 86
"""The architecture that stands in where a ground has none of its own: the interpreter's."""
