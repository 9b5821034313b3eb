"""Facts of one experiment across the evidence of several hosts, for the reports that are kept."""

from __future__ import annotations

import enum
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bundler.experiment.load import Loaded
from bundler.experiment.rules import judged_grounds
from bundler.model.evidence import GroundReport
from bundler.model.experiment import Arm, Candidate, Case, Experiment, Language, Origin, by_arm
from bundler.model.outcome import NotRun, Outcome, Passed, Wrong, kind, ran
from bundler.model.plan import Deviation
from bundler.model.verdict import Verdict
from bundler.report import summary
from bundler.report.summary import Named
from bundler.report.text import count

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
    recorded: tuple[Named, ...] = ()
    """The experiment's own evidence, whether it is what is reported or not."""
    stale_since: str = ""
    """The skill's version that the experiment was not run with; empty where it is not stale."""

    @property
    def columns(self) -> list[Column]:
        """Every ground that was judged anywhere."""
        return columns(self.evidence)


@dataclass(frozen=True)
class Column:
    """Grounds of one kind with equal outcomes, and every host that gave exactly these."""

    hosts: tuple[str, ...]
    group: summary.GroundGroup
    complete: bool = True
    """False where a replay that gave it was cut short."""

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
        """False where a control misbehaved, or was not run."""
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
                found.append(Column((host,), group, evidence.complete))
            else:
                one = found[same]
                found[same] = Column((*one.hosts, host), one.group, one.complete and evidence.complete)
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
    """All that was not run, and why; nothing is left out."""
    found = []
    for host, evidence in named:
        for group in summary.groups(evidence):
            if group.report.status != "judged":
                why = summary.why_not_run(evidence, group.report.reason or "")
                found.append(Unrun(host, group.title, 0, f"{group.report.status.replace('-', ' ')}: {why}"))
                continue
            outcomes = [o for row in group.report.cells.values() for o in row.values()]
            reasons = Counter(o.detail or str(o.why) for o in outcomes if isinstance(o, NotRun))
            each = len(group.names) > 1
            found += [Unrun(host, group.title, cells, why, each) for why, cells in reasons.items()]
        if not evidence.complete:
            found.append(Unrun(host, "every ground", 0, "the replay was cut short"))
    return found


def never_judged(experiment: Experiment, named: Sequence[Named]) -> list[str]:
    """A sentence for each kind of ground of which no evidence has a judged cell, but for what cannot be."""
    judged = {
        name.split(":")[0]
        for _, evidence in named
        for name, report in evidence.grounds.items()
        if report.status == "judged" and any(ran(o) for row in report.cells.values() for o in row.values())
    }
    cuda = all(experiment.language_of(arm) is Language.CUDA for arm in experiment.arms)
    possible = [name for name in _KINDS if not (cuda and name == "interpreter")]
    declared = judged_grounds(experiment)
    return [
        f"No evidence has a cell on the {name} ground."
        if name in declared
        else f"The experiment declares no cell on the {name} ground."
        for name in possible
        if name not in judged
    ]


def cases_judged(candidates: Sequence[Candidate], reports: Sequence[GroundReport]) -> tuple[int, ...]:
    """How many cases each report judged of each candidate; none where it judged none."""
    counts = (sum(map(ran, r.cells.get(c.id, {}).values())) for c in candidates for r in reports)
    return tuple(filter(None, counts))


def every_case(experiment: Experiment, judged: Sequence[int]) -> str:
    """``every case``, or ``every case that was judged (2 of 54)``: what was not is no pass."""
    of = len(experiment.expand())
    least, most = min(judged, default=of), max(judged, default=of)
    if least == of:
        return "every case"
    return f"every case that was judged ({least if least == most else f'{least} to {most}'} of {of})"


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
    RECONSTRUCTED = "reconstructed"
    OTHER = "control"


@dataclass(frozen=True)
class Point:
    """The error of one cell, in units of the tolerance, against the size of its case."""

    candidate: str
    series: Series
    size: int
    error: float
    """Infinite where a value is no number, so that there is no distance to measure."""
    passed: bool


def exact(loaded: Loaded) -> bool:
    """Whether no comparison has a tolerance, so that there is no error to draw."""
    return all(rule.atol == 0 and rule.rtol == 0 for rule in loaded.experiment.comparisons())


def size_names(loaded: Loaded) -> tuple[str, ...]:
    """The parameters whose product is taken for a case's size: whole numbers that every case has.

    Of these the ones that are named as an extent, where there are any: a mean or a count of blocks is a whole
    number too, and no size. What is the same in every case would only shift the axis.
    """
    cases = loaded.experiment.expand()
    whole = [name for name in cases[0].params if all(_whole(case.params.get(name)) for case in cases)]
    named = [name for name in whole if name in _EXTENTS] or whole
    varying = [name for name in named if len({case.params[name] for case in cases}) > 1]
    return tuple(varying or named)


_EXTENTS = {
    *("n", "m", "k", "rows", "cols", "columns", "batch", "height", "width", "depth", "channels", "length"),
    *("longest", "size", "elements", "tokens", "heads", "heads_q", "seq", "seq_q", "seq_kv", "dim"),
}
"""Not heads_kv: grouped heads share their work with the query's."""


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def points(loaded: Loaded, column: Column) -> list[Point]:
    """Of every executed cell whose values were compared; cases of size 0 have no place on the axis."""
    names = size_names(loaded)
    sizes = {case.id: _size(case, names) for case in loaded.experiment.expand()}
    series = {c.id: _series(c.arm) for c in loaded.experiment.candidates()}
    return [
        Point(candidate, series[candidate], sizes[case], error, isinstance(outcome, Passed))
        for candidate, row in column.group.report.cells.items()
        for case, outcome in row.items()
        if sizes[case] > 0 and (error := _error(outcome)) is not None
    ]


def _error(outcome: Outcome) -> float | None:
    """Wrong values of which no finite error is over the tolerance are such as have none: NaN, or infinite."""
    if isinstance(outcome, Wrong) and outcome.what == "values" and (outcome.error or 0) <= 1:
        return math.inf
    return outcome.error if isinstance(outcome, Passed | Wrong) else None


def _series(arm: Arm) -> Series:
    if arm.origin is not Origin.GENERATED:
        return Series.RECONSTRUCTED if arm.origin is Origin.RECONSTRUCTED else Series.OTHER
    return Series.WITH if arm.skill else Series.WITHOUT


def _size(case: Case, names: Sequence[str]) -> int:
    return math.prod(int(case.params[name]) for name in names) if names else 0
