"""The cases of a row softmax and their float64 reference.

    out[r, c] = exp(x[r, c] - m[r]) / sum over c of exp(x[r, c] - m[r]),    m[r] the row's maximum

An entry that is -inf gives 0; a row of only -inf gives zeros, as the base task says. A row of no columns has
no entries, so its answer is empty.

There is no NaN and no +inf in the inputs: the base task does not say what either should give.

The base task asks for a 2-D tensor and says nothing of its strides, so any 2-D tensor has to be served; a few
cases are transposed or sliced. Outside a sliced view the buffer holds +inf, which shows in every answer that
reads it.
"""

import numpy as np

KINDS = 8
POOL = 1_000_003
"""Values are drawn once and repeated in rows; a prime, so that no two neighbouring rows agree."""


def inputs(case, which, make):
    """One matrix. Case parameters: rows, cols, layout, dtype."""
    rows, cols = case["rows"], case["cols"]
    values = np.zeros((rows, cols))
    if rows * cols:
        pool = make.normal((min(rows * cols, POOL),))
        values = np.resize(pool, (rows, cols))
        # With few rows the sets go on where the last one stopped, so that each kind of row has its turn.
        kind = (np.arange(rows) + which * (rows if rows < KINDS else 3) + cols) % KINDS
        for number, shape_row in enumerate(_KINDS):
            chosen = np.flatnonzero(kind == number)
            if chosen.size:
                values[chosen] = shape_row(values[chosen])
    return [make.tensor(values, dtype=case["dtype"], layout=case["layout"], gap=float("inf"))]


def reference(case, which, arguments):
    """The softmax of what the tensor holds, after it was rounded to its dtype."""
    x = arguments[0].values.astype(np.float64)
    if x.size == 0:
        return x
    most = x.max(axis=1, keepdims=True)
    e = np.exp(x - np.where(np.isneginf(most), 0.0, most))
    total = e.sum(axis=1, keepdims=True)
    return e / np.where(total == 0, 1.0, total)


def _heavy_tail(x):
    """The last column is the largest, and a share of the sum that shows."""
    x = 3 * x
    x[:, -1] = x.max(axis=1) + 4
    return x


def _half_masked(x):
    """About half of the entries are -inf, the first one always."""
    x = np.where(x > 0, 4 * x, -np.inf)
    x[:, 0] = -np.inf
    return x


def _all_masked(x):
    return np.full_like(x, -np.inf)


def _one_live(x):
    """Only the last entry is finite: its answer is 1."""
    last = x[:, -1].copy()
    x = np.full_like(x, -np.inf)
    x[:, -1] = last
    return x


def _around_500(x):
    """exp(500) is infinite in float32, so the maximum has to be subtracted."""
    return 500 + x


def _around_minus_10000(x):
    """exp(-10000) is 0, so it has to be subtracted of negative rows as well. float16 holds multiples of 8."""
    return 8 * x - 10000


def _masked_start(x):
    """The first three quarters are -inf: whole leading tiles of a long row hold nothing."""
    x = x.copy()
    x[:, : 3 * x.shape[1] // 4] = -np.inf
    return x


def _ascending(x):
    """Every tile's maximum is above the last one's, so what was summed has to be scaled down each time."""
    return x / 8 + np.linspace(-20, 20, x.shape[1])


_KINDS = (
    _heavy_tail,
    _half_masked,
    _all_masked,
    _one_live,
    _around_500,
    _around_minus_10000,
    _masked_start,
    _ascending,
)
