"""What a worker says of its candidate: the answer's types. Every field of them is a claim."""

from __future__ import annotations

from typing import Annotated

from pydantic import FailFast, Field, StringConstraints

from bundler.model.base import Frozen
from bundler.model.outcome import Failed, Phase, Resource, Shown

MAX_OUTPUTS = 17
"""One more than an experiment can ask for."""
_MAX_CALLS = 64
_Extents = Annotated[tuple[int, ...], FailFast(), Field(max_length=256)]
"""Of a tensor: a shape, or strides."""


class Raised(Frozen):
    """An exception, as a worker describes it."""

    phase: Phase
    errors: Annotated[tuple[tuple[Shown, Shown], ...], FailFast(), Field(min_length=1, max_length=8)]
    resource: Resource | None = None

    def outcome(self) -> Failed:
        text = " ← ".join(f"{name}: {text}" for name, text in self.errors)
        return Failed(phase=self.phase, error=text[:2000], resource=self.resource)


class ReturnedClaim(Frozen):
    """One thing that a candidate returned, as its worker describes it."""

    type: Shown
    dtype: Shown = ""
    shape: _Extents = ()
    strides: _Extents = ()
    device: Shown = ""
    bytes: int = 0


class CallClaim(Frozen):
    """One call."""

    raised: Raised | None
    outputs: Annotated[tuple[ReturnedClaim, ...], FailFast(), Field(max_length=MAX_OUTPUTS)] = ()
    sent: bool = False
    launches: int = 0
    inputs_changed: bool = False


MAX_TUNED = 64
_TunedName = Annotated[str, StringConstraints(max_length=100)]
_Configuration = Annotated[str, StringConstraints(max_length=300)]


class CellClaim(Frozen):
    """A worker's answer to the request for one cell."""

    calls: Annotated[tuple[CallClaim, ...], FailFast(), Field(min_length=1, max_length=_MAX_CALLS)]
    tuned: dict[_TunedName, _Configuration] = Field({}, max_length=MAX_TUNED)
    unusable: bool = False
