"""The cases of row_moments and their float64 reference.

Every row has the mean and the deviation of its case, and is of one of three kinds, so that a formulation that
is safe for one only shows:

    0: independent values.
    1: a ramp, whose blocks all have other means: a merge that forgets the spread between blocks shows.
    2: independent values behind a first element that is 1000 deviations away: the spread within a block and between
       blocks is of other sizes.

The reference starts from the values as float32 holds them. At a mean of 300,000 one unit in the last place is
0.03, so a deviation of 0.001 is mostly rounded away: such a row is constant, or takes two values, and its
variance is that of the rounded values, not the square of 0.001.

The short prompt does not say what the variance is for, so nothing is added to it before it is compared, as the
long task's caller does. What a kernel that keeps its mean in one float32 cannot avoid is allowed: the variance may be
off by the square of five units in the last place of the row's mean.
"""

import numpy as np


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
    ulp = np.spacing(np.abs(mean).astype(np.float32)).astype(np.float64)
    return Scaled(mean, scale), Scaled(var, ulp**2)  # noqa: F821 (the judge's)
