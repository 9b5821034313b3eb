"""One difference between two bundles."""

from __future__ import annotations

import difflib
import enum

from bundler.model.base import Frozen


class Part(enum.StrEnum):
    """What of a bundle a change is in, in the order of a report."""

    TASK = "task"
    ARM = "arm"
    OUTPUT = "output"
    SKILL = "skill"
    HARNESS = "harness"
    CASE = "case"
    COMPARISON = "comparison"
    DECLARATION = "declaration"
    EVIDENCE = "evidence"
    FILE = "file"
    RUNTIME = "runtime"
    REPLAYER = "replayer"


class Change(Frozen):
    """One difference."""

    part: Part
    what: str
    """In words; names in it may be a stranger's."""
    text: str = ""
    """The unified diff, where what changed is text."""


def unified(before: bytes, after: bytes, name: str) -> str:
    """A unified diff of two texts; what is no UTF-8 is shown as a backslash and its code."""
    one, two = (data.decode("utf-8", "backslashreplace").splitlines() for data in (before, after))
    return "\n".join(difflib.unified_diff(one, two, f"a/{name}", f"b/{name}", lineterm=""))
