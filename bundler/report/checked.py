"""What the cross-check says: the arithmetic of one candidate again, in plain NumPy, beside each ground."""

from __future__ import annotations

from collections.abc import Mapping

from bundler.model.outcome import Outcome, Passed, ran
from bundler.report.across import Column, Facts
from bundler.report.text import count, few


def lines(facts: Facts) -> list[str]:
    """What agreement shows, in its author's words; how NumPy fared; how each executing ground compares."""
    check = facts.loaded.experiment.cross_check
    found = [(name, one.cross_check) for name, one in facts.evidence if one.cross_check]
    if check is None:
        return []
    if not found:
        return [f"{check.of}: declared, and no evidence has it."]
    said = [f"{check.of} again in NumPy. The author: {check.says}"]
    hosts: dict[str, list[str]] = {}
    for name, cells in found:
        hosts.setdefault(_fared(cells), []).append(name)
    said += [f"On {', '.join(names)}: {fared}" for fared, names in hosts.items()]
    executing = [column for column in facts.columns if column.valid and column.kind != "compile"]
    return said + [_against(column, check.of, dict(found)) for column in executing]


def _fared(cells: Mapping[str, Outcome]) -> str:
    wrong = [case for case, outcome in cells.items() if not isinstance(outcome, Passed)]
    passed = f"{len(cells) - len(wrong):,} of {count(len(cells), 'case')} passed"
    return f"{passed}; wrong: {few(wrong)}" if wrong else passed


def _against(column: Column, candidate: str, found: Mapping[str, Mapping[str, Outcome]]) -> str:
    """How many cases NumPy and a ground see alike; of the ground's own host, where that has a cross-check."""
    checked = next((found[host] for host in column.hosts if host in found), next(iter(found.values())))
    row = column.group.report.cells.get(candidate, {})
    cases = [case for case in checked if case in row and ran(row[case])]
    other = [c for c in cases if isinstance(checked[c], Passed) != isinstance(row[c], Passed)]
    said = f"{column.title}: {len(cases) - len(other):,} of {count(len(cases), 'case')} as in NumPy"
    return f"{said}; otherwise: {few(other)}" if other else said
