"""A declaration's mistakes, in words that its author can act on and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bundler.errors import BadExperiment
from bundler.experiment.parse import parse
from tests.small import Small


def said(small: Small) -> list[str]:
    """The lines that say what is wrong."""
    with pytest.raises(BadExperiment) as error:
        parse((small.write() / "experiment.yaml").read_bytes(), "experiment.yaml")
    first, *lines = error.value.problem.splitlines()
    assert first == "experiment.yaml breaks the schema:"
    return lines


def test_a_misspelt_key_is_named_before_what_follows_and_shows_no_file(small: Small) -> None:
    small.declared["titel"] = small.declared.pop("title")
    assert said(small) == ["  titel: unknown key; did you mean 'title'?", "  title: is missing"]


def _key(*place: Any, old: str, new: str) -> Callable[[dict[str, Any]], None]:
    def change(declared: Any) -> None:
        for part in place:
            declared = declared[part]
        declared[new] = declared.pop(old)

    return change


def _value(*place: Any, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(declared: Any) -> None:
        for part in place[:-1]:
            declared = declared[part]
        declared[place[-1]] = to

    return change


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (_value("note", to="x"), "note: unknown key; did you mean 'notes'?"),
        (_value("surprise", to="x"), "surprise: unknown key"),
        (
            _key("returns", 0, "compare", old="reason", new="reasons"),
            "returns.0.compare.reasons: unknown key; did you mean 'reason'?",
        ),
        (
            _value("returns", 0, "compare", "atol", to="x"),
            "returns.0.compare.atol: should be a valid number (given: 'x')",
        ),
        (_value("arms", to=[3]), "arms.0: should be a mapping (given: 3)"),
        (_value("arms", to={"name": "x"}), "arms: should be a list (given: a mapping)"),
        (_value("returns", to=[]), "returns: should have at least 1 item"),
        (_value("harness", "path", to="../x"), "harness.path: '../x' is no relative path of plain names"),
        (
            _value("evidence", to=["\u202e.json"]),
            "evidence.0: '\\u202e.json': the name holds an invisible formatting character, '\\u202e'",
        ),
        (
            _value("evidence", to=["evidence/\x1b[31m.json"]),
            "evidence.0: 'evidence/\\x1b[31m.json': the name holds a control character, '\\x1b'",
        ),
        (
            _value("deviations", to=[{"field": "runs", "note": "x", "load_bearing": "none, timing"}]),
            "deviations.0.load_bearing: should be 'none', 'timing', 'correctness' or 'comparison', or a list "
            "(given: 'none, timing')",
        ),
        (
            _value("deviations", to=[{"field": "runs", "note": "x", "load_bearing": ["none", "time"]}]),
            "deviations.0.load_bearing.1: should be 'none', 'timing', 'correctness' or 'comparison' "
            "(given: 'time')",
        ),
        (
            _value("arms", 0, "expect", to="pass"),
            "arms.0: arm 'without-skill': expect belongs to controls, and every control has one",
        ),
        (_value("timing", to={"cases": ["x"], "bytes": "n"}), "timing: case 'x' is not there"),
    ],
)
def test_one_mistake_is_one_line(small: Small, change: Callable[[Any], None], line: str) -> None:
    change(small.declared)
    lines = [one for one in said(small) if not one.endswith("is missing")]
    assert lines == [f"  {line}"]


def test_the_list_ends(small: Small) -> None:
    small.declared |= {f"surprise{number}": 1 for number in range(30)}
    lines = said(small)
    assert len(lines) == 21
    assert lines[-1] == "  and 10 more"
