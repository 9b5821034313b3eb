"""From a mapping of a file to a frozen type, each wrong field reported by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from bundler.skills.problem import Report, Rule
from bundler.skills.text import hidden, named
from bundler.skills.types import PATTERNS

Model = TypeVar("Model", bound=BaseModel)

_PHRASES = {"missing": "is missing", "extra_forbidden": "no such field", "too_short": "is empty"}


def build(
    model: type[Model],
    values: Mapping[str, object],
    rule: Rule,
    report: Report,
    line_of: Callable[[str], int | None],
) -> Model | None:
    """``values`` as a ``model``, or None; each field that does not fit breaks ``rule``."""
    try:
        built = model.model_validate(values)
    except ValidationError as error:
        fields = ", ".join(model.model_fields)
        for detail in _without_echoes(error.errors(include_url=False)):
            place = detail["loc"]
            name = ".".join(map(str, place))
            report.add(
                rule,
                f"{name}: {_explained(detail)}",
                hint=f"the fields are {fields}; correct {name}",
                line=line_of(str(place[0])) if place else None,
            )
        return None
    _check_hidden(built, report, line_of)
    return built


def _check_hidden(built: BaseModel, report: Report, line_of: Callable[[str], int | None]) -> None:
    """Find what an escape sequence (\\u202e) brought in; the file's own text has been looked at."""
    if any(problem.rule is Rule.HIDDEN_CHARACTER for problem in report.problems):
        return
    for name, value in built:
        found = hidden(value if isinstance(value, str) else "".join(value))
        if found:
            text = f"{name} has {named(found[0][1])}, written as an escape"
            report.add(Rule.HIDDEN_CHARACTER, text, hint="delete it", line=line_of(name))


def _without_echoes(details: list[ErrorDetails]) -> list[ErrorDetails]:
    """pydantic drops a list's wrong items and then calls the list too short as well."""
    items = {detail["loc"][:1] for detail in details if len(detail["loc"]) > 1}
    return [detail for detail in details if detail["type"] != "too_short" or detail["loc"] not in items]


def _explained(detail: ErrorDetails) -> str:
    context, given = detail.get("ctx", {}), _short(detail["input"])
    match detail["type"]:
        case "missing" | "extra_forbidden" | "too_short" as kind:
            return _PHRASES[kind]
        case "tuple_type":
            return f"{given} is not a list"
        case "value_error":
            return str(context["error"])
        case "string_pattern_mismatch":
            return f"{given} is not {PATTERNS[context['pattern']]}"
    return f"{detail['msg'][0].lower()}{detail['msg'][1:]}, not {given}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
