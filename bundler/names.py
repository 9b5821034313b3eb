"""Which file names a layer may hold: a rule over text, the same on every machine.

Only characters of Unicode 3.2 are allowed. That is the one table that Python carries in every
version (``unicodedata.ucd_3_2_0``), and normalisation and case folding of its characters are fixed
by Unicode's stability policy, so two versions of Python cannot disagree on a name.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bundler.errors import BadDataError, BadExperiment

MAX_COMPONENT_BYTES = 251
"""255 is what file systems take; overlay and archive tools want room for a prefix of four."""
MAX_PATH_BYTES = 1024
MAX_FILES = 20_000
"""Of a layer: as many are frozen, listed in a bundle, and unpacked again."""

_LITTER = frozenset({".DS_Store", "Thumbs.db", "desktop.ini", ".Spotlight-V100", ".Trashes"})
_LITTER_ENDINGS = ("~", ".swp", ".swo", ".pyc", ".pyo")
_REFUSED_CATEGORIES = {
    "Cc": "a control character",
    "Cf": "an invisible formatting character",
    "Cn": "a character that Unicode 3.2 does not have",
    "Co": "a private character",
    "Cs": "bytes that are not UTF-8",
    "Zl": "a line separator",
    "Zp": "a paragraph separator",
}


@dataclass(frozen=True)
class Problem:
    """One rule that a name breaks."""

    path: str
    what: str
    hint: str


def check_names(paths: Iterable[str], *, error: type[BadDataError] = BadExperiment) -> None:
    """Raise ``error`` for the first name, in sorted order, that a layer may not hold."""
    problem = find_problem(paths)
    if problem is not None:
        raise error(f"{problem.path!r}: {problem.what}", hint=problem.hint)


def find_problem(paths: Iterable[str]) -> Problem | None:
    """The first rule that ``paths``, taken together, break; None when they break none."""
    ordered = sorted(paths)
    for path in ordered:
        problem = path_problem(path)
        if problem is not None:
            return problem
    return _collision(ordered)


def path_problem(path: str) -> Problem | None:
    """The first rule that ``path`` breaks by itself."""
    found = _whole_path_problem(path)
    if found is None:
        problems = (_component_problem(name) for name in path.split("/"))
        found = next((problem for problem in problems if problem is not None), None)
    return None if found is None else Problem(path, *found)


def parents(path: str) -> Iterator[str]:
    """The folders above ``path``, outermost first: ``a``, ``a/b`` for ``a/b/c``."""
    at = path.find("/")
    while at != -1:
        yield path[:at]
        at = path.find("/", at + 1)


def _whole_path_problem(path: str) -> tuple[str, str] | None:
    if path.startswith("/"):
        return "the path is absolute", "name files relative to the folder"
    size = len(path.encode("utf-8", "surrogatepass"))
    if size > MAX_PATH_BYTES:
        return f"the path has {size} bytes, more than {MAX_PATH_BYTES}", "use shorter or fewer folders"
    return None


def _component_problem(name: str) -> tuple[str, str] | None:
    if name in ("", ".", ".."):
        return f"{name!r} is not a name that a file can have", "write the path without it"
    return _character_problem(name) or _reserved_problem(name)


def _character_problem(name: str) -> tuple[str, str] | None:
    for character in name:
        kind = _REFUSED_CATEGORIES.get(unicodedata.ucd_3_2_0.category(character))
        if kind is not None:
            return f"the name holds {kind}, {character!r}", "rename it with plain letters and digits"
    if "\\" in name:
        return "the name holds a backslash", "rename it: Windows reads a backslash as a folder"
    if unicodedata.normalize("NFC", name) != name:
        return (
            "the name is not in Unicode's composed form (NFC)",
            "rename it; macOS and Linux would otherwise give it two spellings",
        )
    size = len(name.encode())
    if size > MAX_COMPONENT_BYTES:
        return f"{size} bytes in one name, more than {MAX_COMPONENT_BYTES}", "give it a shorter name"
    return None


def _reserved_problem(name: str) -> tuple[str, str] | None:
    if name.startswith(".wh."):
        return "names that start with .wh. delete files of the layers below", "rename it"
    if name.startswith("._"):
        return "names that start with ._ are macOS resource forks", "delete it, or rename it"
    if name in _LITTER or name.endswith(_LITTER_ENDINGS):
        return "this is what an editor, an interpreter or a desktop leaves behind", "delete it"
    return None


def _collision(ordered: list[str]) -> Problem | None:
    """Two paths, or folders above them, that are one on some machine; a file that is also a folder."""
    files: set[str] = set()
    spellings: dict[str, str] = {}
    for path in ordered:
        if path in files:
            return Problem(path, "the path is there twice", "keep one of the two")
        files.add(path)
        for spelling in (*parents(path), path):
            other = spellings.setdefault(_folded(spelling), spelling)
            if other != spelling:
                what = f"differs only in case from {other!r}"
                return Problem(path, what, "rename one: macOS and Windows keep only one of them")
    for path in ordered:
        blocking = next((folder for folder in parents(path) if folder in files), None)
        if blocking is not None:
            return Problem(path, f"lies in {blocking!r}, which is a file", "rename one of the two")
    return None


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path.casefold())
