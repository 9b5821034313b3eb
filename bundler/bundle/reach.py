"""Which modules a program needs: followed through its imports, so that a bundle carries no others."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping


def reached(sources: Mapping[str, bytes], roots: Iterable[str]) -> set[str]:
    """The modules that ``roots`` import, at once or later, themselves and their packages included.

    ``sources``: module name to source. An import inside a function counts; one by a computed name is not
    seen, so what is started that way has to be a root.
    """
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        module = waiting.pop()
        if module in found or module not in sources:
            continue
        found.add(module)
        waiting += _imported(ast.parse(sources[module]))
        if "." in module:
            waiting.append(module.rpartition(".")[0])
    return found


def _imported(tree: ast.Module) -> Iterator[str]:
    """Every name that may be a module: ``from a import b`` may mean the module ``a.b``."""
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
"""Where a statement holds others. No expression holds one, and most of a tree is expressions."""


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for block in _BLOCKS:
            waiting += getattr(node, block, ())


def module_name(path: str) -> str:
    """``bundler/oci/tar.py`` is ``bundler.oci.tar``, ``bundler/oci/__init__.py`` is ``bundler.oci``."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
