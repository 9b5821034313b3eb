"""From a worker's claims and bytes to the outcome of a cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, StringConstraints

from bundler.judge.compare import Agreement, Array, compare, decode
from bundler.model.base import Frozen
from bundler.model.experiment import Experiment, Returned
from bundler.model.outcome import Failed, Mark, NotRun, Outcome, Passed, Phase, Shown, Unstable, Why, Wrong

MAX_OUTPUTS = 17
"""One more than an experiment can ask for."""


class Raised(Frozen):
    """An exception, as a worker describes it."""

    phase: Phase
    errors: tuple[tuple[Shown, Shown], ...] = Field(min_length=1, max_length=8)
    resource: Literal["out-of-memory", "out-of-resources", "grid-too-large"] | None = None

    def outcome(self) -> Failed:
        text = " ← ".join(f"{name}: {text}" for name, text in self.errors)
        return Failed(phase=self.phase, error=text[:2000], resource=self.resource)


class ReturnedClaim(Frozen):
    """One thing that a candidate returned, as its worker describes it."""

    type: Shown
    dtype: Shown = ""
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    device: Shown = ""
    bytes: int = 0


class CallClaim(Frozen):
    """One call."""

    raised: Raised | None
    outputs: tuple[ReturnedClaim, ...] = Field((), max_length=MAX_OUTPUTS)
    sent: bool = False
    launches: int = 0
    inputs_changed: bool = False


MAX_TUNED = 64
_TunedName = Annotated[str, StringConstraints(max_length=100)]
_Configuration = Annotated[str, StringConstraints(max_length=300)]


class CellClaim(Frozen):
    """A worker's answer to the request for one cell."""

    calls: tuple[CallClaim, ...] = Field(min_length=1)
    tuned: dict[_TunedName, _Configuration] = Field({}, max_length=MAX_TUNED)
    unusable: bool = False


@dataclass(frozen=True)
class Reference:
    """What the outputs of one set should be: float64 or int64 arrays, one for each returned tensor."""

    arrays: tuple[Array, ...]

    def bytes_as(self, returned: tuple[Returned, ...]) -> int:
        """How many bytes a right answer has."""
        sizes = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "int8": 1, "uint8": 1, "bool": 1}
        return sum(a.size * sizes.get(r.dtype, 2) for a, r in zip(self.arrays, returned, strict=True))


@dataclass(frozen=True)
class _Call:
    """One call, judged: wrong in form, or compared element by element."""

    which: int
    outputs: tuple[Array, ...]
    agreements: tuple[Agreement, ...]
    wrong: Wrong | None


def judge_cell(
    experiment: Experiment, plan: tuple[int, ...], claim: CellClaim, payload: memoryview,
    references: tuple[Reference, ...],
) -> Outcome:  # fmt: skip
    """The outcome of a cell whose worker answered.

    ``references`` has one entry for each set. Raises ValueError when the claim does not fit the request:
    other calls than were asked for, or a payload that the descriptions do not add up to.
    """
    calls: list[_Call] = []
    for index, call in enumerate(claim.calls):
        if index >= len(plan):
            raise ValueError(f"{len(claim.calls)} calls were answered, {len(plan)} asked for")
        if call.raised is not None:
            return _raised(call.raised, calls)
        taken, payload = _take(call, payload)
        calls.append(_judge_call(index, plan[index], experiment, call, taken, references[plan[index]]))
    if len(calls) != len(plan) or payload.nbytes:
        raise ValueError(f"{len(calls)} of {len(plan)} calls were answered, {payload.nbytes} bytes left over")
    return _combine(experiment, calls, claim)


def _raised(raised: Raised, before: list[_Call]) -> Outcome:
    wrong = next((call.wrong for call in before if call.wrong), None)
    return wrong or raised.outcome()


def _take(call: CallClaim, payload: memoryview) -> tuple[list[memoryview], memoryview]:
    """Cut this call's outputs off the payload."""
    parts = []
    for output in call.outputs if call.sent else ():
        if output.bytes < 0 or output.bytes > payload.nbytes:
            raise ValueError(f"an output of {output.bytes} bytes, {payload.nbytes} are there")
        parts.append(payload[: output.bytes])
        payload = payload[output.bytes :]
    return parts, payload


def _judge_call(
    index: int,
    which: int,
    experiment: Experiment,
    call: CallClaim,
    parts: list[memoryview],
    reference: Reference,
) -> _Call:
    wrong = _wrong_form(index, experiment.returns, call, reference)
    if wrong is not None:
        return _Call(which, (), (), wrong)
    outputs, agreements = [], []
    for part, returned, expected in zip(parts, experiment.returns, reference.arrays, strict=True):
        output = decode(part, returned.dtype, expected.shape)
        outputs.append(output)
        agreements.append(compare(output, expected, returned.dtype, returned.compare))
        wrong = wrong or _wrong_values(index, returned, agreements[-1], len(experiment.returns) > 1)
    if wrong is None and experiment.own_kernel == "required" and call.launches == 0 and outputs[0].size:
        wrong = Wrong(what="no-own-kernel", call=index, detail=Mark.NO_OWN_KERNEL)
    return _Call(which, tuple(outputs), tuple(agreements), wrong)


def _wrong_form(
    index: int, returns: tuple[Returned, ...], call: CallClaim, reference: Reference
) -> Wrong | None:
    """Count, type, dtype, shape, device and layout, before any value is looked at."""

    def wrong(
        what: Literal["count", "type", "dtype", "shape", "device", "layout", "size"], detail: str
    ) -> Wrong:
        return Wrong(what=what, call=index, detail=detail)

    if len(call.outputs) != len(returns):
        return wrong("count", f"returned {len(call.outputs)} values, not {len(returns)}")
    for output, returned, expected in zip(call.outputs, returns, reference.arrays, strict=True):
        name = returned.name
        if output.type != "torch.Tensor":
            return wrong("type", f"{name} is a {output.type}, not a torch.Tensor")
        if output.dtype != returned.dtype:
            return wrong("dtype", f"{name} is {output.dtype}, not {returned.dtype}")
        if output.shape != expected.shape:
            return wrong("shape", f"{name} has shape {output.shape}, not {expected.shape}")
        if output.device != "cuda":
            return wrong("device", f"{name} is on {output.device}, not on the GPU")
        if returned.contiguous and not _is_contiguous(output.shape, output.strides):
            return wrong("layout", f"{name} has strides {output.strides}, which is not contiguous")
    if not call.sent or sum(o.bytes for o in call.outputs) != reference.bytes_as(returns):
        return wrong("size", "the output's bytes do not match its shape")
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


def _wrong_values(index: int, returned: Returned, agreement: Agreement, named: bool) -> Wrong | None:
    if not agreement.wrong:
        return None
    detail = f"{agreement.wrong} of {agreement.elements} elements; "
    detail += f"{returned.name}{agreement.worst}" if named else f"out{agreement.worst}"
    return Wrong(
        what="values",
        call=index,
        detail=detail,
        wrong_elements=agreement.wrong,
        of_elements=agreement.elements,
        nan_elements=agreement.nan or None,
        error=agreement.error,
    )


def _combine(experiment: Experiment, calls: list[_Call], claim: CellClaim) -> Outcome:
    """All calls as one outcome: the first call on each set decides, a later one can only make it unstable."""
    marks = _marks(claim)
    firsts = {call.which: call for call in reversed(calls)}
    wrongs = [call for call in calls if call.wrong]
    for call in calls:
        first = firsts[call.which]
        if call.wrong is not None and (call is first or first.wrong is not None):
            extra = _when(calls, wrongs)
            return call.wrong.model_copy(update={"marks": (*marks, *extra)})
        if call.wrong is not None:
            return Unstable(
                detail=f"call {call.wrong.call} on values that were right before: {call.wrong.detail}"
            )
        if disagreement := _disagreement(experiment, first, call):
            return Unstable(detail=disagreement)
    errors = [a.error for call in calls for a in call.agreements if a.error is not None]
    if any(not _same_bits(firsts[call.which], call) for call in calls):
        marks = (*marks, Mark.NOT_BITWISE_STABLE)
    return Passed(marks=marks, error=max(errors, default=None))


def _marks(claim: CellClaim) -> tuple[Mark, ...]:
    marks = []
    if any(call.launches == 0 and any(o.bytes for o in call.outputs) for call in claim.calls):
        marks.append(Mark.NO_OWN_KERNEL)
    if any(call.inputs_changed for call in claim.calls):
        marks.append(Mark.INPUT_CHANGED)
    return tuple(marks)


def _when(calls: list[_Call], wrongs: list[_Call]) -> tuple[Mark, ...]:
    if len(calls) > 1 and len(wrongs) == 1 and wrongs[0] is calls[0]:
        return (Mark.FIRST_CALL_ONLY,)
    return (Mark.LATER_CALLS_ONLY,) if calls[0].wrong is None else ()


def _same_bits(first: _Call, call: _Call) -> bool:
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(first.outputs, call.outputs, strict=True))


def _disagreement(experiment: Experiment, first: _Call, call: _Call) -> str:
    """Where two right answers to the same values are further apart than the tolerance allows."""
    if call is first or _same_bits(first, call):
        return ""
    for a, b, returned in zip(first.outputs, call.outputs, experiment.returns, strict=True):
        between = compare(b, a, returned.dtype, returned.compare)
        if between.wrong:
            return f"two calls on the same values disagree in {between.wrong} elements: out{between.worst}"
    return ""


def no_memory(detail: str) -> NotRun:
    """The inputs did not fit: the judge's shortage, never the candidate's failure."""
    return NotRun(why=Why.NO_MEMORY, detail=detail)
