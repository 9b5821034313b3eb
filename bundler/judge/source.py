"""What a candidate's source says without being run: notes beside an outcome, never the outcome."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

_BY_LANE = frozenset((
    "load", "store", "arange", "program_id", "num_programs", "cdiv", "where", "full", "zeros", "zeros_like",
    "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sqrt_rn", "sin", "cos", "abs", "fma", "erf", "sigmoid",
    "maximum", "minimum", "floor", "ceil", "div_rn", "clamp", "cast", "to", "static_assert", "multiple_of",
    "max_contiguous", "assume",
))  # fmt: skip
"""Calls that bring no lane's value into another lane."""


def undefined_loads(source: bytes) -> tuple[int, ...]:
    """The lines of every ``tl.load`` with a mask and without ``other`` whose masked lanes may matter.

    Triton leaves them undefined (https://triton-lang.org/main/python-api/generated/triton.language.load.html).
    They cannot matter in a kernel that works lane by lane, once through, and loads and stores all under one
    mask, as most that have one element a lane do: such loads are left out. Of the others the source alone
    does not tell whether they do. Empty for what is no Python.
    """
    try:
        tree = ast.parse(source)
        return tuple(sorted(_lines(tree)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


def _lines(tree: ast.Module) -> Iterator[int]:
    for function, calls in _by_function(tree).items():
        undefined = [call for call in calls if _is_undefined(call)]
        if undefined and not (isinstance(function, ast.FunctionDef) and _is_by_lane(function, calls)):
            yield from (call.lineno for call in undefined)


def _by_function(tree: ast.Module) -> dict[ast.AST, list[ast.Call]]:
    """Every call, by the innermost function that it stands in; by the module where it is in none."""
    found: dict[ast.AST, list[ast.Call]] = {}

    def walk(node: ast.AST, inside: ast.AST) -> None:
        if isinstance(node, ast.Call):
            found.setdefault(inside, []).append(node)
        body = node.body if isinstance(node, ast.FunctionDef) else []
        for child in ast.iter_child_nodes(node):
            walk(child, node if child in body else inside)

    walk(tree, tree)
    return found


def _nodes(kernel: ast.FunctionDef) -> Iterator[ast.AST]:
    """Of its body: what decorates it runs elsewhere."""
    return (node for statement in kernel.body for node in ast.walk(statement))


def _is_by_lane(kernel: ast.FunctionDef, calls: list[ast.Call]) -> bool:
    """Whether a lane that the one mask leaves out can reach no lane that is stored."""
    accesses = [call for call in calls if _is_access(call)]
    masks = {_mask(call) for call in accesses if not _is_fixed(call, kernel)}
    if len(masks) != 1 or "" in masks or not any(_name(call) == "store" for call in accesses):
        return False
    if not all(_name(call) in _BY_LANE for call in calls) or any(map(_mixes, _nodes(kernel))):
        return False
    given = _parameters(kernel)
    tests = [node.test for node in _nodes(kernel) if isinstance(node, ast.If | ast.IfExp)]
    return all(_names(test) <= given for test in tests) and _is_one_value(kernel, masks.pop())


def _mixes(node: ast.AST) -> bool:
    """A loop carries values from one mask to the next, a product of matrices and a caller take every lane."""
    loops = isinstance(node, ast.For | ast.While | ast.comprehension)
    return loops or isinstance(node, ast.MatMult) or (isinstance(node, ast.Return) and node.value is not None)


def _is_one_value(kernel: ast.FunctionDef, mask: str) -> bool:
    """Whether what the mask is made of is assigned once, so that one text is one mask."""
    stores = Counter(
        node.id for node in _nodes(kernel) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    given = _parameters(kernel)
    return all(stores[name] + (name in given) <= 1 for name in _names(ast.parse(mask)))


def _parameters(kernel: ast.FunctionDef) -> set[str]:
    found = kernel.args
    return {argument.arg for argument in (*found.posonlyargs, *found.args, *found.kwonlyargs)}


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _is_fixed(call: ast.Call, kernel: ast.FunctionDef) -> bool:
    """A load without a mask from where a parameter points: it takes no lane's value for an address."""
    return (
        _name(call) == "load" and not _mask(call) and _names(call) <= _parameters(kernel) | {"tl", "triton"}
    )


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _is_access(call: ast.Call) -> bool:
    function = call.func
    known = isinstance(function, ast.Attribute) and function.attr in ("load", "store")
    return known and isinstance(function, ast.Attribute) and _is_language(function.value)


def _mask(call: ast.Call) -> str:
    """The mask as text; empty without one, and where ``**options`` may hold it."""
    named = [keyword.value for keyword in call.keywords if keyword.arg == "mask"]
    place = 1 if _name(call) == "load" else 2
    found = named or call.args[place : place + 1]
    return ast.unparse(found[0]) if found else ""


def _is_undefined(call: ast.Call) -> bool:
    names = {keyword.arg for keyword in call.keywords}
    if not _is_access(call) or _name(call) != "load" or None in names:  # **kwargs: not to be told
        return False
    masked = "mask" in names or len(call.args) >= 2
    return masked and "other" not in names and len(call.args) < 3


def _is_language(value: ast.expr) -> bool:
    """``tl``, or ``triton.language`` in full."""
    if isinstance(value, ast.Name):
        return value.id == "tl"
    return isinstance(value, ast.Attribute) and value.attr == "language"
