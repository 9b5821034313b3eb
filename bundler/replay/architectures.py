"""The architectures that a compile ground can stand for."""

from __future__ import annotations

from bundler.worker.archs import ARCHITECTURES

KNOWN = tuple(ARCHITECTURES)
"""Compute capabilities times ten."""


def shared_bytes_per_block(sm: int) -> int:
    """The most shared memory that a block may have on an architecture of ``KNOWN``, by opting in."""
    return ARCHITECTURES[sm].shared_bytes_per_block
