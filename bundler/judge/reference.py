"""The right answer to one set of a case, as the harness gives it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bundler.judge.compare import INTEGRAL, Array
from bundler.model.experiment import Comparison, Experiment, NanRule, Returned

_ITEM_BYTES = {
    "float64": 8, "int64": 8, "float32": 4, "int32": 4, "int8": 1, "uint8": 1, "bool": 1,
    "float8_e4m3fn": 1, "float8_e5m2": 1,
}  # fmt: skip


@dataclass(frozen=True)
class Reference:
    """What the answer to one set should be: float64 or int64 arrays, one for each returned tensor and then
    one for each derived array."""

    arrays: tuple[Array, ...]
    scales: tuple[Array | None, ...] = ()
    """For the absolute tolerance; None, or no entry, is 1."""

    def bytes_as(self, returned: tuple[Returned, ...]) -> int:
        """How many bytes a right answer has."""
        pairs = zip(self.arrays, returned, strict=False)
        return sum(array.size * _ITEM_BYTES.get(each.dtype, 2) for array, each in pairs)

    def scale(self, index: int) -> Array | float:
        """The scale of one array's absolute tolerance."""
        found = self.scales[index] if self.scales else None
        return 1.0 if found is None else found


def unreachable(experiment: Experiment, reference: Reference) -> str:
    """The first element that no candidate can be right in, in words: empty where there is none."""
    rules: list[tuple[str, str, Comparison | None]] = [
        *((each.name, each.dtype, each.compare) for each in experiment.returns),
        *((each.name, "", each.compare) for each in experiment.derived),
    ]
    for (name, dtype, rule), array in zip(rules, reference.arrays, strict=True):
        never = _never(array, dtype, rule)
        if never.any():
            at = np.unravel_index(int(np.argmax(never)), never.shape)
            why = f"is returned as {dtype}" if dtype in INTEGRAL else "NaN is forbidden"
            return f"{name}[{', '.join(map(str, map(int, at)))}] is {array[at]!s}, and {why}"
    return ""


def _never(array: Array, dtype: str, rule: Comparison | None) -> Array:
    if dtype not in INTEGRAL or rule is None:
        return np.isnan(array) & (rule is not None and rule.nan is NanRule.FORBIDDEN)
    least, most = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    whole = array.dtype.kind == "i" or np.floor(array) == array
    return np.asarray(~(whole & (array >= least) & (array <= most)))


class NotDerived(Exception):
    """Of what a call returned nothing can be derived, though something can of the right answer."""


Derive = Callable[[int, tuple[Array, ...]], tuple[Array, ...]]
"""The harness's ``derive``: the set's index and a call's returned tensors, decoded; one array for each of
``Experiment.derived``, each with the shape of its reference. It may raise NotDerived."""
