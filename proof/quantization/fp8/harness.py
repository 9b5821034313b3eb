"""The cases of quantize_fp8, and what its two tensors are held against together.

The base task leaves the scale of a row to the kernel, as long as q * scale approximates x and each row uses the
full range. So neither q nor scale is compared by itself. `derive` makes from them

    the dequantised matrix   q * scale[:, None]
    the peak of each row     max |q|

and `reference` gives what they should be: x, with half a step of float8_e4m3fn as the scale of the tolerance, and
448, the largest finite value of the format, or 0 for a row of zeros. What the scale of a row of zeros is does not
matter, as long as 0 times it is 0.

The values hold no NaN and no infinity: the base task does not mention them.
"""

import numpy as np

LARGEST = 448.0
"""Of float8_e4m3fn, in OCP's 8-bit floating point specification."""
KINDS = 7


def inputs(case, which, make):
    """One matrix. Case parameters: rows, cols, dtype, layout, kind (one for all rows, or -1: all kinds in turn)."""
    rows, cols = case["rows"], case["cols"]
    kinds = (np.arange(rows) + which) % KINDS if case["kind"] < 0 else np.full(rows, case["kind"])
    values = _rows(kinds, cols, make)
    # The gap of a sliced view is infinite: a kernel that reads outside the view gets another largest magnitude.
    return [make.tensor(values, dtype=case["dtype"], layout=case["layout"], gap=float("inf"))]


def reference(case, which, arguments):
    """Forms of q and scale; then x with the half step that rounding to the format may be off by; then the peaks."""
    (x,) = arguments
    values = x.values.astype(np.float64)
    amax = np.abs(values).max(axis=1, initial=0)
    peak = np.where(amax > 0, LARGEST, 0)
    return values, amax, Scaled(values, _half_step(values, amax / LARGEST)), peak


def derive(case, which, arguments, outputs):
    """What the caller makes of a call's q and scale, as float64."""
    q, scale = outputs
    return q * scale[:, None], np.abs(q).max(axis=1, initial=0)


def _half_step(values, scale):
    """Half the distance between neighbours of the format at each |x / scale|, times scale.

    A value in [2^e, 2^(e + 1)) has neighbours 2^(e - 3) away, and below 2^-6 they are 2^-9 apart.
    """
    scale = scale[:, None]
    steps = np.abs(values) / np.where(scale > 0, scale, 1)
    _, exponent = np.frexp(steps)  # steps = f * 2^exponent with f in [1/2, 1), so e = exponent - 1
    return np.exp2(np.maximum(exponent - 1, -6) - 3.0) / 2 * scale


def _rows(kinds, cols, make):
    """A row of each of the given kinds.

    0: normal values. 1: zeros. 2: around 1e37. 3: around 1e-37. 4: one value 10,000 times as large as the rest, in the
    last column, so that the rest are subnormal in the format. 5: the largest magnitude is negative, the others
    are positive. 6: magnitudes from 2^-18 to 1, so that every exponent of the format occurs.
    """
    values = make.normal((len(kinds), cols))
    peak = np.abs(values).max(axis=1, initial=0)
    values[kinds == 1] = 0
    values[kinds == 2] *= 1e37
    values[kinds == 3] *= 1e-37
    values[kinds == 4, -1:] = 1e4 * (peak[kinds == 4, None] + 0.25)
    values[kinds == 5] = np.abs(values[kinds == 5])
    values[kinds == 5, -1:] = -2 * (peak[kinds == 5, None] + 0.25)
    spread = kinds == 6
    values[spread] *= np.exp2(make.uniform((int(spread.sum()), cols), -18, 0))
    return values.astype(np.float32)
