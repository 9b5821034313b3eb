"""Whether evidence is of an experiment, and all of it: the cells are fixed before anything runs. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bundler.digest import Digest
from bundler.experiment.controls import misbehaviour
from bundler.model.evidence import Evidence
from bundler.model.experiment import Ground

if TYPE_CHECKING:
    from bundler.experiment.load import Loaded


def mismatch(loaded: Loaded, evidence: Evidence) -> str:
    """What of the evidence is not of this experiment, or is not there; empty when all agrees."""
    subject = evidence.subject
    if subject.experiment != loaded.experiment.id:
        return f"another experiment: {subject.experiment!r}"
    if subject.harness != Digest.of(loaded.harness):
        return f"another harness ({subject.harness})"
    if subject.cases != loaded.cases_digest_for(subject.candidates):
        return f"other cases or comparison rules ({subject.cases})"
    for candidate, digest in subject.candidates.items():
        if candidate not in loaded.sources or Digest.of(loaded.sources[candidate]) != digest:
            return f"another candidate {candidate!r} ({digest})"
    return _stray(loaded, evidence) or _missing(loaded, evidence) or _not_trusted(loaded, evidence)


def narrowed(evidence: Evidence) -> str:
    """Why the evidence is of less than an experiment; empty where it is of all."""
    if not evidence.complete:
        return "its replay was cut short"
    if evidence.settings.candidates is not None or evidence.settings.cases is not None:
        return "its replay was of some candidates or cases alone"
    return ""


def _stray(loaded: Loaded, evidence: Evidence) -> str:
    """The first cell of a candidate or a case that the experiment does not have."""
    cases = {case.id for case in loaded.experiment.expand()}
    for ground, report in evidence.grounds.items():
        for candidate, row in report.cells.items():
            if candidate not in evidence.subject.candidates:
                return f"another candidate {candidate!r}, on {ground}, whose digest it does not have"
            if unknown := row.keys() - cases:
                return f"another case {min(unknown)!r}, on {ground}"
    for timed in evidence.timings.cells if evidence.timings else ():
        if timed.candidate not in evidence.subject.candidates:
            return f"another candidate {timed.candidate!r}, timed, whose digest it does not have"
        if timed.case not in cases:
            return f"another case {timed.case!r}, timed"
    if unknown := evidence.cross_check.keys() - cases:
        return f"another case {min(unknown)!r}, cross-checked"
    return ""


def _missing(loaded: Loaded, evidence: Evidence) -> str:
    """The first cell that a replay which was not cut short has and this one lacks.

    The cells are fixed before anything runs, and one that does not run says why: so none can be absent.
    """
    if not evidence.complete:
        return ""
    asked = evidence.settings.cases
    cases = {case.id for case in loaded.experiment.expand() if asked is None or case.id in asked}
    for ground, report in evidence.grounds.items():
        for candidate in evidence.subject.candidates if report.status != "not-available" else ():
            if lacking := cases - report.cells.get(candidate, {}).keys():
                return f"no cell of {candidate!r} on {min(lacking)!r}, on {ground}"
    return ""


def _not_trusted(loaded: Loaded, evidence: Evidence) -> str:
    """The first ground that is called judged though the controls beside it say otherwise."""
    of = evidence.subject.candidates
    for name, report in evidence.grounds.items():
        if report.status == "judged":
            ground = Ground(name.split(":", maxsplit=1)[0])
            if problem := misbehaviour(loaded.experiment, ground, report.cells, of=of):
                return f"a ground that it calls judged, {name}, though {problem}"
    return ""
