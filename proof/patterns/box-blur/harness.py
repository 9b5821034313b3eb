"""The cases of box_blur and their float64 reference.

The blur is judged element by element against a tolerance that is relative to the mean magnitude of the
pixels in the window, so a faint pixel beside a bright one is held to the bright one's rounding, and one
that has no bright neighbour is not. In every image some pixels are about 2^20 times brighter than the
others: a kernel that keeps a running sum, adding the next pixel and subtracting the last, leaves the
rounding of the bright one behind.

No pixel is NaN or infinite. The gap of a sliced input is NaN: whatever is read outside the view shows.
"""

import numpy as np

BRIGHT = 2.0**20
POOL = 1_000_003
"""Values are drawn once and repeated; a prime, so that no two neighbouring images agree."""


def inputs(case, which, make):
    """One batch of images. Case parameters: batch, height, width, layout."""
    shape = (case["batch"], case["height"], case["width"])
    size = int(np.prod(shape))
    values = make.normal((min(size, POOL),)) + 1.5
    values[which % 7 :: 41] *= BRIGHT
    return [make.tensor(np.resize(values, shape).astype(np.float32), layout=case["layout"], gap=float("nan"))]


def reference(case, which, arguments):
    """The mean over the window as the image's edge cuts it off; the scale is the mean of the magnitudes."""
    x = arguments[0].values.astype(np.float64)
    count = _window(np.ones((1, *x.shape[1:])))
    return Scaled(_window(x) / count, _window(np.abs(x)) / count)  # noqa: F821 (the judge's)


def _window(x):
    """The sum over each 3x3 window; pixels outside the image count as 0."""
    for axis in (1, 2):
        total = x.copy()
        if x.shape[axis] > 1:
            lower = [slice(None)] * 3
            upper = [slice(None)] * 3
            lower[axis], upper[axis] = slice(None, -1), slice(1, None)
            total[tuple(lower)] += x[tuple(upper)]
            total[tuple(upper)] += x[tuple(lower)]
        x = total
    return x
