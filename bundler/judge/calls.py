"""Which sets of values a candidate is called on, and in which order."""

from __future__ import annotations

MANY = 13
"""One more than the warm-up that a candidate could wait for: triton.testing and KernelBench's timing
helpers call a kernel up to ten times before anything is measured."""
SMALL_ELEMENTS = 4096
"""Up to here the interpreter, at about a millisecond a program, affords ``MANY`` calls."""


def plan(sets: int, *, elements: int, on_device: bool) -> tuple[int, ...]:
    """The sets in turn, on the same buffers, so that a cached answer is wrong; the first one once more.

    The first call and a later one on the same values tell whether repeats agree.
    """
    if on_device or elements <= SMALL_ELEMENTS:
        return tuple(call % sets for call in range(max(MANY, sets + 1)))
    return (*range(sets), 0)
