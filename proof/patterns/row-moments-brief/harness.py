"""The cases of row_moments and their float64 reference.

Every row has the mean and the deviation of its case, and is of one of three kinds, so that a formulation
that is safe for one only shows:

    0: independent values.
    1: a ramp, whose blocks all have other means: a merge that forgets the spread between blocks shows.
    2: independent values behind a first element that is 1000 deviations away: the spread within a block and between
       blocks is of other sizes.

The reference starts from the values as float32 holds them. At a mean of 300,000 one unit in the last place
is 0.03, so a deviation of 0.001 is mostly rounded away: such a row is constant, or takes two values, and
its variance is that of the rounded values, not the square of 0.001.

Between the deviations 0.001 and 1 lies 0.03, but at a mean of 1 it is 0.0035. With 0.03 the sum of squares minus the
squared mean is off there by just about what is allowed, and the values decide whether it is wrong. With 0.0035 it
is off by eight times that or more on any values, and no answer of the short task is at its limit either.

The short prompt does not say what the variance is for, so nothing is added to it before it is compared, as
the long task's caller does. It asks for blocks in one pass, and does not forbid to keep a mean in one
float32. Such a mean is off by some units in its last place, ulp. A deviation that is taken from it is off
by as much, so the variance of values with deviation sd is off by at most (sd + e ulp)^2 - sd^2. That is
allowed, with e = 8.
"""

import numpy as np

ULPS = 8
"""By how many units in its last place a mean in float32 may be off: ten half ones for a tree of ten additions, two
for a division on a GPU, one for the running mean."""


def inputs(case, which, make):
    """One matrix. Case parameters: rows, cols, mean, deviation."""
    rows, cols = case["rows"], case["cols"]
    kinds = (np.arange(rows) + which) % 3
    values = make.normal((rows, cols))
    values[kinds == 1] = np.linspace(-(3**0.5), 3**0.5, cols) if cols > 1 else 0.0
    values[kinds == 2, 0] = 1000
    # No two rows have the same mean, and none is a round number, whose sums would be exact in float32.
    means = case["mean"] * (1 - 0.1 * make.uniform((rows, 1)))
    return [make.tensor((means + case["deviation"] * values).astype(np.float32))]


def reference(case, which, arguments):
    """Mean and variance, each with the scale of its tolerance."""
    x = arguments[0].values.astype(np.float64)
    mean = x.mean(axis=1)
    var = np.square(x - mean[:, None]).mean(axis=1)
    # In units of 2^-24: a sum's bound for 977 + 10 additions, and the size of an element that one may shift by.
    scale = 987 * np.abs(x).mean(axis=1) + 4 * np.abs(x).max(axis=1)
    ulp = np.spacing(np.abs(x).mean(axis=1).astype(np.float32)).astype(np.float64)
    offset = 2 * np.sqrt(var) * ULPS * ulp + (ULPS * ulp) ** 2
    return Scaled(mean, scale), Scaled(var, offset)  # noqa: F821 (the judge's)
