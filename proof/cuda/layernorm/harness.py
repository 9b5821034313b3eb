"""The cases of layernorm and their float64 reference.

    y = (x - mean) / sqrt(var + eps) * gamma + beta, with the mean and the population variance of each row

The reference takes x, gamma and beta as float32 has them: at a mean of 10000 neighbouring float32 values are
2^-10 apart, which with a deviation of 0.1 is a good part of the data. eps is rounded to float32 as well, since
the kernel's argument is one.

What float32 can be asked for. Let u = 2^-24, r = 1 / sqrt(var + eps), z = (x - mean) * r. The launch has 256
threads a row: one that adds up L = ceil(cols / 256) values loses up to u * L / 2 of its sum, and it does lose about
that where the values are alike, since every addition then rounds the same way. The tree and the division lose
up to u each; 2 * log2(min(cols, 256)) of them are more than there are. Together that is

    depth = (L - 1) / 2 + 2 * log2(min(cols, 256))

- The mean is off by up to u * depth * mean|x|. It moves every y of the row by gamma * t, with t = u * depth *
  mean|x| * r. This is the term that leads at means of 1000 and 10000, and no two plain passes escape it.
- Squares about a mean that is off are too large by t^2 of the variance: z loses the part 1 - 1 / sqrt(1 + t^2).
- The sum of the squares is off by u * depth of itself, z by half of that; the other operations round z a few times.

So the tolerance of an element is

    |gamma| * t  +  |gamma * z| * (1 - 1 / sqrt(1 + t^2))  +  u * (|gamma * z| * (8 + depth / 2) + 2 * |y|)

With one column depth is 0: the mean of one value is that value.

E[x^2] - E[x]^2 has another error: of the order of u * mean^2 in the variance, where it is not divided by anything
that is as large. At a mean of 1000 that is 0.06 or more, against a variance of 1 or 0.01.
"""

import numpy as np

U = 2.0**-24
"""Half the distance from 1 to the next float32: the relative error of one rounding."""
HEAD = 4096
"""In set 1 the two clusters of an odd row part here, or in its middle where the row is shorter than twice that."""
OUTLIER = 1000
"""In set 2 every odd row begins with a value that is so many deviations away."""


def inputs(case, which, make):
    """x, gamma and beta. Case parameters: rows, cols, mean, deviation, and eps, which the kernel is given.

    Set 0: normal values. Set 1: two clusters of values, and gamma from large to small; in odd rows one cluster has
    the first HEAD columns and the other the rest, so that the beginning of a long row says little about it. Set 2:
    every odd row begins with an outlier, so that x[0] is a bad value to measure all others from.
    """
    rows, cols, mean, deviation = case["rows"], case["cols"], case["mean"], case["deviation"]
    values = make.normal((rows, cols))
    if which == 1:
        upper = make.integers((rows, cols), 0, 2)
        upper[1::2] = np.arange(cols) < min(HEAD, cols // 2)
        values = 0.25 * values + (2.0 * upper - 1)
    if which == 2:
        values[1::2, 0] = OUTLIER
    # Rows differ in their mean and in its sign, so that the neighbour's statistics are wrong ones. Their means are
    # no round numbers, which float32 would add up with less rounding than others.
    center = mean * (1 + np.arange(rows) % 5 * 0.1237) * np.where(np.arange(rows) % 2, -1, 1)
    x = center[:, None] + deviation * values
    gamma = make.normal((cols,)) * np.exp2(make.integers((cols,), -6, 7) * (which == 1))
    return [make.tensor(x), make.tensor(gamma), make.tensor(make.normal((cols,)))]


def reference(case, which, arguments):
    """y in float64, and the scale of its tolerance."""
    x, gamma, beta = (t.values.astype(np.float64) for t in arguments)
    centred = x - x.mean(axis=1, keepdims=True)
    r = 1 / np.sqrt(np.square(centred).mean(axis=1, keepdims=True) + float(np.float32(case["eps"])))
    scaled = centred * r * gamma
    y = scaled + beta
    threads = min(case["cols"], 256)
    depth = (-(-case["cols"] // 256) - 1) / 2 + 2 * np.log2(threads)
    t = U * depth * np.abs(x).mean(axis=1, keepdims=True) * r
    tolerance = np.abs(gamma) * t + np.abs(scaled) * (1 - 1 / np.sqrt(1 + t * t))
    tolerance += U * (np.abs(scaled) * (8 + depth / 2) + 2 * np.abs(y))
    return Scaled(y, tolerance / U)  # noqa: F821 (the judge's)
