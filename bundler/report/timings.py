"""Timings as rows of texts, the same in every form of report; of what may not be claimed, its reasons only.

Verdicts are taken anew, by this bundler's rules: a record cannot declare its own numbers admissible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bundler.model.evidence import Evidence
from bundler.model.experiment import Candidate, Experiment, by_arm
from bundler.model.timing import State, TimedCell
from bundler.report.summary import Named
from bundler.timing.compare import Agreement, Direction, Pair, compare, held
from bundler.timing.judge import judged_again
from bundler.timing.statistics import summarise

NONE = "None are reported."


@dataclass(frozen=True)
class Row:
    """One timed cell, or one that was to be timed."""

    candidate: str
    case: str
    state: str
    value: str
    """The number and its spread; empty unless admissible."""
    notes: tuple[str, ...]
    """All reasons, or the labels."""


def rows(evidence: Evidence, experiment: Experiment | None) -> list[Row]:
    """Every cell that was to be timed; ``experiment`` says which are."""
    timings = judged_again(evidence, experiment)
    return [_row(cell) for cell in timings.cells] if timings else []


def _row(cell: TimedCell) -> Row:
    verdict = cell.verdict
    if verdict is None:
        return Row(cell.candidate, cell.case, "not timed", "", (cell.not_timed,))
    labels = tuple(f"{label.rule}: {label.text}" for label in verdict.labels)
    if verdict.state is State.ADMISSIBLE:
        return Row(cell.candidate, cell.case, "admissible", value(cell), labels)
    reasons = tuple(f"{reason.rule}: {reason.text}" for reason in verdict.reasons)
    return Row(cell.candidate, cell.case, str(verdict.state), "", reasons + labels)


def value(cell: TimedCell) -> str:
    """Median, quartiles, extremes and samples of an admissible cell; empty for any other."""
    if cell.verdict is None or cell.verdict.state is not State.ADMISSIBLE:
        return ""
    medians = [summarise(process.samples_us).median for process in cell.processes]
    every = summarise([sample for process in cell.processes for sample in process.samples_us])
    apart = max(medians) / min(medians)
    quartiles = f"quartiles {_us(every.lower_quartile)} to {_us(every.upper_quartile)}"
    extremes = f"all {_us(every.least)} to {_us(every.most)}"
    return (
        f"{_us(summarise(medians).median)} µs ({cell.cache} L2, {cell.method}; {quartiles}, {extremes}, "
        f"{every.samples:,} samples, {len(medians)} processes {apart:.3f}x apart)"
    )


def _us(value: float) -> str:
    return f"{value:,.4g}" if value < 10_000 else f"{value:,.0f}"


# --- two arms --------------------------------------------------------------------------------------------


def pairs(experiment: Experiment, evidence: Evidence) -> list[Pair]:
    """The n-th answer of an arm with the skill beside the n-th without it, on each case that was timed."""
    timings = judged_again(evidence, experiment)
    if timings is None:
        return []
    cells = {(cell.candidate, cell.case): cell for cell in timings.cells}
    cases = dict.fromkeys(cell.case for cell in timings.cells)
    return [
        compare(cells[one.id, case], cells[other.id, case], timings)
        for one, other in _with_and_without(experiment)
        for case in cases
        if (one.id, case) in cells and (other.id, case) in cells
    ]


def _with_and_without(experiment: Experiment) -> Iterator[tuple[Candidate, Candidate]]:
    arms = [(arm, candidates) for arm, candidates in by_arm(experiment) if arm.prompt_sha256 is not None]
    for arm, ones in arms:
        for baseline, others in arms:
            same_model = experiment.model_of(arm) == experiment.model_of(baseline)
            if arm.skill is not None and baseline.skill is None and same_model:
                yield from zip(ones, others, strict=False)


def said(pair: Pair) -> str:
    """A pair in a sentence."""
    what = f"{pair.first} beside {pair.second} on {pair.case}"
    if pair.ratio is None:
        return f"{what}: cannot tell: {pair.why_not}"
    found = pair.ratio
    return f"{what}: {pair.direction}: {found.value:.3f} times the time, {found.low:.3f} to {found.high:.3f}"


_Directions = dict[tuple[str, str, str], Direction]
"""By first candidate, second candidate, case."""


def agreements(experiment: Experiment, named: Sequence[Named]) -> list[str]:
    """The directions of other hosts beside those of the first that has any; never their timings."""
    all_hosts = [(name, _directions(experiment, evidence)) for name, evidence in named]
    seen = [(name, found) for name, found in all_hosts if found]
    lines = []
    for name, found in seen[1:]:
        first, recorded = seen[0]
        for pair in found:
            what = f"{pair[0]} beside {pair[1]} on {pair[2]}"
            lines.append(f"{what}: {_agreement(recorded, found, pair)} ({name} and {first})")
    return lines


def _directions(experiment: Experiment, evidence: Evidence) -> _Directions:
    return {(p.first, p.second, p.case): p.direction for p in pairs(experiment, evidence)}


def _agreement(recorded: _Directions, replayed: _Directions, pair: tuple[str, str, str]) -> Agreement:
    return held(recorded.get(pair, Direction.CANNOT_TELL), replayed[pair])
