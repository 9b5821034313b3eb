"""Ports held against the kernel that they port, beside the reference: where both ran on the same values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bundler.judge.claims import CellClaim
from bundler.judge.compare import compare, decode
from bundler.judge.reference import Reference
from bundler.model.experiment import Case, Experiment
from bundler.model.outcome import Outcome, Passed, Wrong

MAX_BYTES = 512 << 20
"""How much of the source's outputs is kept; cases beyond that are not compared."""


@dataclass
class SourceOutputs:
    """What the source kernel returned, by case: the first call on each set. The source has to run first."""

    _kept: dict[str, dict[int, list[bytes]]] = field(default_factory=dict)
    _bytes: int = 0

    def keep(
        self, case: Case, outcome: Outcome, plan: Sequence[int], claim: CellClaim, payload: memoryview
    ) -> None:
        """Keep the source's outputs of a cell that passed: a wrong source says nothing of a port."""
        if not isinstance(outcome, Passed) or self._bytes + payload.nbytes > MAX_BYTES:
            return
        firsts = {which: [bytes(part) for part in parts] for which, parts in _firsts(plan, claim, payload)}
        self._kept[case.id] = firsts
        self._bytes += sum(len(part) for parts in firsts.values() for part in parts)

    def held(
        self,
        experiment: Experiment,
        case: Case,
        outcome: Outcome,
        plan: Sequence[int],
        claim: CellClaim,
        payload: memoryview,
        references: Sequence[Reference],
    ) -> Outcome:
        """The outcome of a port's cell, with how many elements are further from the source's than allowed."""
        kept = self._kept.get(case.id)
        compared = isinstance(outcome, Passed) or (isinstance(outcome, Wrong) and outcome.what == "values")
        if kept is None or not compared:
            return outcome
        differing = 0
        for which, parts in _firsts(plan, claim, payload):
            if which not in kept or list(map(len, parts)) != list(map(len, kept[which])):
                return outcome
            differing += _differing(experiment, references[which], parts, kept[which])
        return outcome.model_copy(update={"differs_from_source": differing})


def _firsts(plan: Sequence[int], claim: CellClaim, payload: memoryview) -> list[tuple[int, list[memoryview]]]:
    """The outputs of the first call on each set."""
    found: dict[int, list[memoryview]] = {}
    for which, call in zip(plan, claim.calls, strict=False):
        parts = []
        for output in call.outputs if call.sent else ():
            parts.append(payload[: output.bytes])
            payload = payload[output.bytes :]
        found.setdefault(which, parts)
    return list(found.items())


def _differing(
    experiment: Experiment, reference: Reference, parts: Sequence[memoryview], source: Sequence[bytes]
) -> int:
    """Elements beyond the rule's tolerance of the source's, over the tensors that a rule compares."""
    wrong = 0
    for index, (returned, mine, its) in enumerate(zip(experiment.returns, parts, source, strict=False)):
        if returned.compare is None:
            continue
        shape = reference.arrays[index].shape
        ours, theirs = decode(mine, returned.dtype, shape), decode(its, returned.dtype, shape)
        wrong += compare(ours, theirs, returned.dtype, returned.compare, reference.scale(index)).wrong
    return wrong
