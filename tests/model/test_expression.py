"""Arithmetic over a case: what it gives, and that it is nothing more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundler.model.expression import BadExpression, Extents, Number, evaluate, names

VALUES = {"rows": 33, "cols": 100, "eps": 1e-5, "layout": "sliced", "flag": True}
TENSORS = [Extents((33, 100), (200, 2)), None]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (256, 256),
        ("rows", 33),
        ("(cols + 31) // 32 * 32", 128),
        ("-rows % 8", 7),
        ("max(1, min(rows, 7), 3)", 7),
        ("shape(0, 1) * stride(0, 0)", 20000),
        ("eps", 1e-5),
        ("1.5", 1.5),
        ("flag", 1),
        (" rows ", 33),
    ],
)
def test_an_expression_has_the_value_of_its_arithmetic(expression: str | Number, value: Number) -> None:
    assert evaluate(expression, VALUES, TENSORS) == value


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("rows ** 2", "none of names"),
        ("rows << 60", "none of names"),
        ("__import__('os')", "none of names"),
        ("rows.real", "none of names"),
        ("[rows][0]", "none of names"),
        ("max(*rows)", "none of names"),
        ("max(rows, key=rows)", "none of names"),
        ("'a'", "none of names"),
        ("True", "none of names"),
        ("rows if rows else 1", "none of names"),
        ("rows = 1", "no arithmetic"),
        ("", "no arithmetic"),
        ("(" * 100 + "1" + ")" * 99, "no arithmetic"),
        ("1 + " * 100 + "1", "over 200 characters"),
        ("nowhere", "'nowhere' is no parameter"),
        ("layout", "'layout' is no parameter"),
        ("rows // (cols - 100)", "divides by zero"),
        ("*".join(["99999"] * 9), "no 64 bits"),
        ("9" * 150, "no 64 bits"),
        ("1e308 * 10", "no 64 bits"),
        ("shape(1, 0)", "argument 1 is no tensor"),
        ("shape(7, 0)", "argument 7 is no tensor"),
        ("stride(0, 2)", "2 dimensions"),
        ("shape(0)", "takes the index"),
        ("shape(0, 1.0)", "takes the index"),
        ("max()", "of nothing"),
        ("rows(1)", "none of names"),
    ],
)
def test_what_it_refuses(expression: str, why: str) -> None:
    with pytest.raises(BadExpression) as raised:
        evaluate(expression, VALUES, TENSORS)
    assert why in str(raised.value)


def test_deep_trees_end_in_words() -> None:
    assert evaluate("-" * 150 + "1", {}) == 1


def test_the_parameters_of_an_expression_are_no_functions() -> None:
    assert names("max(rows, shape(0, 1)) + cols") == {"rows", "cols"}
    assert names(3) == frozenset()


@given(st.text(max_size=60))
def test_any_text_is_a_number_or_refused(text: str) -> None:
    try:
        value = evaluate(text, VALUES, TENSORS)
    except BadExpression:
        return
    assert abs(value) < 2**64
