"""Which sets of values a candidate is called on, and in which order."""

from __future__ import annotations

MANY = 13
"""More than the ten calls of a warm-up that a candidate could wait for (triton.testing.do_bench and
KernelBench's timing helpers make fewer)."""
SMALL_ELEMENTS = 1024
"""Up to here the interpreter, at about a millisecond a program, affords ``MANY`` calls."""


def plan(sets: int, *, elements: int, on_device: bool) -> tuple[int, ...]:
    """The sets in turn, on the same buffers, so that a cached answer is wrong.

    The first call and a later one on the same values tell whether repeats agree. On inputs that are large
    for the interpreter, which is deterministic, two sets have to do.
    """
    if on_device or elements <= SMALL_ELEMENTS:
        return tuple(call % sets for call in range(max(MANY, sets + 1)))
    return tuple(range(min(2, sets)))
