"""How an outcome is shown where there is room for one character: a sign, and never a colour alone."""

from __future__ import annotations

SIGNS = {
    "passed": "✓",
    "wrong": "≠",
    "failed": "✗",
    "crashed": "!",
    "timed-out": "…",
    "unstable": "~",
    "not-run": "·",
}
"""By outcome."""
LIGHT = {
    "passed": ("#d3f1da", "#0b4d1f"),
    "wrong": ("#ffdfb0", "#5c3000"),
    "failed": ("#ffd3cf", "#7a0c05"),
    "crashed": ("#ead0f6", "#4d0f6b"),
    "timed-out": ("#d2e2ff", "#0b3a7a"),
    "unstable": ("#fdf0a6", "#4d4000"),
    "not-run": ("#f1f2f4", "#4e545c"),
}
"""Background and foreground, at least 7 to 1."""
DARK = {
    "passed": ("#12401f", "#c5f0cf"),
    "wrong": ("#593400", "#ffe0b3"),
    "failed": ("#631712", "#ffd9d5"),
    "crashed": ("#431657", "#f0d6fb"),
    "timed-out": ("#13366b", "#d6e4ff"),
    "unstable": ("#4a4000", "#fdf2b0"),
    "not-run": ("#24272c", "#b6bcc5"),
}


def outcome_of(kind: str) -> str:
    """``failed`` of ``failed (compile)``."""
    return kind.split(" ", maxsplit=1)[0]
