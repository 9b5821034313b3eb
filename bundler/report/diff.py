"""Two texts side by side, or one after the other, as rows: pure, and without a word of markup."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from bundler.report.markup import shown_line

CONTEXT = 3
MOST_LINES = 3_000
"""Of one text: to find what two long ones share takes the square of their length."""
Change = Literal["same", "changed", "removed", "added", "skipped"]


@dataclass(frozen=True)
class Row:
    """One line of each text, or of one; ``skipped`` stands for equal lines that are left out."""

    change: Change
    left: str = ""
    right: str = ""
    left_number: int | None = None
    right_number: int | None = None


def lines(text: bytes) -> list[str]:
    """A text's lines, safe to show; bytes that are not UTF-8 are shown as such."""
    shown = text.decode("utf-8", errors="backslashreplace").split("\n")
    shown = shown[:-1] if shown[-1] == "" else shown
    more = [f"… {len(shown) - MOST_LINES:,} more lines"] if len(shown) > MOST_LINES else []
    return [shown_line(line) for line in shown[:MOST_LINES]] + more


def side_by_side(left: bytes, right: bytes) -> list[Row]:
    """Every changed line, with up to three equal ones around it."""
    a, b = lines(left), lines(right)
    matcher = difflib.SequenceMatcher(None, a, b, autojunk=False)
    rows: list[Row] = []
    before = (0, 0)
    for group in matcher.get_grouped_opcodes(CONTEXT):
        start = (group[0][1], group[0][3])
        if start > before:
            rows.append(Row("skipped", f"{start[0] - before[0]} equal lines"))
        for tag, a0, a1, b0, b1 in group:
            rows += _rows(tag, list(enumerate(a[a0:a1], a0 + 1)), list(enumerate(b[b0:b1], b0 + 1)))
        before = (group[-1][2], group[-1][4])
    if rows and before[0] < len(a):
        rows.append(Row("skipped", f"{len(a) - before[0]} equal lines"))
    return rows


def _rows(tag: str, a: list[tuple[int, str]], b: list[tuple[int, str]]) -> Iterator[Row]:
    for one, other in zip_longest(a, b):
        change: Change = "same" if tag == "equal" else "changed"
        if one is None or other is None:
            change = "added" if one is None else "removed"
        yield Row(
            change,
            one[1] if one else "",
            other[1] if other else "",
            one[0] if one else None,
            other[0] if other else None,
        )


def unified(left: bytes, right: bytes, left_name: str, right_name: str) -> str:
    """As ``diff -u`` writes it; empty where the texts are equal."""
    found = difflib.unified_diff(lines(left), lines(right), left_name, right_name, lineterm="", n=CONTEXT)
    return "\n".join(found)


def changed(rows: list[Row]) -> tuple[int, int]:
    """How many lines of the left and of the right are not in the other."""
    left = sum(row.change in ("changed", "removed") for row in rows)
    return left, sum(row.change in ("changed", "added") for row in rows)
