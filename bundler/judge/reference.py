"""The right answer to one set of a case, as the harness gives it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bundler.judge.compare import Array
from bundler.model.experiment import Returned

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


Derive = Callable[[int, tuple[Array, ...]], tuple[Array, ...]]
"""The harness's ``derive``: the set's index and a call's returned tensors, decoded; one array for each of
``Experiment.derived``, each with the shape of its reference."""
