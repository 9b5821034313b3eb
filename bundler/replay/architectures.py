"""The architectures that a compile ground can stand for."""

from __future__ import annotations

from bundler.worker.archs import ARCHITECTURES

KNOWN = tuple(ARCHITECTURES)
"""Compute capabilities times ten."""
