"""The cases of softmax and their float64 reference.

    y[r, c] = exp(x[r, c] - max(x[r])) / sum over c of exp(x[r, c] - max(x[r]))

No input holds NaN or an infinity: the base task does not mention them. A softmax is then defined in every
row, and no right answer is NaN.

The number of rows follows from the number of columns (ROWS): a case is named by its columns and its values
alone, so that the error can be drawn against the length of a row, which is what a kernel gets wrong.
"""

import numpy as np

ROWS = {
    1: 1000,
    31: 37,
    64: 1,
    128: 9,
    256: 7,
    257: 9,
    512: 8,
    1024: 3,
    2048: 1,
    4096: 5,
    99_999: 3,
    100_000: 3,
}
"""Single rows, and numbers that are and are not multiples of 8, the warps of a block."""
CENTRES = {"normal": 0.0, "around-500": 500.0, "around-minus-10000": -10_000.0}
"""Values of deviation 1 around these: the same softmax up to rounding, unless the maximum stays in."""
REACH = 100.0
"""Values of kind wide lie within it: two of them may be further apart than 88, where exp overflows."""
LIFT = 4.0
"""How far a placed maximum stands above all others: at 100,000 columns it still is a hundredth of the sum."""
LOWEST = 3.4e38
"""Values of kind lowest are -LOWEST to -LOWEST / 4. They are finite, and under any sentinel but the lowest
float32 itself; multiplied by log2(e) before the maximum is subtracted, most overflow."""


def inputs(case, which, make):
    """One matrix. Case parameters: cols, values."""
    shape = (ROWS[case["cols"]], case["cols"])
    lift = LIFT
    if case["values"] == "wide":
        values = make.uniform(shape, -REACH, REACH)
    elif case["values"] == "lowest":
        values, lift = make.uniform(shape, -LOWEST, -LOWEST / 4), LOWEST / 16
    else:
        values = make.normal(shape)
    for row in range(shape[0]):
        _arrange(values[row], (row + which) % 4, lift)
    return [make.tensor(values + CENTRES.get(case["values"], 0.0))]


def reference(case, which, arguments):
    """Each row's softmax in float64, of the values as rounded to float32."""
    x = arguments[0].values.astype(np.float64)
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def _arrange(row, kind, lift):
    """Four kinds of row in turn, shifted from set to set; a single row is three of them.

    0: the maximum in the last column, so that a tail that is left out shows in every element. 1: in the
    first column, so that an online sum is never rescaled. 2: rising, so that it is rescaled at each step.
    3: all equal and low, which gives 1 / cols whatever the value.
    """
    if kind == 0:
        row[-1] = row.max() + lift
    elif kind == 1:
        row[0] = row.max() + lift
    elif kind == 2:
        row.sort()
    else:
        row[:] = row.min()
