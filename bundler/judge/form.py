"""What a call returned, before any value is looked at: count, type, dtype, shape, device and layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from bundler.judge.claims import ReturnedClaim
from bundler.model.experiment import Returned
from bundler.model.outcome import Wrong


def wrong_form(
    index: int,
    returns: tuple[Returned, ...],
    outputs: tuple[ReturnedClaim, ...],
    shapes: Sequence[tuple[int, ...]],
) -> Wrong | None:
    """What is wrong with what call ``index`` returned; None when each tensor has the form that it must.

    ``shapes`` are those of the right answer, one for each of ``returns`` at least.
    """

    def wrong(what: Literal["count", "type", "dtype", "shape", "device", "layout"], detail: str) -> Wrong:
        return Wrong(what=what, call=index, detail=detail)

    if len(outputs) != len(returns):
        return wrong("count", f"returned {len(outputs)} values, not {len(returns)}")
    for output, returned, expected in zip(outputs, returns, shapes, strict=False):
        name = returned.name
        if output.type != "torch.Tensor":
            return wrong("type", f"{name} is a {output.type}, not a torch.Tensor")
        if output.dtype != returned.dtype:
            return wrong("dtype", f"{name} is {output.dtype}, not {returned.dtype}")
        if output.shape != expected:
            return wrong("shape", f"{name} has shape {output.shape}, not {expected}")
        if output.device != "cuda":
            return wrong("device", f"{name} is on {output.device}, not on the GPU")
        if returned.contiguous and not _is_contiguous(output.shape, output.strides):
            return wrong("layout", f"{name} has strides {output.strides}, which is not contiguous")
    return None


def _is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    if 0 in shape:
        return True
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True
