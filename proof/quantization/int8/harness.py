"""The cases of int8_matmul and their float64 reference: the algorithm that the base task states.

    sa[m] = max_k |a[m, k]| / 127          sb[n] = max_k |b[k, n]| / 127
    qa = round(a / sa), qb = round(b / sb), 0 where the scale is 0
    out[m, n] = sa[m] * sb[n] * sum_k qa[m, k] * qb[k, n]

No value lies near a tie: each |x / s| keeps MARGIN from every half, so the codes are the same whether the
scale is one unit in the last place off, whether x / s is a division or a product with 1 / s, and whichever way
ties are rounded, which the base task does not say. So no code may be off by one, and all that is left
between two right answers is the float32 rounding of the scales and of the last two products.

The values hold no NaN and no infinity: the base task does not mention them.
"""

import numpy as np

MARGIN = 1 / 16
"""Of a step. A float32 quotient of up to 127 is within 127 * 2^-21 = 6e-5 of the exact one, whatever its form."""
KINDS = 7


def inputs(case, which, make):
    """a and b. Case parameters: m, k, n, layout (of both)."""
    a = _rows(case["m"], case["k"], which, make)
    b = _rows(case["n"], case["k"], 3 * which + 4, make).T
    # The gap of a sliced view is NaN: whatever is read outside the view shows.
    return [make.tensor(values, layout=case["layout"], gap=float("nan")) for values in (a, b)]


def reference(case, which, arguments):
    """The dequantised product. Every step is exact in float64 but the scales and the last two products."""
    a, b = (argument.values.astype(np.float64) for argument in arguments)
    qa, sa = _quantised(a)
    qb, sb = _quantised(b.T)
    # Sums of up to 4096 * 127^2 = 6.6e7 are exact in float64.
    return (qa @ qb.T) * sa * sb.T


def _quantised(rows):
    """Codes and scales of each row."""
    scale = np.abs(rows).max(axis=1, keepdims=True) / 127
    return np.rint(rows / np.where(scale > 0, scale, 1)), scale


def _rows(count, length, shift, make):
    """Seven kinds of row in turn, shifted from set to set.

    0: normal values. 1: zeros. 2: normal values times 1e-30. 3: an outlier 50 times as large as the rest, in
    the last place. 4: the largest magnitude is negative and the last value, the others are positive or smaller.
    5: every magnitude the same, so that every code is 127 or -127. 6: of one sign, times 1e6.
    """
    values = make.normal((count, length))
    kind = (np.arange(count) + shift) % KINDS
    peak = np.abs(values).max(axis=1)
    values[kind == 1] = 0
    values[kind == 2] *= 1e-30
    values[kind == 3, -1] = 50 * (peak[kind == 3] + 0.25)
    values[kind == 4, -1] = -1.5 * (peak[kind == 4] + 0.25)
    values[kind == 5] = np.where(values[kind == 5] < 0, -2.5, 2.5)
    values[kind == 6] = 1e6 * np.abs(values[kind == 6])
    return _off_ties(values.astype(np.float32))


def _off_ties(values):
    """Move what is within MARGIN of a half step to where it is MARGIN away; the largest stay as they are."""
    wide = values.astype(np.float64)
    scale = np.abs(wide).max(axis=1, keepdims=True) / 127
    scale = np.where(scale > 0, scale, 1)
    steps = wide / scale
    tie = np.floor(steps) + 0.5
    away = np.where(steps < tie, tie - MARGIN, tie + MARGIN)
    near = np.abs(steps - tie) < MARGIN
    return np.where(near, away * scale, wide).astype(np.float32)
