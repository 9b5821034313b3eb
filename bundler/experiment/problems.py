"""What pydantic found wrong, in the words of who wrote the file: a line for each place."""

from __future__ import annotations

import re
import reprlib
import typing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ValidationError

from bundler.model.words import near

_MOST_LISTED = 20
_MOST_COLLECTED = 1_000
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80
_JARGON = {
    r"^Value error, |^(Input|String|Tuple|Value) (?=should )": "",
    r" after validation, not 0$|, unable to parse .*$": "",
    r"\ba valid (array|tuple)$": "a list",
    r"\ban object$": "a mapping",
}
_MISSING, _UNKNOWN, _TOO_SHORT, _RULE = "missing", "extra_forbidden", "too_short", "value_error"
Place = tuple[int | str, ...]


@dataclass
class _Problem:
    place: Place
    kind: str
    message: str
    given: object
    of_a_choice: bool
    """Of one of several forms that the value may have."""


def problems(error: ValidationError, model: type[BaseModel], value: object = None) -> str:
    """The problems, a line each, at most 20. ``value``: what was validated, where it is at hand."""
    if error.error_count() > _MOST_COLLECTED:
        return f"  {error.error_count()} problems, too many to list"
    found = _merged([_problem(one, value) for one in error.errors(include_url=False, include_context=False)])
    found.sort(key=lambda one: one.kind == _MISSING)  # what follows from a misspelt key comes after it
    lines = [_line(problem, model) for problem in found[:_MOST_LISTED]]
    more = len(found) - len(lines)
    return "\n".join([*lines, f"  and {more} more"] if more else lines)


def _problem(one: typing.Any, value: object) -> _Problem:
    place, dropped = (one["loc"], False) if value is None else _in_the_file(one["loc"], value, one["type"])
    message = one["msg"]
    for jargon, plain in _JARGON.items():
        message = re.sub(jargon, plain, message)
    return _Problem(place, one["type"], message, one["input"], dropped)


def _in_the_file(loc: Place, value: object, kind: str) -> tuple[Place, bool]:
    """Where in the file that is, and whether pydantic also named one of several types there."""
    place: list[int | str] = []
    for at, part in enumerate(loc):
        entries = (
            value if isinstance(value, dict) else dict(enumerate(value)) if isinstance(value, list) else {}
        )
        if part in entries:
            value = entries[part]
        elif kind != _MISSING or at < len(loc) - 1:
            continue  # the name of one of several types
        place.append(part)
    return tuple(place), len(place) < len(loc)


def _merged(found: Sequence[_Problem]) -> list[_Problem]:
    """Without what only follows from a problem further in; the forms that a value may have in one."""
    kept: dict[Place, _Problem] = {}
    for index, one in enumerate(found):
        deeper = any(len(p.place) > len(one.place) and p.place[: len(one.place)] == one.place for p in found)
        if deeper and (one.kind == _TOO_SHORT or one.of_a_choice):
            continue
        first = kept.get(one.place) if one.of_a_choice else None
        if first is None:
            kept[one.place if one.of_a_choice else (*one.place, f"#{index}")] = one
        elif one.message not in first.message:
            first.message += f", or {one.message.removeprefix('should be ')}"
    return list(kept.values())


def _line(problem: _Problem, model: type[BaseModel]) -> str:
    message = problem.message
    if problem.kind == _MISSING:
        message = "is missing"
    elif problem.kind == _UNKNOWN:
        *parents, key = problem.place
        close = near(str(key), sorted(_keys(model, parents)), 1)
        message = f"unknown key; did you mean {close[0]!r}?" if close else "unknown key"
    where = ".".join(str(part) for part in problem.place)
    return f"  {where:.200}{': ' if where else ''}{message:.400}{_given(problem)}"


def _given(problem: _Problem) -> str:
    shown = _SHORT.repr(problem.given)
    if isinstance(problem.given, dict | list):
        # Its content would be a part of the file, or all of it.
        shown = "a mapping" if isinstance(problem.given, dict) else "a list"
        told = bool(problem.given) and problem.kind != _RULE and bool(problem.place)
    else:
        told = problem.kind != _RULE or shown not in problem.message
    told = told and bool(problem.place) and problem.kind not in (_MISSING, _UNKNOWN)
    return f" (given: {shown})" if told else ""


def _keys(model: type[BaseModel], place: Sequence[int | str]) -> set[str]:
    """The keys that the mapping at ``place`` may have."""
    models = {model}
    for part in place:
        if isinstance(part, str):
            inner = {
                one
                for outer in models
                for name, field in outer.model_fields.items()
                if part in (name, field.alias)
                for one in _models_in(field.annotation)
            }
            models = inner or models
    return {field.alias or name for one in models for name, field in one.model_fields.items()}


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _models_in(argument)
