"""What differs between the recorded evidence of two states of an experiment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bundler.model.evidence import Evidence
from bundler.model.outcome import kind

Recorded = Sequence[tuple[str, Evidence]]
_MOST_NAMED = 3


def recorded_changes(before: Recorded, after: Recorded) -> Iterator[str]:
    """Files that came, went or changed; then the cells, by ground and by what became of them."""
    old, new = dict(before), dict(after)
    for name in [*old, *(name for name in new if name not in old)]:
        if name not in new:
            yield f"{name} removed"
        elif name not in old:
            yield f"{name} added: {new[name].started}, {', '.join(new[name].grounds)}"
        elif old[name] != new[name]:
            yield f"{name} recorded again: {old[name].started} → {new[name].started}"
            yield from _host(name, old[name], new[name])
    if list(old) != list(new) and sorted(old) == sorted(new):
        yield "the files are in another order; for each ground the first that judged it counts"
    yield from _cells(_outcomes(before), _outcomes(after))


def _host(name: str, before: Evidence, after: Evidence) -> Iterator[str]:
    old, new = before.host.software, after.host.software
    for package in dict.fromkeys((*old, *new)):
        if old.get(package) != new.get(package):
            yield f"{name}: {package} {old.get(package, 'none')} → {new.get(package, 'none')}"
    if before.settings.seed != after.settings.seed:
        yield f"{name}: seed {before.settings.seed} → {after.settings.seed}"
    if bool(before.settings.slow) != bool(after.settings.slow):
        yield f"{name}: slow cells {'run' if after.settings.slow else 'left out'} now"


Cell = tuple[str, str, str]
"""Ground, candidate, case."""


def _outcomes(recorded: Recorded) -> dict[Cell, str]:
    """What counts as recorded: for each ground the first evidence that judged it."""
    found: dict[Cell, str] = {}
    grounds: set[str] = set()
    for _, evidence in recorded:
        for ground, report in evidence.grounds.items():
            if report.status == "judged" and ground not in grounds:
                grounds.add(ground)
                for candidate, row in report.cells.items():
                    found |= {(ground, candidate, case): kind(outcome) for case, outcome in row.items()}
    return found


def _cells(before: dict[Cell, str], after: dict[Cell, str]) -> Iterator[str]:
    """Grounds of which the same is to be said, as architectures mostly, share a line."""
    rows: dict[tuple[str, str, str, str], list[str]] = {}
    for cell in dict.fromkeys((*before, *after)):
        was, now = before.get(cell, _ABSENT), after.get(cell, _ABSENT)
        if was != now:
            candidate = "" if _ABSENT in (was, now) else cell[1]
            rows.setdefault((cell[0], candidate, was, now), []).append(cell[2])
    lines: dict[str, list[str]] = {}
    for (ground, candidate, was, now), cases in rows.items():
        lines.setdefault(_line(candidate, was, now, cases), []).append(ground)
    for line, grounds in lines.items():
        yield f"{', '.join(grounds)}: {line}"


_ABSENT = "not recorded"


def _line(candidate: str, was: str, now: str, cases: Sequence[str]) -> str:
    cells = f"{len(cases):,} cell{'' if len(cases) == 1 else 's'}"
    if not candidate:
        return f"{cells} {was} → {now}"
    shown = ", ".join(cases[:_MOST_NAMED])
    more = f" and {len(cases) - _MOST_NAMED} more" if len(cases) > _MOST_NAMED else ""
    return f"{candidate}: {was} → {now} in {cells}: {shown}{more}"
