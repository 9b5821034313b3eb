"""What the judge's own clock says of one call. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bundler.model.timing import Stopwatch

Pairs = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Slope:
    """One call from outside, µs, and by how much it may be off."""

    call_us: float
    uncertainty_us: float


def slope(watch: Stopwatch) -> Slope | None:
    """Time a call as the difference of 2N and N rounds, over N; less a round without the call.

    Whatever is the same for N and 2N (the request, its answer, the blocking kernel, one wait) falls out of
    each repeat's difference; between repeats the block may have grown. The median of the differences counts,
    since a delay adds to a difference as well as it takes from one, and how far their quartiles are apart
    says how sure that is. None for fewer than two repeats.
    """
    with_call = _rounds(watch.with_call, watch.calls)
    without = _rounds(watch.without_call, watch.calls) if watch.without_call else Slope(0, 0)
    if with_call is None or without is None:
        return None
    return Slope(with_call.call_us - without.call_us, with_call.uncertainty_us + without.uncertainty_us)


def _rounds(pairs: Pairs, calls: int) -> Slope | None:
    if len(pairs) < 2:
        return None
    scale = 1e6 / calls
    low, median, high = np.percentile([twice - once for once, twice in pairs], (25, 50, 75))
    return Slope(float(median) * scale, float(high - low) * scale)
