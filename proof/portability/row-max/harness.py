"""The cases of row_max and their float64 reference.

The CUDA kernel in the base task is the specification, so a row's right value is what it gives:

    out[r] = fmaxf(-FLT_MAX, x[r, 0], ..., x[r, cols - 1])

It starts at -FLT_MAX, not at -inf. A row that is all -inf therefore gives -FLT_MAX, though its
maximum in mathematics is -inf: the task says to port this kernel, and nothing in it says that the
start may change.

There is no NaN in the inputs. The kernel drops NaN, because fmaxf does; the base task says "the
maximum of each row" and never mentions NaN. A case with NaN would judge an answer by a property that
is only implied. Triton's interpreter could not judge it either: in 3.7.1 it computes tl.maximum with
numpy.maximum, which keeps NaN, whatever propagate_nan says. So nothing is claimed about NaN.
"""

import numpy as np

LOWEST = float(np.finfo(np.float32).min)
"""-FLT_MAX."""
POOL = 1_000_003
"""Values are drawn once and repeated in rows; a prime, so that no two neighbouring rows agree."""


def inputs(case, which, make):
    """One matrix. Case parameters: rows, cols, layout, sparse (for those that are too large to send)."""
    if case["sparse"]:
        return [_sparse(case["rows"], case["cols"], case["layout"], which, make)]
    values = _rows(case["rows"], case["cols"], which, make)
    # The gap of a sliced view is larger than every value: whatever is read outside the view shows.
    return [make.tensor(values, layout=case["layout"], gap=float("inf"))]


def reference(case, which, arguments):
    """The maximum of each row, never below -FLT_MAX. Taking it first and widening it then is exact."""
    (x,) = arguments
    if x.values is not None:
        return np.maximum(x.values.max(axis=1, initial=LOWEST).astype(np.float64), LOWEST)
    rows, cols = x.shape
    # Fewer points than columns, so every row has at least one element that is the fill.
    assert len(x.points) < cols
    best = np.full(rows, max(x.gap, LOWEST))
    for index, value in x.points.items():
        best[index // cols] = max(best[index // cols], value)
    return best


def _rows(rows, cols, which, make):
    """Three kinds of row in turn, shifted from set to set: every row is each of them once in three sets.

    0: both signs, the maximum in the last column. 1: all negative, of several magnitudes, the maximum in
    the first column of even rows and wherever it falls in odd ones. 2: all -inf.
    """
    pool = make.normal((min(rows * cols, POOL),)).astype(np.float32)
    values = np.resize(pool, (rows, cols))
    row = np.arange(rows)
    kind = (row + which) % 3
    mixed = row[kind == 0]
    values[mixed, -1] = values[mixed].max(axis=1) + np.float32(0.25)
    negative = row[kind == 1]
    values[negative] -= 8  # normal values are within 3.47 of 0
    first = negative[negative % 2 == 0]
    values[first, 0] = values[first].max(axis=1) + np.float32(0.25)
    values[negative] *= np.exp2(np.float32(30) * (negative % 5)).astype(np.float32)[:, None]
    values[kind == 2] = -np.inf
    return values


def _sparse(rows, cols, layout, which, make):
    """One value everywhere but at some points: most anywhere, some where 32-bit offsets go wrong.

    The fill is negative, and -inf in the last set, so that an element that is taken for 0 shows.
    """
    fill, size = ((-3.0, 3.0), (-1e30, 1e30), (-np.inf, 8.0))[which % 3]
    anywhere = make.integers((200,), 0, rows * cols)
    # Of a transposed matrix the last column reaches beyond 2^31, of a contiguous one the last row.
    last_column = make.integers((20,), rows // 2 + 1, rows) * cols + cols - 1
    last = (rows - 1) * cols
    edges = np.asarray([0, cols - 1, last - 1, last, last + cols // 2, last + cols - 1])
    at = np.concatenate([anywhere, last_column, edges])
    # Where the fill is finite some points anywhere are below it and change nothing; the others are above.
    factors = [make.uniform(anywhere.shape, 0.5, 1.5), make.uniform((at.size - anywhere.size,), 0.1, 0.5)]
    values = (-size * np.concatenate(factors)).astype(np.float32)
    points = dict(zip(at.tolist(), values.tolist(), strict=True))
    return make.sparse((rows, cols), float(np.float32(fill)), points, layout=layout)
