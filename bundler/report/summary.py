"""An evidence and its verdict as the few facts that every form of report shows."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bundler.model.evidence import Evidence, GroundReport
from bundler.model.experiment import Experiment, by_arm
from bundler.model.outcome import Failed, NotRun, Outcome, Passed, Why, kind, ran
from bundler.model.verdict import Judgement, Verdict
from bundler.report.error_text import told
from bundler.report.text import count

Named = tuple[str, Evidence]
"""A host's short name and what was seen there."""


LIMIT = "what the interpreter fails may be its own limit"
LIMITS = "What the interpreter passes need not compile, and what it fails may be its own limit."


@dataclass(frozen=True)
class GroundGroup:
    """Grounds whose cells all have the same outcomes: architectures, mostly."""

    names: tuple[str, ...]
    report: GroundReport

    @property
    def title(self) -> str:
        """The names as one."""
        return title(self.names)


def title(names: Sequence[str]) -> str:
    """``device``, ``compile sm_75 80 86``: grounds of one kind as one."""
    if not names[0].startswith("compile:"):
        return names[0]
    return "compile " + " ".join(
        name.removeprefix("compile:sm_" if index else "compile:") for index, name in enumerate(names)
    )


def groups(evidence: Evidence) -> list[GroundGroup]:
    """The grounds in their order, compile grounds with equal outcomes together."""
    found: dict[tuple[object, ...], list[str]] = {}
    for name, report in evidence.grounds.items():
        key: tuple[object, ...] = (name.split(":")[0], report.status, report.reason, kinds(report))
        found.setdefault(key, []).append(name)
    return [GroundGroup(tuple(names), evidence.grounds[names[0]]) for names in found.values()]


def kinds(report: GroundReport) -> tuple[tuple[str, str, str], ...]:
    """Every cell's outcome in a word: what two grounds are equal in."""
    return tuple(
        (candidate, case, kind(outcome))
        for candidate, row in report.cells.items()
        for case, outcome in row.items()
    )


@dataclass(frozen=True)
class Count:
    """Cells of one arm on one ground."""

    passed: int
    judged: int
    not_run: int


def counts(experiment: Experiment, report: GroundReport) -> dict[str, Count]:
    """By arm."""
    found = {}
    for arm, candidates in by_arm(experiment):
        outcomes = [o for c in candidates for o in report.cells.get(c.id, {}).values()]
        judged = [o for o in outcomes if ran(o)]
        found[arm.name] = Count(
            sum(isinstance(o, Passed) for o in judged), len(judged), len(outcomes) - len(judged)
        )
    return found


@dataclass(frozen=True)
class Trouble:
    """Cells on one group of grounds that did not pass in one way: of an arm's candidates that fail alike."""

    candidates: tuple[str, ...]
    """Of one arm, each with these cases."""
    ground: str
    kind: str
    cases: tuple[str, ...]
    detail: str
    """Of the first candidate's first case."""

    @property
    def candidate(self) -> str:
        """The first."""
        return self.candidates[0]

    @property
    def who(self) -> str:
        """All of them, in short."""
        return names(self.candidates)


def names(candidates: Sequence[str]) -> str:
    """``with-skill/01, 03, 04``: candidates of one arm."""
    first, *rest = candidates
    return ", ".join([first, *(one.split("/", 1)[1] for one in rest)])


def troubles(group: GroundGroup) -> list[Trouble]:
    """All that ran and did not pass, grouped."""
    found: dict[tuple[str, str], list[str]] = {}
    details: dict[tuple[str, str], str] = {}
    for candidate, row in group.report.cells.items():
        for case, outcome in row.items():
            if ran(outcome) and not isinstance(outcome, Passed):
                key = (candidate, kind(outcome))
                found.setdefault(key, []).append(case)
                details.setdefault(key, detail(outcome))
    alike: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for (candidate, how), its in found.items():
        alike.setdefault((candidate.split("/")[0], how, tuple(its)), []).append(candidate)
    return [
        Trouble(tuple(who), group.title, how, its, details[who[0], how])
        for (_, how, its), who in alike.items()
    ]


@dataclass(frozen=True)
class Disagreement:
    """Cases that two grounds see differently, of an arm's candidates that they see alike."""

    candidates: tuple[str, ...]
    ground: str
    kind: str
    other_ground: str
    other_kind: str
    cases: tuple[str, ...]

    @property
    def candidate(self) -> str:
        """The first."""
        return self.candidates[0]

    @property
    def who(self) -> str:
        """All of them, in short."""
        return names(self.candidates)


def disagreements(all_groups: Sequence[GroundGroup]) -> list[Disagreement]:
    """Where a kernel passes on one ground and fails on another: what either alone would have hidden.

    A wrong value is compared between the grounds that execute, since to compile says nothing of values.
    """
    found: dict[tuple[str, str, str, str, str], list[str]] = {}
    for first, second in itertools.combinations(all_groups, 2):
        for candidate, row in first.report.cells.items():
            for case, one in row.items():
                other = second.report.cells.get(candidate, {}).get(case)
                if other is not None and _disagree(first, one, second, other):
                    key = (candidate, first.title, kind(one), second.title, kind(other))
                    found.setdefault(key, []).append(case)
    alike: dict[tuple[str, tuple[str, str, str, str], tuple[str, ...]], list[str]] = {}
    for (candidate, one_ground, one_kind, other_ground, other_kind), its in found.items():
        how = (one_ground, one_kind, other_ground, other_kind)
        alike.setdefault((candidate.split("/")[0], how, tuple(its)), []).append(candidate)
    return [Disagreement(tuple(who), *how, its) for (_, how, its), who in alike.items()]


def _disagree(first: GroundGroup, one: Outcome, second: GroundGroup, other: Outcome) -> bool:
    if not (ran(one) and ran(other)) or isinstance(one, Passed) == isinstance(other, Passed):
        return False
    compiles = any(group.names[0].startswith("compile:") for group in (first, second))
    return not compiles or isinstance(one, Failed) or isinstance(other, Failed)


def detail(outcome: Outcome) -> str:
    """What is known of an outcome beside its kind, in one text; of an error, the line that tells most."""
    if isinstance(outcome, Failed):
        return told(outcome.error)
    return str(getattr(outcome, "detail", ""))


def marks(report: GroundReport) -> dict[str, list[str]]:
    """What was marked on a candidate's cells, each once, and on how many of its cases that ran."""
    found = {}
    for candidate, row in report.cells.items():
        seen = Counter(str(mark) for outcome in row.values() for mark in getattr(outcome, "marks", ()))
        of = count(sum(map(ran, row.values())), "case")
        if seen:
            found[candidate] = [f"{mark} (in {cases:,} of {of})" for mark, cases in seen.items()]
    return found


def why_not_run(evidence: Evidence, why: str) -> str:
    """A ground's reason; the long one, that there is no GPU, is among what is said of the host."""
    if evidence.host.no_gpu and why == evidence.host.no_gpu:
        return "no GPU here, for the reason given with the host"
    return why


@dataclass(frozen=True)
class Unjudged:
    """Cells of grounds of one kind that were not judged for one reason."""

    grounds: tuple[str, ...]
    cells: int
    """On each of the grounds."""
    whole: bool
    """Whether the reason is the ground's, for all of its cells."""
    why: str


def unjudged(verdict: Verdict) -> list[Unjudged]:
    """All that was not judged, and why; nothing is left out."""
    found: dict[tuple[str, int, bool, str], list[str]] = {}
    for ground in verdict.grounds:
        reasons = Counter(cell.why for cell in ground.cells if cell.judgement is Judgement.NOT_JUDGED)
        if ground.reason:
            reasons = Counter({ground.reason: len(ground.cells)})
        for why, cells in reasons.items():
            key = (ground.ground.split(":")[0], cells, bool(ground.reason), why)
            found.setdefault(key, []).append(ground.ground)
    return [Unjudged(tuple(names), cells, whole, why) for (_, cells, whole, why), names in found.items()]


def slow(evidence: Evidence) -> int:
    """Cells that were left out because they are slow on their ground."""
    rows = (row for report in evidence.grounds.values() for row in report.cells.values())
    outcomes = (outcome for row in rows for outcome in row.values())
    return sum(isinstance(outcome, NotRun) and outcome.why is Why.SLOW for outcome in outcomes)


def differences(verdict: Verdict) -> list[tuple[str, str, str, str, tuple[str, ...], str]]:
    """Ground, candidate, recorded, replayed, cases and the first reason of every group of differing cells."""
    found: dict[tuple[str, str, str, str], list[str]] = {}
    why: dict[tuple[str, str, str, str], str] = {}
    for ground in verdict.grounds:
        for cell in ground.cells:
            if cell.judgement is Judgement.DIFFERS:
                key = (ground.ground, cell.candidate, cell.recorded, cell.replayed)
                found.setdefault(key, []).append(cell.case)
                why.setdefault(key, cell.why)
    return [(*key, tuple(cases), why[key]) for key, cases in found.items()]
