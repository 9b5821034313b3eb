"""The cases of ragged_row_sum and their float64 reference.

Row r holds values[offsets[r]] ... values[offsets[r + 1] - 1]; out[r] is its sum where active[r] is not 0, and 0
where it is. That also says what an empty row gives: the sum of nothing, 0.

A case has three sets, with the same lengths in another order of rows:

0. Whole numbers of -8 to 8 without 0. Every partial sum, in any order, is a whole number below 2^24, which
   float32 holds exactly, so the answer has to be equal (scale 0): one value that is dropped, doubled or taken from
   a neighbour shows, also among 500,000.
1. Normal values, each row by another power of two.
2. Positive values near 1, whose sum grows, so that rounding is at its worst.

For sets 1 and 2 the scale of a row of n values is (ceil(n / 32) + 5) * sum |v|: the task asks for one warp a
row and for shuffles, so a value passes through at most ceil(n / 32) additions in its lane and 5 in the shuffles.

Inactive rows are full of NaN (sets 0 and 2) or +inf (set 1). So is what is before the first row and behind the
last one, which no row holds: offsets[0] is 3, not 0. A byte of active that is not 0 is 1, 255, 2 or 128.
"""

import numpy as np

BEFORE, BEHIND = 3, 5
"""Values that no row holds. An odd BEFORE also keeps every row from beginning where a vector load could."""
LENGTHS = (129, 0, 33, 0, 1, 0, 5, 31, 0, 32, 2, 0, 257, 0, 127, 64, 0, 128, 0, 1000, 63, 0, 96, 300)
TRUE = (1, 255, 2, 128)


def inputs(case, which, make):
    """values, offsets and active. Case parameters: rows, kind (see _lengths and _active), longest."""
    rows = case["rows"]
    lengths = np.roll(_lengths(case), which)
    active = _active(case, which)
    offsets = BEFORE + np.concatenate([[0], np.cumsum(lengths)])
    row_of = np.repeat(np.arange(rows), lengths)
    poison = np.inf if which == 1 else np.nan
    inside = np.where(active[row_of] != 0, _values(row_of, which, make), poison)
    values = np.concatenate([np.full(BEFORE, poison), inside, np.full(BEHIND, poison)])
    return [make.tensor(values), make.tensor(offsets, dtype="int32"), make.tensor(active, dtype="uint8")]


def reference(case, which, arguments):
    """The sum of each active row in float64, and the scale of its tolerance."""
    values, offsets, active = (t.values for t in arguments)
    total, scale = np.zeros(case["rows"]), np.zeros(case["rows"])
    for r in np.flatnonzero(active):
        row = values[offsets[r] : offsets[r + 1]].astype(np.float64)
        total[r] = row.sum()
        if which != 0:
            scale[r] = (-(-row.size // 32) + 5) * np.abs(row).sum()
    return Scaled(total, scale)  # noqa: F821 (the judge's)


def _lengths(case):
    """empty: no row has a value. Else mixed, many of them empty, and the longest, if there is one, in the middle."""
    rows = case["rows"]
    if case["kind"] == "empty":
        return np.zeros(rows, dtype=np.int64)
    lengths = np.resize(np.asarray(LENGTHS), rows)
    if case["longest"]:
        lengths[rows // 2] = case["longest"]
    return lengths


def _active(case, which):
    """Which byte each row has. inactive: two rows of three are 0, and which they are changes from set to set.
    all-inactive: all are. Else one row of five is, never the longest.
    """
    rows = case["rows"]
    shifted = (np.arange(rows) - which) % rows  # where the row was before the lengths were moved
    flags = np.asarray(TRUE)[(shifted + which) % 4]
    if case["kind"] == "all-inactive":
        return np.zeros_like(flags)
    if case["kind"] == "inactive":
        return np.where((shifted + which) % 3 == 0, flags, 0)
    off = (shifted % 5 == 2) & (shifted != rows // 2 if case["longest"] else True)
    return np.where(off, 0, flags)


def _values(row_of, which, make):
    if which == 0:
        return make.integers(row_of.shape, 1, 9) * (2.0 * make.integers(row_of.shape, 0, 2) - 1)
    if which == 1:
        return make.normal(row_of.shape) * np.exp2(4.0 * (row_of % 9) - 16)
    return make.uniform(row_of.shape, 0.5, 1.5)
