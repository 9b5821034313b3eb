"""The cases of attention and their float64 reference.

    s[i, j] = q[i] . k[j] / sqrt(dim)         out[i] = sum over j of softmax(s[i])[j] v[j]

With causal=True the last query sees every key, the one before it all but the last, and so on: query i sees
the keys j <= i + (seq_kv - seq_q). The base task does not say what a query gives that sees none, so there is no
such query here. It names heads_q and heads_kv apart and does not say how query heads share key heads, so they are
either as many or all share the one that there is.

Each element has its own tolerance; `_scale` says what it is made of.
"""

import numpy as np

UNIT = 2.0**-11
"""Half a unit in the last place of a float16, relative: what rounding to it may change."""
AT_A_TIME = 1 << 22
"""Scores that the reference holds at once."""
LAYOUTS = {"mixed": ("contiguous", "transposed", "sliced")}
"""Of q, k and v; every other name stands for the three of them."""


def inputs(case, which, make):
    """q, k, v and causal. Case parameters: batch, heads_q, heads_kv, seq_q, seq_kv, dim, mask, layout."""
    query = (case["batch"], case["heads_q"], case["seq_q"], case["dim"])
    keys = (case["batch"], case["heads_kv"], case["seq_kv"], case["dim"])
    q, k, v = (make.normal(shape) for shape in (query, keys, keys))
    # Later keys have the larger scores in one set and the smaller ones in another: the maximum then grows
    # from tile to tile, or not at all. In the third the scores reach +-200 and few keys have all the weight.
    ramp = np.linspace(0.2, 2.0, case["seq_kv"])[:, None]
    k = (k * ramp, k * ramp[::-1], 4 * k)[which % 3]
    q = q * (1.0, 2.0, 4.0)[which % 3]
    # A mean that is not 0, or a row that is scaled wrongly would differ by little from one that is right.
    v = v + (1.0, -0.5, 0.0)[which % 3]
    layouts = LAYOUTS.get(case["layout"], (case["layout"],) * 3)
    tensors = [make.tensor(t, dtype="float16", layout=at) for t, at in zip((q, k, v), layouts, strict=True)]
    return [*tensors, case["mask"] == "causal"]


def reference(case, which, arguments):
    """The right answer with its scale, a few batches at a time."""
    q, k, v = (argument.values.astype(np.float64) for argument in arguments[:3])
    scores = case["heads_q"] * case["seq_q"] * case["seq_kv"]
    step = max(1, AT_A_TIME // scores)
    parts = [
        _attend(q[at : at + step], k[at : at + step], v[at : at + step], arguments[3])
        for at in range(0, case["batch"], step)
    ]
    values, scale = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return Scaled(values, scale)  # noqa: F821 (a harness is given it)


def _attend(q, k, v, causal):
    """The answer and its scale, of (batch, heads_q, seq_q, dim) each."""
    batch, heads_q, seq_q, dim = q.shape
    heads_kv, seq_kv = k.shape[1:3]
    q = q.reshape(batch, heads_kv, heads_q // heads_kv, seq_q, dim)
    k, v = k[:, :, None], v[:, :, None]
    turned = np.swapaxes(k, -1, -2)
    scores = q @ turned / np.sqrt(dim)
    magnitude = (np.abs(q) @ np.abs(turned)).max(axis=-1, keepdims=True) / np.sqrt(dim)
    visible = np.ones((seq_q, seq_kv), dtype=bool)
    if causal:
        visible = np.arange(seq_kv) <= np.arange(seq_q)[:, None] + (seq_kv - seq_q)
    scores = np.where(visible, scores, -np.inf)
    most = scores.max(axis=-1, keepdims=True)
    p = np.exp(scores - np.where(np.isneginf(most), 0.0, most))
    total = p.sum(axis=-1, keepdims=True)
    total = np.where(total == 0, 1.0, total)
    scale = _scale(p @ np.abs(v) / total, visible @ np.abs(v) / total, magnitude)
    out = p @ v / total
    alive = visible.any(axis=-1)[:, None]
    return out.reshape(batch, heads_q, seq_q, dim), (scale * alive).reshape(batch, heads_q, seq_q, dim)


def _scale(weighted, unweighted, magnitude):
    """What an element's error is measured in; atol is half a unit of float16, 2^-11, for each.

    weighted: sum of p |v|. A kernel may round p to float16 for its second product: 2^-11 of each term. Beside
        that p is off by what the score is: float32 sums of |q| |k| terms in some order, and the scaling to
        base 2, are off by 8 * 2^-23 of the magnitude, in the numerator and in the denominator.
    unweighted: sum of |v| over the visible keys. Below 2^-14 the rounding of p is absolute, 2^-25.
    The last: so is the rounding of a result below 2^-14.
    """
    exponent = 2 * 8 * 2.0**-23 * magnitude
    return weighted * (1 + exponent / UNIT) + 2.0**-14 * unweighted + 2.0**-14
