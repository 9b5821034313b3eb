"""What a candidate's source says without being run: notes beside an outcome, never the outcome."""

from __future__ import annotations

import ast


def undefined_loads(source: bytes) -> tuple[int, ...]:
    """The lines of every ``tl.load`` with a mask and without ``other``: its masked lanes hold anything.

    Triton leaves them undefined (https://triton-lang.org/main/python-api/generated/triton.language.load.html).
    It is no fault where they are never used, and the source alone does not tell. Empty for what is no
    Python.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return tuple(sorted(call.lineno for call in calls if _is_undefined(call)))


def _is_undefined(call: ast.Call) -> bool:
    function = call.func
    if not (isinstance(function, ast.Attribute) and function.attr == "load" and _is_language(function.value)):
        return False
    names = {keyword.arg for keyword in call.keywords}
    if None in names:  # **kwargs: not to be told
        return False
    masked = "mask" in names or len(call.args) >= 2
    return masked and "other" not in names and len(call.args) < 3


def _is_language(value: ast.expr) -> bool:
    """``tl``, or ``triton.language`` in full."""
    if isinstance(value, ast.Name):
        return value.id == "tl"
    return isinstance(value, ast.Attribute) and value.attr == "language"
