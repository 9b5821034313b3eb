"""Counts and lists in words, for every package that says something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches


def count(number: int, one: str, many: str = "") -> str:
    """``1 cell``, ``1,200 cells``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def few(names: Sequence[str], most: int = 6) -> str:
    """The first names, and how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def near(name: str, there: Sequence[str], most: int = 3) -> list[str]:
    """Names that a mistyped one may mean, closest first."""
    return get_close_matches(name, there, most)


def not_held(steps: Mapping[str, str]) -> list[str]:
    """``landlock: not in this kernel``: the steps of an isolation that do not hold, each with its state."""
    return [f"{step}: {state}" for step, state in steps.items() if state != "held"]
