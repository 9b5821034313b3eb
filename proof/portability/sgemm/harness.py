"""The cases of sgemm and their float64 reference.

The CUDA kernel in the base task multiplies in full float32 and adds one product after the other, so the
product is judged as closely as that allows, relative to the sum of the products' magnitudes. Rows of a and
columns of b have other magnitudes each, by powers of two over a range of 2^40: a tolerance for the whole
matrix would hide all rows but the largest, and this scale hides none.

The values have both signs. No input has an infinity or NaN.
"""

import numpy as np


def inputs(case, which, make):
    """Two matrices. Case parameters: m, n, k."""
    m, n, k = case["m"], case["n"], case["k"]
    rows = np.exp2(make.integers((m, 1), -10, 11))
    cols = np.exp2(make.integers((1, n), -10, 11))
    a = make.normal((m, k)) * rows
    b = make.normal((k, n)) * cols
    return [make.tensor(a.astype(np.float32)), make.tensor(b.astype(np.float32))]


def reference(case, which, arguments):
    """The product; the scale is that of the magnitudes."""
    a, b = (argument.values.astype(np.float64) for argument in arguments)
    return Scaled(a @ b, np.abs(a) @ np.abs(b))  # noqa: F821 (the judge's)
