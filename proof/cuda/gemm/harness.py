"""The cases of gemm and their float64 reference: c = a @ b in float32, row-major, any sizes of at least 1.

Each case has three sets of values, made for different faults:

0. Whole numbers of -4 to 4 without 0. Every product and every partial sum is a whole number below 2^24, so
   float32 holds each exactly, in whatever order they are added. The answer has to be equal (scale 0): one
   product that is dropped, doubled or taken from elsewhere shows, also among 4097.
1. Normal values, each row of a and each column of b by another power of two, from 2^-20 to 2^20. What leaks
   from a neighbour is then large where it arrives.
2. Positive values near 1, whose sum grows, so that the rounding of a float32 sum is at its worst.

For sets 1 and 2 the scale is k * (|a| @ |b|), the bound that holds in any order of summation.

special "inf" puts infinities in: in set 0 into one row of a, in set 1 into one column of b, in set 2 one
into the last element of both. No element that meets an infinity is 0, and those that meet infinities of one
row agree in sign, so the right answer is +inf or -inf in that row or column, finite elsewhere, and nowhere
NaN. A kernel that multiplies padding by an infinity (inf * 0), or reads the neighbour's row beyond the end
of its own, gives NaN, though the same kernel is right for all finite values.

special "tall" and "wide" have 2,147,516,416 elements in a or in b: offsets beyond 2^31.
"""

import numpy as np

SPREAD = 4
"""Powers of two between neighbouring rows of a, and between neighbouring columns of b."""


def inputs(case, which, make):
    """a and b. Case parameters: m, n, k, special (none, inf, tall, wide)."""
    m, n, k = case["m"], case["n"], case["k"]
    if case["special"] in ("tall", "wide"):
        return _sparse(case, which, make)
    a, b = _values((m, k), which, make), _values((k, n), which, make)
    if which == 1:
        a *= np.exp2(SPREAD * (np.arange(m) % 11 - 5.0))[:, None]
        b *= np.exp2(SPREAD * (np.arange(n) % 11 - 5.0))[None, :]
    if case["special"] == "inf":
        _place_infinities(a, b, which)
    return [make.tensor(a), make.tensor(b)]


def reference(case, which, arguments):
    """a @ b in float64 of the rounded values, and the scale of its tolerance."""
    if case["special"] in ("tall", "wide"):
        return _sparse_reference(case, which, arguments)
    a, b = (t.values.astype(np.float64) for t in arguments)
    finite_a, finite_b = (np.where(np.isinf(x), 0.0, x) for x in (a, b))
    product = finite_a @ finite_b
    scale = np.zeros_like(product) if which == 0 else case["k"] * (np.abs(finite_a) @ np.abs(finite_b))
    at = np.flatnonzero(np.isinf(a).any(axis=0) | np.isinf(b).any(axis=1))
    infinite = np.zeros_like(product)
    for p in at:  # term by term: nothing but the products that the definition names meets an infinity
        infinite = infinite + a[:, p, None] * b[None, p, :]
    return Scaled(np.where(np.isinf(infinite), infinite, product), scale)  # noqa: F821 (the judge's)


def _values(shape, which, make):
    if which == 0:
        return make.integers(shape, 1, 5) * (2.0 * make.integers(shape, 0, 2) - 1)
    values = make.normal(shape) if which == 1 else make.uniform(shape, 0.5, 1.5)
    return np.where(values == 0, 0.5, values)


def _place_infinities(a, b, which):
    """Into one row of a, into one column of b, or into the last element of both."""
    (m, k), n = a.shape, b.shape[1]
    row, column = max(m // 2, min(m, 2) - 1), max(n // 2, min(n, 2) - 1)
    at = _positions(k)
    if which == 0:
        a[row, at] = np.inf
        b[at] = np.abs(b[at]) * np.sign(b[at[0]])
    elif which == 1:
        b[at, column] = -np.inf
        a[:, at] = np.abs(a[:, at]) * np.sign(a[:, at[0]])[:, None]
    else:
        a[m - 1, k - 1], b[k - 1, n - 1] = -np.inf, np.inf


def _positions(k):
    """Where along k the infinities stand.

    The first, which a read beyond the end of the row before meets; the last; and the last element of
    the two whole slabs of 8, 16 and 32 before the tail, which stay in shared memory where a tail is not
    filled with zeros.
    """
    ends = [k // slab * slab - back * slab - 1 for slab in (8, 16, 32) for back in (0, 1)]
    return np.unique([0, k - 1, *(end for end in ends if end > 0)])


def _sparse(case, which, make):
    """One operand is a fill with some points, most of them where a 32-bit offset goes wrong."""
    m, n, k = case["m"], case["n"], case["k"]
    tall = case["special"] == "tall"
    shape = (m, k) if tall else (k, n)
    fill = (1.0, -0.5, 0.75)[which]
    size = shape[0] * shape[1]
    anywhere, beyond = make.integers((200,), 0, size), make.integers((100,), 2**31, size)
    at = np.concatenate([anywhere, beyond, [0, 2**31 - 1, 2**31, size - 1]])
    values = make.integers(at.shape, 100, 1000) * (2.0 * make.integers(at.shape, 0, 2) - 1)
    large = make.sparse(shape, fill, dict(zip(at.tolist(), values.tolist(), strict=True)))
    vector = make.tensor(_values((k, n) if tall else (m, k), which, make))
    return [large, vector] if tall else [vector, large]


def _sparse_reference(case, which, arguments):
    tall = case["special"] == "tall"
    large, vector = arguments if tall else arguments[::-1]
    weight = vector.values.astype(np.float64).reshape(-1)
    answer = np.full(case["m"] * case["n"], large.gap * weight.sum())
    scale = np.full(answer.shape, abs(large.gap) * np.abs(weight).sum())
    for index, value in large.points.items():
        first, second = divmod(index, large.shape[1])
        at, p = (first, second) if tall else (second, first)
        answer[at] += (value - large.gap) * weight[p]
        scale[at] += (abs(value) - abs(large.gap)) * abs(weight[p])
    shape = (case["m"], case["n"])
    return Scaled(answer.reshape(shape), (case["k"] * scale * (which != 0)).reshape(shape))  # noqa: F821
