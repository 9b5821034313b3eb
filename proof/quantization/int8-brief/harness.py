"""The cases of int8_matmul and their float64 reference: the product of the matrices themselves.

The short base task asks for symmetric int8 and says neither the scale, nor how to round, nor how many codes of
each sign there are. So what is judged is what any such quantisation grants: zero is exact, a value is off by no more
than one step, and a step is at most the largest magnitude of the row of a, or column of b, over 127:

    |out - a @ b| <= sum over k of  |a| * sb + sa * |b| + sa * sb        (each term 0 where a or b is)

That admits rounding to nearest, with any rule for ties, and truncation; 127 steps to the largest magnitude, and 128
with a clamp at 127.

Half of that sum would do for rounding to nearest. It grows as K does, and a sum of K terms of both signs only as
the square root of K, so a weak harness would let anything pass. Therefore a and b have the same signs along k
(the sum then grows as K), and some rows and columns have only three values that are not zero (the bound is then a few
in a hundred, and each value shows).
"""

import numpy as np

KINDS = 8


def inputs(case, which, make):
    """a and b. Case parameters: m, k, n, layout (of both)."""
    a = _rows(case["m"], case["k"], which, make)
    b = _rows(case["n"], case["k"], 3 * which + 4, make).T
    # The gap of a sliced view is NaN: whatever is read outside the view shows.
    return [make.tensor(values, layout=case["layout"], gap=float("nan")) for values in (a, b)]


def reference(case, which, arguments):
    """The product, and how far one step in each value may move it."""
    a, b = (argument.values.astype(np.float64) for argument in arguments)
    sa = _steps(a, axis=1)
    sb = _steps(b, axis=0)
    bound = np.abs(a) @ sb + sa @ np.abs(b) + sa @ sb
    return Scaled(a @ b, bound)


def _steps(x, axis):
    """The largest step that each value's scale may have; 0 for a zero, which has to stay one."""
    return np.where(x == 0, 0, np.abs(x).max(axis=axis, keepdims=True) / 127)


def _rows(count, length, shift, make):
    """Eight kinds of row in turn, shifted from set to set.

    All but the outliers have the signs of _signs. 0: normal magnitudes. 1: zeros. 2: normal magnitudes times 1e-30.
    3: an outlier 50 times as large as the rest, in the last place. 4: the largest magnitude is in the last
    place, and negative. 5: every magnitude the same. 6: normal magnitudes times 1e6. 7: only the first, the
    middle and the last value are not zero.
    """
    values = (np.abs(make.normal((count, length))) + 0.25) * _signs(length)
    kind = (np.arange(count) + shift) % KINDS
    peak = np.abs(values).max(axis=1)
    values[kind == 1] = 0
    values[kind == 2] *= 1e-30
    values[kind == 3, -1] = 50 * peak[kind == 3]
    values[kind == 4, -1] = -1.5 * peak[kind == 4]
    values[kind == 5] = 2.5 * np.sign(values[kind == 5])
    values[kind == 6] *= 1e6
    few = np.isin(np.arange(length), [0, length // 2, length - 1])
    values[kind == 7] *= few
    return values


def _signs(length):
    """Of a along k, and of b: two of one sign, then one of the other."""
    return np.where(np.arange(length) % 3 == 1, -1.0, 1.0)
