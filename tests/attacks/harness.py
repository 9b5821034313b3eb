"""affine: out = 2 * x + y, elementwise, float32.

The values of every set are drawn anew. Doubling is exact, so the float64 answer rounded once is what a
right kernel gives, fused or not.
"""


def inputs(case, which, make):
    """Two vectors of ``n`` elements."""
    return [make.tensor(make.normal((case["n"],))), make.tensor(make.normal((case["n"],)))]


def reference(case, which, arguments):
    """In float64, from the values as float32 holds them."""
    x, y = arguments
    return 2.0 * x.values.astype("f8") + y.values
