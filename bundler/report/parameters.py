"""Which parameters of the cases tell where a kernel fails: cells that did not pass, by value. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bundler.experiment.load import Loaded
from bundler.model.outcome import Outcome, Passed, ran
from bundler.report.across import Column
from bundler.report.summary import names

_MOST_VALUES = 12
"""With more values than that, a table tells less than the heat map."""


@dataclass(frozen=True)
class Share:
    """Cells that ran and did not pass, of those that ran."""

    failed: int
    ran: int


@dataclass(frozen=True)
class ByParameter:
    """One ground: a row for each value of each parameter that tells, a share for each group of candidates."""

    column: Column
    who: tuple[str, ...]
    """Candidates of one arm that fail in the same cells, as one."""
    rows: tuple[tuple[str, str, tuple[Share, ...]], ...]
    """Parameter, value, shares in the order of ``who``."""


def by_parameter(loaded: Loaded, columns: Sequence[Column]) -> list[ByParameter]:
    """Of grounds that execute and count, where a kernel, no control, passes some cells and fails others."""
    found = []
    for column in columns:
        groups = _mixed(loaded, column) if column.valid and column.kind != "compile" else {}
        if rows := _rows(loaded, list(groups.values())):
            found.append(ByParameter(column, tuple(groups), rows))
    return found


_Row = Mapping[str, Outcome]


def _mixed(loaded: Loaded, column: Column) -> dict[str, _Row]:
    """A row for each group of alike candidates, by the group's name."""
    alike: dict[object, list[str]] = {}
    cells = column.group.report.cells
    for candidate in loaded.experiment.candidates():
        row = {case: o for case, o in cells.get(candidate.id, {}).items() if ran(o)}
        passed = frozenset(case for case, outcome in row.items() if isinstance(outcome, Passed))
        if not candidate.arm.is_control and 0 < len(passed) < len(row):
            alike.setdefault((candidate.arm.name, passed, frozenset(row)), []).append(candidate.id)
    return {names(who): cells[who[0]] for who in alike.values()}


def _rows(loaded: Loaded, rows: Sequence[_Row]) -> tuple[tuple[str, str, tuple[Share, ...]], ...]:
    cases = loaded.experiment.expand()
    found: list[tuple[str, str, tuple[Share, ...]]] = []
    for name in dict.fromkeys(name for case in cases for name in case.params):
        by_value: dict[str, list[str]] = {}
        for case in cases:
            if case.params.get(name) is not None:
                by_value.setdefault(str(case.params[name]), []).append(case.id)
        shares = {value: tuple(_share(row, its) for row in rows) for value, its in by_value.items()}
        if 1 < len(shares) <= _MOST_VALUES and _tells(list(shares.values())):
            ordered = sorted(shares.items(), key=lambda pair: _order(pair[0]))
            found += [(name, value, its) for value, its in ordered if any(one.ran for one in its)]
    return tuple(found)


def _order(value: str) -> float:
    """Numbers by size; words stay as they came."""
    try:
        return float(value)
    except ValueError:
        return 0.0


def _share(row: _Row, cases: Sequence[str]) -> Share:
    outcomes = [row[case] for case in cases if case in row and ran(row[case])]
    return Share(sum(not isinstance(o, Passed) for o in outcomes), len(outcomes))


def _tells(shares: Sequence[tuple[Share, ...]]) -> bool:
    """Whether for some kernel half of the values or more decide alone: all of its cells pass, or all fail.

    One cell decides nothing, and neither does a value that the others are no different from.
    """
    for one in zip(*shares, strict=True):
        parts = [share.failed / share.ran for share in one if share.ran > 1]
        pure = sum(part in (0, 1) for part in parts)
        if len(set(parts)) > 1 and 2 * pure >= len(parts):
            return True
    return False
