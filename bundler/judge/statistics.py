"""What a before/after comparison can tell: pass counts an arm, an interval, an exact test.

One run is one output of a model, so one candidate, not one cell: the cells of a candidate share its code
and are no independent trials, and 36 cases would make one wrong line look like 36 findings. A run
succeeded when every cell of it that was judged passed.

The ground is ``device`` where a device judged the arm, else the compile grounds, where a run succeeded
when it compiles for every architecture. The interpreter never counts: it passes kernels that compile for
no GPU, and fails some that are right on one.

Controls and reconstructions are the author's own, and count for nothing here.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from bundler.errors import UnavailableError
from bundler.model.base import Frozen, Name
from bundler.model.evidence import Evidence, GroundReport
from bundler.model.experiment import Arm, Candidate, Experiment, Ground, Origin, by_arm
from bundler.model.outcome import Passed, ran

CONFIDENCE = 0.95
SIGNIFICANT = 1 - CONFIDENCE


class Shows(enum.StrEnum):
    """What an experiment shows of its skill."""

    HELPS = "helps"
    HURTS = "hurts"
    NO_DIFFERENCE = "no difference seen"
    TOO_FEW = "too few runs"
    """The arms differ, and with this many runs no outcome could have told it from chance."""
    RECONSTRUCTION_ONLY = "reconstruction only"
    """No model's output was judged in both kinds of arm."""
    NONE_YET = "none yet"
    STALE = "stale"
    """The skill has changed since."""


class Share(Frozen):
    """Runs of one arm on one kind of ground."""

    passed: int
    runs: int
    low: float
    high: float
    """Wilson's interval for the share that passes, at 95 %."""


class ArmRuns(Frozen):
    """One generated arm."""

    arm: Name
    skill_version: str | None
    shares: dict[Ground, Share]
    """By kind of ground, those that judged at least one run."""


class Contrast(Frozen):
    """An arm with the skill held against one without."""

    without: Name
    with_: Name
    ground: Ground
    p: float
    """Of Fisher's exact test, two-sided."""
    least_p: float
    """The smallest that any outcome of this many runs could have given."""
    direction: Literal["more", "fewer", ""]
    """Of the runs with the skill, more pass or fewer; empty where the shares are equal."""
    shows: Shows

    @property
    def too_few(self) -> bool:
        """Whether no outcome of this many runs could have been told from chance."""
        return self.least_p > SIGNIFICANT


def _scipy_stats() -> Any:
    """Imported late: a bundle's runtime has no scipy, and nothing in a bundle needs it."""
    try:
        from scipy import stats  # noqa: PLC0415
    except ImportError as error:
        raise UnavailableError(
            f"scipy cannot be imported: {error}", hint="run pip install '.[stats]' in bundler's checkout"
        ) from None
    return stats


def share(passed: int, runs: int) -> Share:
    """``passed`` of ``runs``, at least one, with Wilson's interval (E. B. Wilson, JASA 22, 1927)."""
    interval = _scipy_stats().binomtest(passed, runs).proportion_ci(CONFIDENCE, method="wilson")
    return Share(passed=passed, runs=runs, low=float(interval.low), high=float(interval.high))


def fisher(without: Share, with_: Share) -> float:
    """The two-sided p of Fisher's exact test on both arms' passed and not passed runs."""
    table = [[s.passed, s.runs - s.passed] for s in (without, with_)]
    return float(_scipy_stats().fisher_exact(table).pvalue)


def least_p(without: int, with_: int) -> float:
    """The smallest p that this many runs can give: when all of one arm pass, and none of the other.

    It is 1 / C(n + m, n), and twice that for n = m, where none against all is as rare. Three against three
    runs give 0.1 at best, four against four 0.029: fewer than four an arm can show nothing at 5 %, whatever
    comes out. That a discrete test has a smallest attainable p, and that a comparison which cannot reach the
    level says nothing either way, is R. E. Tarone, "A modified Bonferroni method for discrete data",
    Biometrics 46 (1990), 515-522; there the p is that of the totals seen, here that of the best totals, since
    the number of runs is what a plan can change. Needs no scipy.
    """
    both_ends = 2 if without == with_ else 1
    return min(1.0, both_ends / math.comb(without + with_, without))


def arm_runs(experiment: Experiment, recorded: Sequence[Evidence]) -> tuple[ArmRuns, ...]:
    """The generated arms with their shares; for each ground the first evidence that judged it counts."""
    return tuple(
        ArmRuns(
            arm=arm.name,
            skill_version=arm.skill.version if arm.skill else None,
            shares={ground: s for ground in Ground if (s := _share(ground, candidates, recorded))},
        )
        for arm, candidates in by_arm(experiment)
        if arm.origin is Origin.GENERATED
    )


def _share(ground: Ground, candidates: Sequence[Candidate], recorded: Sequence[Evidence]) -> Share | None:
    reports = reports_of(ground, recorded)
    verdicts = [verdict for c in candidates if (verdict := _succeeded(c, reports)) is not None]
    return share(sum(verdicts), len(verdicts)) if verdicts else None


def reports_of(ground: Ground, recorded: Sequence[Evidence]) -> list[GroundReport]:
    """A report for the ground, or for each architecture of it."""
    found: dict[str, GroundReport] = {}
    for evidence in recorded:
        for name, report in evidence.grounds.items():
            if name.partition(":")[0] == ground and report.status == "judged":
                found.setdefault(name, report)
    return list(found.values())


def _succeeded(candidate: Candidate, reports: Sequence[GroundReport]) -> bool | None:
    """None: no cell of the candidate was judged."""
    cells = [o for report in reports for o in report.cells.get(candidate.id, {}).values() if ran(o)]
    return all(isinstance(outcome, Passed) for outcome in cells) if cells else None


def contrasts(experiment: Experiment, recorded: Sequence[Evidence]) -> tuple[Contrast, ...]:
    """Every arm with the skill against every arm without, on the strongest ground that judged both."""
    runs = {found.arm: found for found in arm_runs(experiment, recorded)}
    return tuple(
        contrast
        for without, with_ in _pairs(experiment)
        if (contrast := _contrast(runs[without.name], runs[with_.name]))
    )


def _pairs(experiment: Experiment) -> Iterator[tuple[Arm, Arm]]:
    """With and without the skill, and of one model: what two models differ in says nothing of a skill."""
    arms = [arm for arm in experiment.arms if arm.origin is Origin.GENERATED]
    for with_ in (arm for arm in arms if arm.skill):
        yield from ((arm, with_) for arm in arms if not arm.skill and arm.model == with_.model)


def _contrast(without: ArmRuns, with_: ArmRuns) -> Contrast | None:
    for ground in (Ground.DEVICE, Ground.COMPILE):
        before, after = without.shares.get(ground), with_.shares.get(ground)
        if before and after:
            p, least = fisher(before, after), least_p(before.runs, after.runs)
            return Contrast(
                without=without.arm,
                with_=with_.arm,
                ground=ground,
                p=p,
                least_p=least,
                direction=direction(before, after),
                shows=shows(before, after, p, least),
            )
    return None


def direction(without: Share, with_: Share) -> Literal["more", "fewer", ""]:
    """Whether more or fewer of the runs with the skill pass."""
    before, after = without.passed * with_.runs, with_.passed * without.runs
    if before == after:
        return ""
    return "more" if after > before else "fewer"


def shows(without: Share, with_: Share, p: float, least: float) -> Shows:
    """One word for one comparison. Equal shares are no difference seen, however few the runs were."""
    way = direction(without, with_)
    if p <= SIGNIFICANT and way:
        return Shows.HELPS if way == "more" else Shows.HURTS
    if way and least > SIGNIFICANT:
        return Shows.TOO_FEW
    return Shows.NO_DIFFERENCE
