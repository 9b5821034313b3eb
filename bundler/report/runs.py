"""Pass counts an arm with their intervals, and what the arms' difference can tell, in words."""

from __future__ import annotations

from collections.abc import Sequence

from bundler.errors import UnavailableError
from bundler.judge.statistics import (
    SIGNIFICANT,
    ArmRuns,
    Contrast,
    Share,
    Shows,
    arm_runs,
    contrasts,
    fisher,
    least_p,
    reports_of,
)
from bundler.judge.statistics import share as share_of
from bundler.model.experiment import Ground
from bundler.report.across import Facts, cases_judged, every_case
from bundler.report.text import count


def share(found: Share | None) -> str:
    """``3 of 3 (44 to 100 %)``: runs that passed, and Wilson's interval."""
    if found is None:
        return "not run"
    return f"{found.passed} of {found.runs} ({_spread(found)})"


def _spread(found: Share) -> str:
    return f"{100 * found.low:.0f} to {100 * found.high:.0f} %"


def sentence(arms: Sequence[ArmRuns], contrast: Contrast) -> str:
    """One comparison in words, with all that it rests on."""
    before, after = (
        next(arm.shares[contrast.ground] for arm in arms if arm.arm == name)
        for name in (contrast.without, contrast.with_)
    )
    few = (
        f" No outcome of {before.runs} and {after.runs} runs could have been told from chance "
        f"(p = {contrast.least_p:.2g} at best){'' if contrast.direction else ': too few to tell more'}."
        if contrast.too_few
        else ""
    )
    return (
        f"{contrast.with_} against {contrast.without}, {contrast.ground}: {after.passed} of {after.runs} "
        f"against {before.passed} of {before.runs}: {told(contrast)} "
        f"(Fisher's exact p = {contrast.p:.2g}).{few}"
    )


def told(contrast: Contrast) -> str:
    """What a comparison shows, with the direction where no test can vouch for it."""
    if contrast.shows is Shows.TOO_FEW:
        return f"{contrast.direction} with it, too few runs to tell"
    if contrast.shows is Shows.NO_DIFFERENCE and contrast.direction:
        return f"{contrast.direction} with it, which may be chance"
    return "hurts, a negative result" if contrast.shows is Shows.HURTS else str(contrast.shows)


def chance(without: tuple[int, int], with_: tuple[int, int], arm: str, does: str = "are right") -> str:
    """Whether chance explains that ``(right, judged)`` differ; empty where the shares do not."""
    (right, judged), (skilled, of) = without, with_
    if right * of == skilled * judged:
        return ""
    more = "more" if skilled * judged > right * of else "fewer"
    try:
        p = fisher(share_of(right, judged), share_of(skilled, of))
    except UnavailableError as error:
        return (
            f"Whether chance explains that {more} {does} in the arm {arm} was not computed: "
            f"{error.problem}; {error.hint}."
        )
    number, least = f"Fisher's exact p = {p:.2g}", least_p(judged, of)
    if p <= SIGNIFICANT:
        return f"Chance hardly explains that {more} {does} in the arm {arm}: {number}."
    few = "; no outcome of so few answers could have told otherwise" if least > SIGNIFICANT else ""
    return f"That {more} {does} in the arm {arm} may be chance: {number}{few}."


def _uncounted(ground: Ground) -> str:
    notes = {Ground.INTERPRETER: " (not counted)", Ground.COMPILE: " for every architecture"}
    return notes.get(ground, "")


def _said(found: Share | None, ground: Ground, every: str) -> str:
    if found is None:
        return "not run"
    of = f"{found.passed} of {count(found.runs, 'run')} (95 % interval: {_spread(found)})"
    return f"{of} {_did(ground)} {every}"


def _every(facts: Facts, arm: str, ground: Ground) -> str:
    """Of the very reports that the arm's share is counted from."""
    experiment = facts.loaded.experiment
    candidates = [c for c in experiment.candidates() if c.arm.name == arm]
    reports = reports_of(ground, [one for _, one in facts.evidence])
    return every_case(experiment, cases_judged(candidates, reports))


def _did(ground: Ground) -> str:
    return "compiled in" if ground is Ground.COMPILE else "passed"


def lines(facts: Facts) -> list[str]:
    """A line for each arm and ground, and one for each comparison; the reason where nothing was computed."""
    evidence = [one for _, one in facts.evidence]
    try:
        arms = arm_runs(facts.loaded.experiment, evidence)
        compared = contrasts(facts.loaded.experiment, evidence)
    except UnavailableError as error:
        return [f"Not computed: {error.problem}; {error.hint}"]
    counted = [
        f"{arm.arm}, {ground}{_uncounted(ground)}: {_said(found, ground, _every(facts, arm.arm, ground))}"
        for arm in arms
        for ground, found in arm.shares.items()
    ]
    return counted + [sentence(arms, contrast) for contrast in compared]
