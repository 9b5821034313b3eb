"""Facts of one experiment across the evidence of several hosts, for the reports that are kept."""

from __future__ import annotations

import enum
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bundler.experiment.load import Loaded
from bundler.model.evidence import Evidence
from bundler.model.experiment import Arm, Case, Origin, by_arm
from bundler.model.outcome import NotRun, Passed, Wrong, kind, ran
from bundler.model.plan import Deviation
from bundler.model.verdict import Verdict
from bundler.report import summary
from bundler.report.text import count

Named = tuple[str, Evidence]
"""A host's short name and what was seen there."""
_KINDS = ("device", "compile", "interpreter")


@dataclass(frozen=True)
class Facts:
    """All that a report is made of."""

    loaded: Loaded
    evidence: tuple[Named, ...]
    deviations: tuple[Deviation, ...] = ()
    verdicts: tuple[tuple[str, Verdict], ...] = ()
    """For evidence that is held against the recorded."""
    analysis: str = ""
    """The author's words."""

    @property
    def columns(self) -> list[Column]:
        """Every ground that was judged anywhere."""
        return columns(self.evidence)


@dataclass(frozen=True)
class Column:
    """Grounds of one kind with equal outcomes, and every host that gave exactly these."""

    hosts: tuple[str, ...]
    group: summary.GroundGroup

    @property
    def kind(self) -> str:
        """``device``, ``compile`` or ``interpreter``."""
        return self.group.names[0].split(":")[0]

    @property
    def title(self) -> str:
        """``device (h200)``; an invalid ground is called so wherever it is named."""
        said = self.hosts if self.valid else (*self.hosts, "invalid")
        return f"{self.group.title} ({', '.join(said)})"

    @property
    def labelled(self) -> summary.GroundGroup:
        """The group under a name that tells the hosts, so that one ground on two hosts is told apart."""
        names = self.group.names
        last = f"{names[-1]} ({', '.join(self.hosts)})"
        return summary.GroundGroup((*names[:-1], last), self.group.report)

    @property
    def valid(self) -> bool:
        """False where a control misbehaved."""
        return self.group.report.status == "judged"


def columns(named: Sequence[Named]) -> list[Column]:
    """Grounds that were not available are left to ``not_run``; device first, then compile, interpreter."""
    found: list[Column] = []
    for host, evidence in named:
        for group in summary.groups(evidence):
            if group.report.status == "not-available":
                continue
            same = next((i for i, column in enumerate(found) if _same(column.group, group)), None)
            if same is None:
                found.append(Column((host,), group))
            else:
                found[same] = Column((*found[same].hosts, host), found[same].group)
    return sorted(found, key=lambda column: _KINDS.index(column.kind))


def _same(one: summary.GroundGroup, other: summary.GroundGroup) -> bool:
    reports = (one.report, other.report)
    return one.names == other.names and len({(r.status, r.reason, summary.kinds(r)) for r in reports}) == 1


@dataclass(frozen=True)
class Unrun:
    """Cells of one host that were not run for one reason; ``cells`` is 0 where a whole ground was not."""

    host: str
    grounds: str
    cells: int
    why: str
    each: bool = False
    """Whether there are so many on each of several architectures."""

    @property
    def how_many(self) -> str:
        """``13 cells on each``."""
        if not self.cells:
            return "all cells"
        return count(self.cells, "cell") + (" on each" if self.each else "")


def not_run(named: Sequence[Named]) -> list[Unrun]:
    """All that was not judged, and why; nothing is left out."""
    found = []
    for host, evidence in named:
        for group in summary.groups(evidence):
            if group.report.status != "judged":
                found.append(Unrun(host, group.title, 0, f"{group.report.status}: {group.report.reason}"))
                continue
            outcomes = [o for row in group.report.cells.values() for o in row.values()]
            reasons = Counter(o.detail or str(o.why) for o in outcomes if isinstance(o, NotRun))
            each = len(group.names) > 1
            found += [Unrun(host, group.title, cells, why, each) for why, cells in reasons.items()]
        if not evidence.complete:
            found.append(Unrun(host, "every ground", 0, "the replay was cut short"))
    return found


def never_judged(named: Sequence[Named]) -> list[str]:
    """The kinds of ground that no evidence has a judged cell of."""
    judged = {
        name.split(":")[0]
        for _, evidence in named
        for name, report in evidence.grounds.items()
        if report.status == "judged" and any(ran(o) for row in report.cells.values() for o in row.values())
    }
    return [name for name in _KINDS if name not in judged]


@dataclass(frozen=True)
class Failures:
    """Cells of one arm on one column that did not pass in one way."""

    arm: Arm
    column: str
    kind: str
    cells: int
    of: int
    """Cells of the arm that ran there."""


def failures(loaded: Loaded, all_columns: Sequence[Column]) -> list[Failures]:
    """By arm, ground and kind."""
    found = []
    for column in all_columns:
        for arm, candidates in by_arm(loaded.experiment):
            rows = [column.group.report.cells.get(c.id, {}) for c in candidates]
            outcomes = [o for row in rows for o in row.values() if ran(o)]
            kinds = Counter(kind(o) for o in outcomes if not isinstance(o, Passed))
            found += [Failures(arm, column.title, name, n, len(outcomes)) for name, n in kinds.items()]
    return found


class Series(enum.StrEnum):
    """Whose error a point is."""

    WITHOUT = "without the skill"
    WITH = "with the skill"
    OTHER = "no model's output"


@dataclass(frozen=True)
class Point:
    """The error of one cell, in units of the tolerance, against the size of its case."""

    candidate: str
    series: Series
    size: int
    error: float
    passed: bool


def exact(loaded: Loaded) -> bool:
    """Whether no comparison has a tolerance, so that there is no error to draw."""
    return all(rule.atol == 0 and rule.rtol == 0 for rule in loaded.experiment.comparisons())


def size_names(loaded: Loaded) -> tuple[str, ...]:
    """The parameters whose product is taken for a case's size: the whole numbers that every case has."""
    cases = loaded.experiment.expand()
    return tuple(name for name in cases[0].params if all(_whole(case.params.get(name)) for case in cases))


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def points(loaded: Loaded, column: Column) -> list[Point]:
    """Of every executed cell whose error was measured; cases of size 0 have none."""
    names = size_names(loaded)
    sizes = {case.id: _size(case, names) for case in loaded.experiment.expand()}
    series = {c.id: _series(c.arm) for c in loaded.experiment.candidates()}
    return [
        Point(candidate, series[candidate], sizes[case], outcome.error, isinstance(outcome, Passed))
        for candidate, row in column.group.report.cells.items()
        for case, outcome in row.items()
        if isinstance(outcome, Passed | Wrong) and outcome.error is not None and sizes[case] > 0
    ]


def _series(arm: Arm) -> Series:
    if arm.origin is not Origin.GENERATED:
        return Series.OTHER
    return Series.WITH if arm.skill else Series.WITHOUT


def _size(case: Case, names: Sequence[str]) -> int:
    return math.prod(int(case.params[name]) for name in names) if names else 0
