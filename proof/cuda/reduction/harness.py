"""The cases of reduce_sum and their float64 reference.

Three sets of values in each case, each for another kind of mistake:

0, exact: whole numbers whose magnitudes add up to less than 2^24. Every partial sum, in whatever order and
   of whatever elements, is a whole number below 2^24, which float32 holds exactly. So every order gives the
   same sum, and the answer has to be equal (scale 0). An element that is lost or added twice always shows.
1, one sign: about 0.1 each, which no binary format holds. A float32 running sum of millions of them drifts,
   because all of its roundings go one way.
2, both signs: magnitudes around 1e30 (1e27 in the long inputs) that mostly cancel.

In sets 1 and 2 the error is measured in units of the sum of the magnitudes: no order of a float32 sum can
promise more, since it is the magnitudes that round.

There is no NaN and no infinity, and no partial sum overflows.
"""

import numpy as np

DENSE = 10_000_000
"""Up to here every element is drawn; longer inputs have one value everywhere but at some points."""
LARGEST = 15
"""Set 0, dense: 15 * (10^6 + 3) is below 2^24."""
LARGEST_POINT = 50_000
"""Set 0, sparse: there are fewer than 300 points, and 300 * 50,000 is below 2^24."""
EDGES = (0, 1, 2, 3, 255, 256, 257, 2**24, 2**31 - 1, 2**31, 2**31 + 1, 2**31 + 10)
"""Indices where a kernel may lose an element: the first ones, and those around the range of an int."""
TAIL = 40
"""So many of the last elements are points."""


def inputs(case, which, make):
    """One vector. Case parameters: n, blocks."""
    if case["n"] > DENSE:
        return [_sparse(case["n"], which, make)]
    return [make.tensor(_dense(case["n"], which, make))]


def reference(case, which, arguments):
    """The sum, and with it the sum of the magnitudes, which scales the tolerance; 0 where it is exact."""
    (x,) = arguments
    if x.values is not None:
        values = x.values.astype(np.float64)
        total, magnitude = values.sum(), np.abs(values).sum()
    else:
        points = np.asarray(list(x.points.values()))
        rest = x.shape[0] - points.size
        total = points.sum() + x.gap * rest
        magnitude = np.abs(points).sum() + abs(x.gap) * rest
    scale = 0.0 if which % 3 == 0 else magnitude
    return Scaled(np.asarray([total]), np.asarray([scale]))  # noqa: F821 (the judge puts it here)


def _dense(n, which, make):
    if which % 3 == 0:
        return make.integers((n,), 1, LARGEST + 1)
    if which % 3 == 1:
        return make.uniform((n,), 0.05, 0.15)
    return 1e30 * make.normal((n,))


def _sparse(n, which, make):
    at = np.concatenate([np.asarray(EDGES), make.integers((200,), 0, n), np.arange(n - TAIL, n)])
    at = np.unique(at[at < n])
    if which % 3 == 0:
        fill, values = 0.0, make.integers(at.shape, 1, LARGEST_POINT + 1)
    elif which % 3 == 1:
        fill, values = 0.1, make.uniform(at.shape, 0.05, 0.15)
    else:
        # The points together about outweigh the rest, so the sum is far smaller than the magnitudes.
        fill, values = -1e27, make.uniform(at.shape, 1.9, 2.1) * 1e27 * n / (2 * at.size)
    values = values.astype(np.float32).astype(np.float64)
    points = dict(zip(at.tolist(), values.tolist(), strict=True))
    return make.sparse((n,), float(np.float32(fill)), points)
