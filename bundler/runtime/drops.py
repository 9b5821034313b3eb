"""Which files an image leaves out."""

from __future__ import annotations

import fnmatch
import re
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass

from bundler.runtime.declaration import Declaration
from bundler.runtime.members import Member


@dataclass(frozen=True)
class Dropped:
    """What one rule of the declaration left out."""

    why: str
    files: int
    size_bytes: int


def apply_drops(
    members: Iterable[Member], declaration: Declaration
) -> tuple[list[Member], list[tuple[str, Member]]]:
    """``members`` in two lists: those that stay, and those that go with the reason why."""
    rules = [(rule.why, _matcher(rule.paths)) for rule in declaration.drop]
    keep = _matcher(declaration.keep)
    staying: list[Member] = []
    going: list[tuple[str, Member]] = []
    for member in members:
        why = next((why for why, matches in rules if matches.match(member.path)), None)
        if why is None or keep.match(member.path):
            staying.append(member)
        else:
            going.append((why, member))
    return _with_parents(staying, going), going


def _matcher(patterns: Iterable[str]) -> re.Pattern[str]:
    """Matches a path when a pattern matches it or a folder above it."""
    either = "|".join(
        fnmatch.translate(pattern).removesuffix(r"\Z").removesuffix(r"\z") for pattern in patterns
    )
    return re.compile(f"(?:{either})(?:/.*)?\\Z" if either else r"(?!)", re.DOTALL)


def _with_parents(staying: list[Member], going: list[tuple[str, Member]]) -> list[Member]:
    """A kept file brings its folders back, with the modes that they had."""
    folders = {member.path: member for _, member in going if member.kind == tarfile.DIRTYPE}
    needed = {parent for member in staying for parent in _above(member.path) if parent in folders}
    return staying + [folders[path] for path in sorted(needed)]


def _above(path: str) -> Iterable[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def sum_up(declaration: Declaration, going: Iterable[tuple[str, Member]]) -> tuple[Dropped, ...]:
    """One entry for each rule, in the declaration's order; a rule that met nothing has zeros."""
    sums = {rule.why: (0, 0) for rule in declaration.drop}
    for why, member in going:
        files, size = sums[why]
        sums[why] = (files + 1, size + member.size)
    return tuple(Dropped(why, files, size) for why, (files, size) in sums.items())
