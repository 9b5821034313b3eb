"""The cases of row_moments and their float64 reference.

Every row has the mean and the deviation of its case, and is of one of three kinds, so that a formulation
that is safe for one only shows:

    0: independent values.
    1: a ramp, whose blocks all have other means: a merge that forgets the spread between blocks shows.
    2: independent values behind a first element that is 1000 deviations away: a kernel that shifts by its first
       element and then subtracts a squared mean shows.

The reference starts from the values as float32 holds them. At a mean of 300,000 one unit in the last place
is 0.03, so a deviation of 0.001 is mostly rounded away: such a row is constant, or takes two values, and
its variance is that of the rounded values, not the square of 0.001.

Between the deviations 0.001 and 1 lies 0.03, but at a mean of 1 it is 0.0035. With 0.03 the sum of squares minus the
squared mean is off there by just about what is allowed, and the values decide whether it is wrong. With 0.0035 it
is off by eight times that or more on any values, and no answer of the short task is at its limit either.

The caller computes 1 / sqrt(var + 1e-5), so that is what is compared (`derive`). The variance itself has no
comparison: by how much it may be off depends on what stands beside it, and the caller says what that is.
"""

import numpy as np

EPSILON = 1e-5
"""What the caller adds to the variance."""
BLOCK = 1024
"""Of the cross-check; any would do."""


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
    """Mean, variance, and what the caller makes of it."""
    x = arguments[0].values.astype(np.float64)
    mean = x.mean(axis=1)
    var = np.square(x - mean[:, None]).mean(axis=1)
    # In units of 2^-24: a sum's bound for 977 + 10 additions, and the size of an element that one may shift by.
    scale = 987 * np.abs(x).mean(axis=1) + 4 * np.abs(x).max(axis=1)
    scaled = Scaled(mean, scale)  # noqa: F821 (the judge's)
    return scaled, var, 1 / np.sqrt(var + EPSILON)


def derive(case, which, arguments, outputs):
    """1 / sqrt(var + 1e-5): NaN where the variance is below -1e-5."""
    _, var = outputs
    return 1 / np.sqrt(var + EPSILON)


def cross_check(case, which, arguments):
    """The sum of squares minus the squared mean, in NumPy float32: one sum a lane, then over the lanes."""
    x = arguments[0].values
    rows, cols = x.shape
    padded = np.zeros((rows, -(-cols // BLOCK) * BLOCK), np.float32)
    padded[:, :cols] = x
    total, squares = np.zeros((rows, BLOCK), np.float32), np.zeros((rows, BLOCK), np.float32)
    for start in range(0, padded.shape[1], BLOCK):
        block = padded[:, start : start + BLOCK]
        total += block
        squares += block * block
    count = np.float32(cols)
    mean = total.sum(axis=1) / count
    return mean, squares.sum(axis=1) / count - mean * mean
