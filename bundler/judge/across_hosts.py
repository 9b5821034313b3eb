"""Evidence of several hosts held against each other: pure, cell by cell. Grounds are never mixed."""

from __future__ import annotations

import enum
import itertools
import string
from collections import Counter
from collections.abc import Iterator, Sequence

from bundler.errors import BadEvidence
from bundler.judge.cause import Cause, Seen, View, error_units, explain, ptx
from bundler.model.base import Frozen, Id
from bundler.model.evidence import Evidence, GroundName
from bundler.model.outcome import Passed, kind, ran


class Agreement(enum.StrEnum):
    """What several hosts say of one cell."""

    AGREE = "agree"
    DIFFER = "differ"
    ONE_HOST = "one host"
    """Only one host judged it, so there is nothing to hold it against."""
    NO_HOST = "no host"
    """No host judged it: its case is not for this ground, or what it needs was nowhere."""


class DifferingCell(Frozen):
    """A cell of which the hosts do not say the same, with the explanation as far as one can be told."""

    candidate: Id
    case: str
    seen: tuple[Seen, ...]
    """A host each, in the order of the hosts."""
    cause: Cause
    why: tuple[str, ...]
    """Sentences; texts of candidates in them are claims."""


class GroundAcross(Frozen):
    """One ground on all hosts."""

    ground: GroundName
    status: tuple[str, ...]
    """A host each: ``judged``, ``invalid``, ``not-available``, or ``not asked``."""
    agree: int = 0
    differ: int = 0
    one_host: int = 0
    no_host: int = 0
    ptx_same: int = 0
    """Compile grounds: cells whose kernels have the very same PTX on every host that compiled them."""
    ptx_other: int = 0
    cells: tuple[DifferingCell, ...] = ()


class Column(Frozen):
    """One host, as far as it decides what a cell gives."""

    label: str
    """What tables and sentences call it: A to Z, then by number."""
    source: str
    """The evidence's file."""
    gpu: str
    """Empty where the host has none."""
    architecture: str
    """``sm_90``; empty where there is no GPU or it was not read."""
    processor: str
    versions: dict[str, str]
    seed: int
    started: str
    complete: bool


class AcrossHosts(Frozen):
    """One experiment on several hosts."""

    experiment: Id
    hosts: tuple[Column, ...]
    grounds: tuple[GroundAcross, ...]

    def count(self, agreement: Agreement) -> int:
        """How many cells of all grounds have it."""
        return sum(getattr(ground, agreement.name.lower()) for ground in self.grounds)


def across_hosts(evidence: Sequence[tuple[str, Evidence]]) -> AcrossHosts:
    """``evidence``: at least two, each with its file's name.

    Raises BadEvidence when they are not of one subject, saying which part is another.
    """
    _same_subject(evidence)
    views = [View(_label(index), item) for index, (_, item) in enumerate(evidence)]
    grounds = list(dict.fromkeys(name for _, item in evidence for name in item.grounds))
    return AcrossHosts(
        experiment=evidence[0][1].subject.experiment,
        hosts=tuple(_column(view, source) for view, (source, _) in zip(views, evidence, strict=True)),
        grounds=tuple(_ground(name, views) for name in grounds),
    )


def _same_subject(evidence: Sequence[tuple[str, Evidence]]) -> None:
    for (first, one), (second, two) in itertools.combinations(evidence, 2):
        for part, a, b in _parts(one, two):
            if a != b:
                raise BadEvidence(
                    f"{first!r} and {second!r} are not of the same subject: {part} is another: {a} and {b}",
                    hint="compare evidence of one state of one experiment; "
                    "replay the older one again with: bundler verify --json",
                )


def _parts(one: Evidence, two: Evidence) -> Iterator[tuple[str, str, str]]:
    """What must be equal. A candidate that only one of them has is merely not seen by the other."""
    a, b = one.subject, two.subject
    yield "the experiment", a.experiment, b.experiment
    yield "the harness", a.harness, b.harness
    yield "what a case means (its parameters or the comparison rules)", a.cases, b.cases
    for candidate in a.candidates.keys() & b.candidates.keys():
        yield f"the candidate {candidate!r}", a.candidates[candidate], b.candidates[candidate]


def _label(index: int) -> str:
    return string.ascii_uppercase[index] if index < 26 else f"#{index + 1}"


def _column(view: View, source: str) -> Column:
    return Column(
        label=view.label,
        source=source,
        gpu=view.gpu,
        architecture=view.architecture,
        processor=view.processor,
        versions=view.versions("device" if view.gpu else "interpreter"),
        seed=view.evidence.settings.seed,
        started=view.evidence.started,
        complete=view.evidence.complete,
    )


def _ground(name: str, views: Sequence[View]) -> GroundAcross:
    counts: Counter[Agreement] = Counter()
    same = other = 0
    cells = []
    for candidate, case in _cells(name, views):
        found = _agreement(name, candidate, case, views)
        counts[found] += 1
        if found is Agreement.DIFFER:
            cells.append(_differing(name, candidate, case, views))
        made = [ptx(view, name, candidate, case) for view in views]
        if len(known := [kernels for kernels in made if kernels]) > 1:
            equal = len(set(known)) == 1
            same, other = same + equal, other + (not equal)
    return GroundAcross(
        ground=name,
        status=tuple(_status(view, name) for view in views),
        agree=counts[Agreement.AGREE],
        differ=counts[Agreement.DIFFER],
        one_host=counts[Agreement.ONE_HOST],
        no_host=counts[Agreement.NO_HOST],
        ptx_same=same,
        ptx_other=other,
        cells=tuple(cells),
    )


def _status(view: View, ground: str) -> str:
    report = view.evidence.grounds.get(ground)
    return report.status if report else "not asked"


def _cells(ground: str, views: Sequence[View]) -> Iterator[tuple[str, str]]:
    """Every cell that some host has, in the order of the first that has it."""
    seen: dict[tuple[str, str], None] = {}
    for view in views:
        report = view.evidence.grounds.get(ground)
        for candidate, row in (report.cells if report else {}).items():
            seen.update({(candidate, case): None for case in row})
    yield from seen


def _agreement(ground: str, candidate: str, case: str, views: Sequence[View]) -> Agreement:
    judged = [o for view in views if (o := view.judged(ground, candidate, case)) and ran(o)]
    if len(judged) < 2:
        return Agreement.ONE_HOST if judged else Agreement.NO_HOST
    return Agreement.AGREE if len({kind(o) for o in judged}) == 1 else Agreement.DIFFER


def _differing(ground: str, candidate: str, case: str, views: Sequence[View]) -> DifferingCell:
    cause, why = explain(ground, candidate, case, views)
    seen = tuple(_seen(view, ground, candidate, case) for view in views)
    return DifferingCell(candidate=candidate, case=case, seen=seen, cause=cause, why=why)


def _seen(view: View, ground: str, candidate: str, case: str) -> Seen:
    outcome = view.judged(ground, candidate, case)
    if outcome is None:
        return Seen(kind=_status(view, ground) if _status(view, ground) != "judged" else "no such cell")
    detail = "" if isinstance(outcome, Passed) else view.detail(outcome)
    return Seen(kind=kind(outcome), detail=detail, error=error_units(outcome))
