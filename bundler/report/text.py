"""Text from strangers, made safe to print; counts and lists in words."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

_SAFE_CONTROL = {"\n": "⏎", "\t": " "}


def plain(text: str, most: int = 400) -> str:
    """One line without control, format or private characters, so that it can forge nothing.

    What is left out is shown as ``\\x1b`` and the like; a longer text ends in an ellipsis.
    """
    shown = "".join(_shown(character) for character in text[: most + 1])
    return shown if len(text) <= most else shown[:most] + "…"


def _shown(character: str) -> str:
    if character in _SAFE_CONTROL:
        return _SAFE_CONTROL[character]
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
        return character.encode("unicode_escape", "surrogatepass").decode()
    return character


def few(names: Sequence[str], most: int = 6) -> str:
    """The first names, and how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def count(number: int, one: str, many: str = "") -> str:
    """``1 cell``, ``1,200 cells``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
