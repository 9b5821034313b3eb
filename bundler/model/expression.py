"""Arithmetic over a case, as a ``cuda`` block writes it. Pure: parsed by ``ast``, never run as Python."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

MAX_CHARACTERS = 200
_FUNCTIONS = ("min", "max", "shape", "stride")
_OPERATORS: dict[type[ast.operator], Callable[[int | float, int | float], int | float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_LIMIT = 1 << 64

Number = int | float


class BadExpression(ValueError):
    """The expression says nothing here; ``str`` is why."""


@dataclass(frozen=True)
class Extents:
    """Shape and strides of one tensor argument, in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]


def names(expression: str | Number) -> frozenset[str]:
    """The parameters that an expression speaks of. Raises BadExpression for what is no such arithmetic."""
    return frozenset(node.id for node in ast.walk(_parse(expression)) if isinstance(node, ast.Name)) - {
        *_FUNCTIONS
    }


def evaluate(
    expression: str | Number, values: Mapping[str, object], tensors: Sequence[Extents | None] = ()
) -> Number:
    """The value, every step of it below 2^64 in magnitude.

    ``values`` are the case's parameters, ``tensors`` the harness's arguments (None for one that is no
    tensor). Raises BadExpression.
    """
    return _Evaluation(values, tensors).of(_parse(expression))


def _parse(expression: str | Number) -> ast.expr:
    text = str(expression).strip()
    if len(text) > MAX_CHARACTERS:
        raise BadExpression(f"it is over {MAX_CHARACTERS} characters")
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise BadExpression("it is no arithmetic") from None
    for node in ast.walk(tree):
        _check(node)
    return tree


def _check(node: ast.AST) -> None:
    """Refuse what is not on the list, wherever in the tree."""
    if isinstance(node, ast.Constant):
        known = type(node.value) in (int, float)
    elif isinstance(node, ast.BinOp):
        known = type(node.op) in _OPERATORS
    elif isinstance(node, ast.UnaryOp):
        known = isinstance(node.op, ast.USub)
    elif isinstance(node, ast.Call):
        known = isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS and not node.keywords
    else:
        known = isinstance(node, ast.Name | ast.operator | ast.unaryop | ast.expr_context)
    if not known:
        shown = ast.unparse(node)[:60] if isinstance(node, ast.expr) else type(node).__name__
        raise BadExpression(
            f"{shown!r} is none of names, numbers, + - * // %, min, max, shape(i, d) and stride(i, d)"
        )


class _Evaluation:
    def __init__(self, values: Mapping[str, object], tensors: Sequence[Extents | None]) -> None:
        self._values = values
        self._tensors = tensors

    def of(self, node: ast.expr) -> Number:
        value = self._step(node)
        if not -_LIMIT < value < _LIMIT:  # a NaN is refused as well
            raise BadExpression(f"{ast.unparse(node)[:60]!r} is {str(value)[:40]}, which no 64 bits hold")
        return value

    def _step(self, node: ast.expr) -> Number:
        if isinstance(node, ast.Constant):
            assert isinstance(node.value, int | float)  # _check saw to it
            return node.value
        if isinstance(node, ast.Name):
            return self._parameter(node.id)
        if isinstance(node, ast.UnaryOp):
            return -self.of(node.operand)
        if isinstance(node, ast.BinOp):
            return self._binary(node)
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Name)
        return self._call(node.func.id, [self.of(argument) for argument in node.args])

    def _binary(self, node: ast.BinOp) -> Number:
        left, right = self.of(node.left), self.of(node.right)
        try:
            return _OPERATORS[type(node.op)](left, right)
        except ZeroDivisionError:
            raise BadExpression(f"{ast.unparse(node)[:60]!r} divides by zero") from None

    def _parameter(self, name: str) -> Number:
        value = self._values.get(name)
        if not isinstance(value, int | float):
            there = ", ".join(sorted(n for n, v in self._values.items() if isinstance(v, int | float)))
            raise BadExpression(f"{name!r} is no parameter that is a number; there are: {there or 'none'}")
        return int(value) if isinstance(value, bool) else value

    def _call(self, function: str, arguments: list[Number]) -> Number:
        if function in ("min", "max"):
            if not arguments:
                raise BadExpression(f"{function}() of nothing")
            return min(arguments) if function == "min" else max(arguments)
        if len(arguments) != 2 or not all(isinstance(argument, int) for argument in arguments):
            raise BadExpression(f"{function}(i, d) takes the index of an argument and of a dimension")
        which, dimension = int(arguments[0]), int(arguments[1])
        tensor = self._tensors[which] if 0 <= which < len(self._tensors) else None
        if tensor is None:
            raise BadExpression(f"{function}({which}, {dimension}): argument {which} is no tensor")
        sizes = tensor.shape if function == "shape" else tensor.strides
        if not 0 <= dimension < len(sizes):
            raise BadExpression(f"{function}({which}, {dimension}): it has {len(sizes)} dimensions")
        return sizes[dimension]
