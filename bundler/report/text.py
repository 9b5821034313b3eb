"""Text from strangers, made safe to print; counts and lists in words."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from bundler.model.words import count, few

__all__ = ["count", "each", "few", "plain"]

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


def each(names: Sequence[str]) -> str:
    """`` each`` where a number is of every one of several."""
    return " each" if len(names) > 1 else ""
