"""Who imports whom: one way, and each heavy dependency at one place a side."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "bundler"
ORDER = (
    {"errors", "digest"},
    {"interrupts", "names", "strict_json"},
    {"files", "model"},
    {"experiment", "oci", "host", "skills", "judge", "timing"},
    {"runtime", "bundle"},
    {"replay"},
    {"engine"},
    {"report"},
    {"cli"},
    {"__main__"},
)
"""From the bottom up: an area imports from lower rows only, so those of one row never import each other."""
ISLAND = "worker"
"""Imports nothing but itself, since it runs inside the image as the candidate's process; only replay may
import it."""
SITES = {
    "torch": {
        "worker/candidate.py",
        "worker/cuda_device.py",
        "worker/fresh.py",
        "worker/standin.py",
        "worker/tensors.py",
        "worker/timer.py",
    },
    "triton": {"worker/assembler.py", "worker/launches.py", "worker/standin.py", "worker/triton_cache.py"},
    "docker": {"engine/docker.py"},
    "requests": {"engine/docker.py"},
    "pynvml": {"host/nvml.py"},
    "jinja2": {"report/html/page.py"},
    "matplotlib": {"report/plots.py"},
    "scipy": {"judge/statistics.py"},
    "cuda": {"worker/nvrtc.py"},
}
"""Where a dependency that is heavy, or is not everywhere, may be imported."""
AREAS = {
    "typer": {"cli", "runtime"},
    "rich": {"cli", "report"},
    "markdown_it": {"experiment", "report", "skills"},
}


def _modules() -> Iterator[tuple[str, str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        relative = path.relative_to(PACKAGE)
        yield relative.parts[0].removesuffix(".py"), relative.as_posix(), ast.parse(path.read_bytes())


def _imports(tree: ast.Module) -> set[str]:
    """Every module that a file names, wherever in it, those for type checkers included."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports would hide from this test"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def _areas(tree: ast.Module, own: str) -> set[str]:
    """The other areas of bundler that a file imports from; names of bundler itself are not areas."""
    known = {area for row in ORDER for area in row} | {ISLAND}
    named = {name.split(".")[1] for name in _imports(tree) if name.startswith("bundler.")}
    return (named & known) - {own}


MODULES = [pytest.param(*module, id=module[1]) for module in _modules()]


def test_every_area_has_its_place() -> None:
    known = {area for row in ORDER for area in row} | {ISLAND, "__init__"}
    assert {area for area, _, _ in _modules()} == known


@pytest.mark.parametrize(("area", "file", "tree"), MODULES)
def test_imports_go_one_way(area: str, file: str, tree: ast.Module) -> None:
    row = next((n for n, row in enumerate(ORDER) if area in row), 0)
    lower = {name for below in ORDER[:row] for name in below}
    allowed = lower | ({ISLAND} if area == "replay" else set())
    assert _areas(tree, area) <= (set() if area in (ISLAND, "__init__") else allowed), file


@pytest.mark.parametrize(("area", "file", "tree"), MODULES)
def test_dependencies_are_imported_at_one_place(area: str, file: str, tree: ast.Module) -> None:
    named = {name.split(".")[0] for name in _imports(tree)}
    assert [name for name in named & SITES.keys() if file not in SITES[name]] == []
    assert [name for name in named & AREAS.keys() if area not in AREAS[name]] == []


def test_the_lists_are_not_longer_than_they_need_be() -> None:
    used = {(name.split(".")[0], file) for _, file, tree in _modules() for name in _imports(tree)}
    assert {(name, file) for name, files in SITES.items() for file in files} <= used


@pytest.mark.parametrize("path", sorted((PACKAGE / ISLAND).glob("*.py")), ids=lambda path: path.name)
def test_the_island_needs_little(path: Path) -> None:
    """Not pydantic, not rich: what a candidate's process imports is what a candidate can reach."""
    outside = {name.split(".")[0] for name in _imports(ast.parse(path.read_bytes()))}
    assert outside & {"pydantic", "rich", "typer", "yaml", "docker", "pynvml"} == set()


def test_the_rule_can_fail() -> None:
    tree = ast.parse(
        "def f():\n    from bundler.worker import wire\n    import bundler.cli.main\n    import torch\n"
    )
    assert _areas(tree, "judge") == {"worker", "cli"}
    assert "torch" in _imports(tree)
