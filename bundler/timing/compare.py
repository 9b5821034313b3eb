"""Two timings of one run held against each other, and two runs' ratios. Pure."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from bundler.model.timing import State, TimedCell, Timings
from bundler.timing.statistics import Ratio, ratio

SAME_SHARE = 0.02
"""A ratio within 2 % of 1 is no difference, however narrow its interval. Chosen here: as far as one timing's
own thirds may be apart."""


class Direction(enum.StrEnum):
    """What a ratio says."""

    SLOWER = "slower"
    FASTER = "faster"
    NO_DIFFERENCE = "no difference"
    CANNOT_TELL = "cannot tell"


class Agreement(enum.StrEnum):
    """What a replay's ratio says of the recorded one. The timings themselves are never held equal."""

    SAME = "same direction"
    NO_DIFFERENCE = "no difference"
    OPPOSITE = "opposite"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True)
class Pair:
    """Two candidates on one case: the first's time over the second's, where that may be claimed."""

    case: str
    first: str
    second: str
    ratio: Ratio | None
    why_not: str = ""

    @property
    def direction(self) -> Direction:
        """What the first is, beside the second."""
        return direction(self.ratio)


def direction(found: Ratio | None) -> Direction:
    """``cannot tell`` without a ratio, or where the interval has 1 in it and reaches further than 2 %."""
    if found is None:
        return Direction.CANNOT_TELL
    if found.low >= 1 - SAME_SHARE and found.high <= 1 + SAME_SHARE:
        return Direction.NO_DIFFERENCE
    if found.low > 1:
        return Direction.SLOWER
    return Direction.FASTER if found.high < 1 else Direction.CANNOT_TELL


def held(recorded: Direction, replayed: Direction) -> Agreement:
    """A replay's direction against the recorded one: same or opposite only where both have one."""
    sure = (Direction.SLOWER, Direction.FASTER)
    if recorded in sure and replayed in sure:
        return Agreement.SAME if recorded is replayed else Agreement.OPPOSITE
    if replayed is Direction.NO_DIFFERENCE and recorded is not Direction.CANNOT_TELL:
        return Agreement.NO_DIFFERENCE
    return Agreement.CANNOT_TELL


def compare(first: TimedCell, second: TimedCell, timings: Timings) -> Pair:
    """The ratio of two cells of one case in one run; without one where either may not be claimed."""
    why = _why_not(first, second, timings)
    samples = [[p.samples_us for p in cell.processes] for cell in (first, second)]
    found = None if why else ratio(samples[0], samples[1])
    return Pair(first.case, first.candidate, second.candidate, found, why)


def _why_not(first: TimedCell, second: TimedCell, timings: Timings) -> str:
    if not timings.interleaved:
        return "their processes did not take turns"
    if (first.case, first.cache) != (second.case, second.cache):
        return "they are not of one case"
    if first.method is not second.method:
        return "they were not sampled in the same way"
    for cell in (first, second):
        state = cell.verdict.state if cell.verdict else "not timed"
        if state != State.ADMISSIBLE:
            return f"{cell.candidate} is {state}"
    return ""
