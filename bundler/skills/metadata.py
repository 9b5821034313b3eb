"""skill.json: parsed strictly, then held against where the skill lies."""

from __future__ import annotations

import json
from typing import NoReturn

from bundler.skills.fields import build
from bundler.skills.problem import Report, Rule
from bundler.skills.types import Metadata


class _RefusedError(ValueError):
    """What Python's json module would take although RFC 8259 does not, or does not mean it."""


def parse_metadata(text: str, report: Report) -> Metadata | None:
    """skill.json's ``text`` as a type, or None; what is wrong with it goes to ``report``."""
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        why = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        report.add(Rule.JSON, f"not valid JSON: {why}", hint="correct the file", line=line)
        return None
    if not isinstance(value, dict):
        report.add(Rule.JSON, f"not an object: {text.strip()[:40]!r}", hint="write one object {...}", line=1)
        return None
    return build(Metadata, value, Rule.JSON_FIELD, report, lambda field: _line_of(text, field))


def check_place(metadata: Metadata, category: str, folder: str, text: str, report: Report) -> None:
    """Report where ``metadata`` disagrees with the path skills/``category``/``folder``/."""
    wanted = {
        "id": (Rule.JSON_ID, f"{category}.{folder}"),
        "category": (Rule.JSON_CATEGORY, category),
        "entry": (Rule.JSON_ENTRY, f"skills/{category}/{folder}/SKILL.md"),
    }
    for field, (rule, value) in wanted.items():
        given = getattr(metadata, field)
        if given != value:
            line = _line_of(text, field)
            report.add(rule, f"{field} is {given!r}", hint=f"write {value!r}", line=line)
    if metadata.name.lower().replace(" ", "-") != folder:
        report.add(
            Rule.JSON_NAME,
            f"name is {metadata.name!r}, in a folder called {folder!r}",
            hint=f"write {folder!r}, or the same words as a title",
            line=_line_of(text, "name"),
        )


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    built = dict(pairs)
    if len(built) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _RefusedError(f"the key {twice!r} is given twice")
    return built


def _no_constant(name: str) -> NoReturn:
    raise _RefusedError(f"{name} is no JSON value")


def _line_of(text: str, field: str) -> int | None:
    """The line whose first key is ``field``: exact for a file with one key a line, as these are."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip(" \t{,").startswith(f'"{field}"'):
            return number
    return None
