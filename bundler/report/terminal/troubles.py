"""What did not simply pass: troubles, grounds that disagree, marks, and the cross-check."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from bundler.model.evidence import Evidence
from bundler.model.experiment import Experiment, Origin
from bundler.model.outcome import Passed
from bundler.report import summary
from bundler.report.terminal import BAD, DIM
from bundler.report.terminal.lines import say
from bundler.report.text import count, each, few, plain


def troubles(console: Console, experiment: Experiment, groups: list[summary.GroundGroup]) -> None:
    """Each candidate that did not pass where it ran: on which ground, in which cases, and why."""
    origins = {c.id: c.arm for c in experiment.candidates()}
    found = [trouble for group in groups for trouble in summary.troubles(group)]
    if not found:
        return
    say(console, Text("\nWhat ran and did not pass", "bold"))
    for trouble in found:
        arm = origins[trouble.candidate]
        say(
            console,
            Text.assemble(
                "  ",
                (trouble.who, "bold"),
                (f" ({arm.origin}) " if arm.origin is not Origin.GENERATED else " ", DIM),
                f"on {trouble.ground}: ",
                (f"{len(trouble.cases)}{each(trouble.candidates)} {trouble.kind}", BAD),
                f": {few(trouble.cases)}",
            ),
        )
        if trouble.detail:
            say(console, Text(f"      {plain(trouble.detail, 240)}", DIM))
    interpreted = any(one.ground == "interpreter" and not origins[one.candidate].is_control for one in found)
    if interpreted and not _apart(experiment, groups):
        say(console, Text(f"  {summary.LIMIT.capitalize()}.", DIM))


def disagreements(console: Console, experiment: Experiment, groups: list[summary.GroundGroup]) -> None:
    """Candidates, controls left out, whose outcome is not the same on two grounds."""
    found = _apart(experiment, groups)
    if not found:
        return
    say(console, Text("\nWhere the grounds disagree", "bold"))
    for one in found:
        say(
            console,
            Text.assemble(
                "  ",
                (one.who, "bold"),
                f": {count(len(one.cases), 'case')}{each(one.candidates)} {one.kind} "
                f"on {one.ground}, {one.other_kind} on {one.other_ground}: {few(one.cases, 3)}",
            ),
        )
    say(console, Text(f"      {summary.LIMITS}", DIM))


def _apart(experiment: Experiment, groups: list[summary.GroundGroup]) -> list[summary.Disagreement]:
    controls = {c.id for c in experiment.candidates() if c.arm.is_control}
    return [one for one in summary.disagreements(groups) if one.candidate not in controls]


def marked(console: Console, groups: list[summary.GroundGroup]) -> None:
    """What was noted of candidates beside their outcomes."""
    lines = [
        f"  {candidate} on {group.title}: {'; '.join(marks)}"
        for group in groups
        for candidate, marks in summary.marks(group.report).items()
    ]
    if lines:
        say(console, Text("\nMarked", "bold"))
        for line in lines:
            say(console, Text(plain(line)))


def cross_check(console: Console, experiment: Experiment, evidence: Evidence) -> None:
    """In how many cases the cross-check in NumPy passed, where the experiment has one."""
    check, cells = experiment.cross_check, evidence.cross_check
    if check is None or not cells:
        return
    passed = sum(isinstance(outcome, Passed) for outcome in cells.values())
    text = f"\nCross-check of {check.of} in NumPy: {passed} of {count(len(cells), 'case')} passed"
    say(console, Text(plain(text), "bold"))
    say(console, Text(f"      {plain(check.says, 240)}", DIM))
