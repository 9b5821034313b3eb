"""Replayed evidence held against the recorded: pure, cell by cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bundler.errors import ExitCode
from bundler.model.evidence import Evidence, GroundReport
from bundler.model.experiment import Arm, Expect, Experiment, Origin
from bundler.model.outcome import NotRun, Outcome, Passed, Why, Wrong, kind, ran
from bundler.model.verdict import CellVerdict, GroundVerdict, Judgement, Verdict


def hold(experiment: Experiment, replayed: Evidence, recorded: Sequence[tuple[str, Evidence]]) -> Verdict:
    """``recorded``: file name and evidence; for each ground the first that judged it is what counts.

    Which cells of a control that has to fail, or of a reconstruction, are wrong may depend on the values. On
    values of another seed such a cell that comes out otherwise is not judged: no claim rests on it.
    That needs a wrong cell in the recording: an arm that was right throughout has to be right on any values.
    """
    by_values = frozenset(c.id for c in experiment.candidates() if _may_vary(c.arm))
    return Verdict(
        grounds=tuple(
            _ground(name, report, replayed, recorded, by_values) for name, report in replayed.grounds.items()
        ),
        complete=replayed.complete,
    )


def _ground(
    name: str,
    report: GroundReport,
    replayed: Evidence,
    recorded: Sequence[tuple[str, Evidence]],
    by_values: frozenset[str],
) -> GroundVerdict:
    source, old_evidence, old = next(
        (
            (file, evidence, evidence.grounds[name])
            for file, evidence in recorded
            if name in evidence.grounds and evidence.grounds[name].status == "judged"
        ),
        ("", None, None),
    )
    reason = _reason(report, old)
    other_seed = old_evidence is not None and old_evidence.settings.seed != replayed.settings.seed
    rows = old.cells if old and other_seed else {}
    varying = {name for name in by_values if _was_wrong(rows.get(name, {}))}
    cells = []
    same = other = 0
    for candidate, cases in report.cells.items():
        for case, outcome in cases.items():
            before = old.cells.get(candidate, {}).get(case) if old else None
            cell = _cell(candidate, case, before, outcome, reason)
            cells.append(_of_other_values(cell) if candidate in varying else cell)
            if not reason and old_evidence and isinstance(before, Passed) and isinstance(outcome, Passed):
                equal = _ptx(old_evidence, before) == _ptx(replayed, outcome)
                if before.kernels or outcome.kernels:
                    same, other = same + equal, other + (not equal)
    return GroundVerdict(
        ground=name, source=source, cells=tuple(cells), ptx_same=same, ptx_other=other, reason=reason
    )


def _reason(report: GroundReport, old: GroundReport | None) -> str:
    if report.status != "judged":
        return report.reason
    return "" if old else "no recorded evidence for this ground"


def _cell(candidate: str, case: str, before: Outcome | None, now: Outcome, reason: str) -> CellVerdict:
    was, is_now = kind(before) if before else "not recorded", kind(now)

    def verdict(judgement: Judgement, why: str = "") -> CellVerdict:
        return CellVerdict(
            candidate=candidate, case=case, judgement=judgement, recorded=was, replayed=is_now, why=why
        )

    if reason:
        return verdict(Judgement.NOT_JUDGED, reason)
    if isinstance(now, NotRun) and not _launched_once(before, now):
        return verdict(Judgement.NOT_JUDGED, f"not run here: {now.detail or now.why}")
    if before is None:
        return verdict(Judgement.NOT_JUDGED, "no recorded outcome")
    if isinstance(before, NotRun):
        return verdict(Judgement.NOT_JUDGED, f"not run when recorded: {before.detail or before.why}")
    if was != is_now:
        return verdict(Judgement.DIFFERS, _difference(now))
    return verdict(Judgement.REPRODUCED)


def _launched_once(before: Outcome | None, now: NotRun) -> bool:
    """Whether a wrapper that launches nothing now did when recorded: its own word, whatever the host."""
    return now.why is Why.NO_LAUNCH and before is not None and ran(before)


def _may_vary(arm: Arm) -> bool:
    return arm.origin is Origin.RECONSTRUCTED or arm.expect is Expect.FAIL


def _was_wrong(row: Mapping[str, Outcome]) -> bool:
    return any(isinstance(outcome, Wrong) for outcome in row.values())


_BY_VALUES = frozenset({"passed", "wrong"})


def _of_other_values(cell: CellVerdict) -> CellVerdict:
    """Such an arm's cell, where only the values can have made the difference."""
    if cell.judgement is not Judgement.DIFFERS or not {cell.recorded, cell.replayed} <= _BY_VALUES:
        return cell
    why = "the seed is another, and which cells of this arm are wrong may depend on the values"
    return cell.model_copy(update={"judgement": Judgement.NOT_JUDGED, "why": why})


def _difference(now: Outcome) -> str:
    return str(getattr(now, "detail", "") or getattr(now, "error", "") or "")[:300]


def _ptx(evidence: Evidence, outcome: Passed) -> list[str]:
    return [evidence.kernels[index].ptx for index in outcome.kernels]


def exit_code(replayed: Evidence, verdict: Verdict) -> ExitCode:
    """What the process says by how it ends; the gravest that is true."""
    if not verdict.complete:
        return ExitCode.INCOMPLETE
    if verdict.count(Judgement.DIFFERS):
        return ExitCode.DIFFERS
    if any(report.status == "invalid" for report in replayed.grounds.values()):
        return ExitCode.INVALID
    if not verdict.count(Judgement.REPRODUCED):
        return ExitCode.NOTHING_JUDGED
    return ExitCode.OK
