"""From a worker's claims and bytes to the outcome of a cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bundler.judge.claims import CallClaim, CellClaim, Raised
from bundler.judge.compare import Agreement, Array, compare, decode
from bundler.judge.form import wrong_form
from bundler.judge.reference import Derive, NotDerived, Reference
from bundler.model.experiment import Comparison, Experiment
from bundler.model.outcome import Mark, NotRun, Outcome, Passed, Unstable, Why, Wrong


@dataclass(frozen=True)
class _Judged:
    """One array of an answer and the rule that it is held against."""

    name: str
    index: int
    """In the reference."""
    dtype: str
    rule: Comparison

    def compare(self, array: Array, expected: Array, reference: Reference) -> Agreement:
        return compare(array, expected, self.dtype, self.rule, reference.scale(self.index))


@dataclass(frozen=True)
class _Call:
    """One call: wrong in form, or compared element by element."""

    which: int
    parts: tuple[Array, ...] = ()
    """The bytes of what was returned."""
    arrays: tuple[Array, ...] = ()
    """What was compared, in the order of ``_judged``."""
    agreements: tuple[Agreement, ...] = ()
    wrong: Wrong | None = None

    def same_bits(self, parts: tuple[Array, ...]) -> bool:
        return len(parts) == len(self.parts) and all(map(np.array_equal, self.parts, parts))


def judge_cell(
    experiment: Experiment, plan: tuple[int, ...], claim: CellClaim, payload: memoryview,
    references: tuple[Reference, ...], derive: Derive | None = None,
) -> Outcome:  # fmt: skip
    """The outcome of a cell whose worker answered.

    ``references`` has one entry for each set; ``derive`` is needed where the experiment has derived arrays,
    and what it raises beside NotDerived goes on. Raises ValueError when the claim does not fit the request:
    other calls than were asked for, or a payload that the descriptions do not add up to.
    """
    calls: list[_Call] = []
    judge = _Judge(experiment, references, derive)
    for index, call in enumerate(claim.calls):
        if index >= len(plan):
            raise ValueError(f"{len(claim.calls)} calls were answered, {len(plan)} asked for")
        if call.raised is not None:
            return _raised(call.raised, calls)
        taken, payload = _take(call, payload)
        calls.append(judge.call(index, plan[index], call, taken))
    if len(calls) != len(plan) or payload.nbytes:
        raise ValueError(f"{len(calls)} of {len(plan)} calls were answered, {payload.nbytes} bytes left over")
    return _combine(judge.rules, references, calls, claim)


def judge_arrays(
    experiment: Experiment, answers: Sequence[tuple[Array, ...]], references: tuple[Reference, ...]
) -> Passed | Wrong:
    """Arrays that no worker made, one tuple for each set, under the experiment's rules: a cross-check's.

    Raises ValueError when they have another number or other shapes than the reference.
    """
    rules = _judged(experiment, references[0])
    errors: list[float] = []
    for index, (arrays, reference) in enumerate(zip(answers, references, strict=True)):
        if [a.shape for a in arrays] != [a.shape for a in reference.arrays]:
            raise ValueError("its arrays are not shaped as the reference's")
        for each in rules:
            expected = reference.arrays[each.index]
            agreement = each.compare(arrays[each.index], expected, reference)
            if wrong := _wrong_values(index, each.name, agreement):
                return wrong
            errors += [] if agreement.error is None else [agreement.error]
    return Passed(error=max(errors, default=None))


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


def _judged(experiment: Experiment, reference: Reference) -> tuple[_Judged, ...]:
    """The arrays of an answer that are compared: what is returned, then what is derived."""
    alone = len(experiment.returns) + len(experiment.derived) == 1
    returned = tuple(
        _Judged("out" if alone else each.name, index, each.dtype, each.compare)
        for index, each in enumerate(experiment.returns)
        if each.compare is not None
    )
    first = len(experiment.returns)
    derived = tuple(
        _Judged(each.name, index, _kind(reference.arrays[index]), each.compare)
        for index, each in enumerate(experiment.derived, first)
    )
    return returned + derived


def _kind(array: Array) -> str:
    return "int64" if array.dtype.kind in "iu" else "float64"


class _Judge:
    """Judges the calls of one cell. Bits that were judged before, on the same set, are not judged again."""

    def __init__(
        self, experiment: Experiment, references: tuple[Reference, ...], derive: Derive | None
    ) -> None:
        self._experiment = experiment
        self._references = references
        self._derive = derive
        self._known: dict[int, _Call] = {}
        self.rules = _judged(experiment, references[0])

    def call(self, index: int, which: int, claim: CallClaim, data: list[memoryview]) -> _Call:
        wrong = self._wrong_form(index, which, claim)
        if wrong is not None:
            return _Call(which, wrong=wrong)
        parts = tuple(np.frombuffer(part, dtype=np.uint8) for part in data)
        known = self._known.get(which)
        if known is None or not known.same_bits(parts):
            try:
                known = self._compare(which, parts)
            except NotDerived as why:
                return _Call(which, parts, wrong=Wrong(what="values", call=index, detail=str(why)))
            self._known.setdefault(which, known)
        return replace(known, wrong=self._wrong(index, claim, known))

    def _wrong_form(self, index: int, which: int, claim: CallClaim) -> Wrong | None:
        reference, returns = self._references[which], self._experiment.returns
        wrong = wrong_form(index, returns, claim.outputs, [array.shape for array in reference.arrays])
        if wrong is None and not (
            claim.sent and sum(o.bytes for o in claim.outputs) == reference.bytes_as(returns)
        ):
            return Wrong(what="size", call=index, detail="the output's bytes do not match its shape")
        return wrong

    def _compare(self, which: int, parts: tuple[Array, ...]) -> _Call:
        reference = self._references[which]
        returned = tuple(
            decode(part.tobytes(), each.dtype, expected.shape)
            for part, each, expected in zip(parts, self._experiment.returns, reference.arrays, strict=False)
        )
        derived = self._derive(which, returned) if self._derive and self._experiment.derived else ()
        arrays = tuple((*returned, *derived)[each.index] for each in self.rules)
        agreements = tuple(
            each.compare(array, reference.arrays[each.index], reference)
            for each, array in zip(self.rules, arrays, strict=True)
        )
        return _Call(which, parts, arrays, agreements)

    def _wrong(self, index: int, claim: CallClaim, call: _Call) -> Wrong | None:
        for each, agreement in zip(self.rules, call.agreements, strict=True):
            if wrong := _wrong_values(index, each.name, agreement):
                return wrong
        anything = any(part.size for part in call.parts)
        if self._experiment.own_kernel == "required" and claim.launches == 0 and anything:
            return Wrong(what="no-own-kernel", call=index, detail=Mark.NO_OWN_KERNEL)
        return None


def _wrong_values(index: int, name: str, agreement: Agreement) -> Wrong | None:
    if not agreement.wrong:
        return None
    detail = f"{agreement.wrong} of {agreement.elements} elements; {name}{agreement.worst}"
    return Wrong(
        what="values",
        call=index,
        detail=detail,
        wrong_elements=agreement.wrong,
        of_elements=agreement.elements,
        nan_elements=agreement.nan or None,
        error=agreement.error,
    )


def _combine(
    rules: tuple[_Judged, ...], references: tuple[Reference, ...], calls: list[_Call], claim: CellClaim
) -> Outcome:
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
        if disagreement := _disagreement(rules, references[call.which], first, call):
            return Unstable(detail=disagreement)
    errors = [a.error for call in calls for a in call.agreements if a.error is not None]
    if any(not firsts[call.which].same_bits(call.parts) for call in calls):
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


def _disagreement(rules: tuple[_Judged, ...], reference: Reference, first: _Call, call: _Call) -> str:
    """Where two right answers to the same values are further apart than the tolerance allows."""
    if first.same_bits(call.parts):
        return ""
    for each, a, b in zip(rules, first.arrays, call.arrays, strict=True):
        between = each.compare(b, a, reference)
        if between.wrong:
            where = f"{each.name}{between.worst}"
            return f"two calls on the same values disagree in {between.wrong} elements: {where}"
    return ""


def no_memory(detail: str) -> NotRun:
    """The inputs did not fit: the judge's shortage, never the candidate's failure."""
    return NotRun(why=Why.NO_MEMORY, detail=detail)
