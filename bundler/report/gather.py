"""What a report is made of, from an experiment and the evidence that it is asked to show."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bundler.errors import BadEvidence
from bundler.experiment.deviations import derive_deviations
from bundler.experiment.load import Loaded
from bundler.experiment.parse import MAX_FILE_BYTES
from bundler.experiment.skill_versions import stale_since
from bundler.experiment.subject import mismatch
from bundler.files import read_at_most
from bundler.judge.cause import View
from bundler.judge.verdict import hold
from bundler.model.evidence import Evidence
from bundler.report.across import Facts
from bundler.report.summary import Named

ANALYSIS = "analysis.md"


def gather(loaded: Loaded, evidence: Sequence[tuple[str, Evidence]] = ()) -> Facts:
    """The facts of ``evidence`` by host, held against the recorded; without any, of the recorded by file.

    Raises BadEvidence for evidence of something else.
    """
    for name, one in evidence:
        if problem := mismatch(loaded, one):
            raise BadEvidence(f"{name} is of {problem}", hint="name the experiment that it was recorded with")
    named = _by_host(evidence) if evidence else _named(loaded.recorded)
    held = (
        [(name, hold(loaded.experiment, one, loaded.recorded)) for name, one in named]
        if evidence and loaded.recorded
        else []
    )
    return Facts(
        loaded,
        named,
        derive_deviations(loaded.experiment, loaded.recorded),
        tuple(held),
        _analysis(loaded),
        _named(loaded.recorded),
        stale_since(loaded.experiment, loaded.root),
    )


def _by_host(evidence: Sequence[tuple[str, Evidence]]) -> tuple[Named, ...]:
    """By GPU or processor, since the name of a file that a machine wrote tells a reader nothing.

    Where two hosts have the same one, by the file's name as well.
    """
    hosts = [_host(one) for _, one in evidence]
    named = zip(hosts, _named(evidence), strict=True)
    return tuple((f"{host}, {file}" if hosts.count(host) > 1 else host, one) for host, (file, one) in named)


def _host(evidence: Evidence) -> str:
    view = View("", evidence)
    said = view.gpu or view.processor or "this replay"
    return re.sub(r"[^A-Za-z0-9._ -]+", "", re.sub(r"\((R|TM|C)\)", "", said)).strip()[:40] or "this replay"


def _named(evidence: Sequence[tuple[str, Evidence]]) -> tuple[Named, ...]:
    """By a short name that the file's tells, each once."""
    found: dict[str, Evidence] = {}
    for path, one in evidence:
        file = re.sub(r"\.json(\.[gx]z)?$", "", path.rsplit("/", 1)[-1])
        short = re.sub(r"[^A-Za-z0-9._-]+", "-", file)[:40]
        name, number = short or "evidence", 2
        while name in found:
            name, number = f"{short}-{number}", number + 1
        found[name] = one
    return tuple(found.items())


def _analysis(loaded: Loaded) -> str:
    path = loaded.folder / ANALYSIS
    if not path.is_file() or not path.resolve().is_relative_to(loaded.folder.resolve()):
        return ""
    return read_at_most(path, MAX_FILE_BYTES)[:MAX_FILE_BYTES].decode(errors="replace")
