"""The list that lies inside a bundle, and an unpacked bundle held against it, file by file."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from bundler import strict_json
from bundler.digest import Digest
from bundler.errors import BadBundle, UnavailableError
from bundler.experiment.load import Loaded, load
from bundler.files import open_regular, read_at_most
from bundler.model.base import Foreign, Id
from bundler.names import MAX_FILES

CONTENTS = "bundle.json"
SCHEMA = "bundler/bundle/1"
PASSED_OVER = frozenset({"__pycache__", ".git", ".gitignore", ".gitattributes", ".gitkeep", ".gitmodules"})
"""Names that no bundle has: what Python and Git leave in a folder that they worked in."""
_AGAIN = "this bundle was tampered with or damaged; ask its author for it again, and compare the digest"


class Contents(Foreign):
    """The list of a bundle's files: whatever is not as listed makes it no bundle."""

    schema_: Literal["bundler/bundle/1"] = Field(alias="schema")
    experiment: Id
    replayer: str
    """Version of bundler."""
    files: dict[str, Digest]
    """By path below the bundle's folder, this list left out."""


def is_bundle(folder: Path) -> bool:
    """Whether ``folder`` claims to be an unpacked bundle."""
    return (folder / CONTENTS).is_file()


def open_bundle(folder: Path) -> Loaded:
    """The experiment in an unpacked bundle, every file held against the list.

    Raises BadBundle when a file is missing, changed, not listed or no plain file, BadExperiment or
    BadEvidence when what is listed breaks a rule of its own, UnavailableError for one that cannot be read.
    """
    contents = _read_contents(folder)
    try:
        _compare(contents.files, dict(_files(folder)))
    except OSError as error:
        raise UnavailableError(
            f"{str(error.filename)!r} cannot be read: {error.strerror}", hint="check its permissions"
        ) from None
    return load(folder / "proof" / contents.experiment)


def _read_contents(folder: Path) -> Contents:
    path = folder / CONTENTS
    name = repr(str(path))
    try:
        value = strict_json.decode(read_at_most(path, strict_json.MAX_BYTES), name=name)
        listed = value.get("files") if isinstance(value, dict) else None
        strict_json.as_text_map(listed, f"{name}, 'files'", most=MAX_FILES)
        return Contents.model_validate(value)
    except OSError as error:
        raise BadBundle(
            f"{name} cannot be read: {error.strerror}",
            hint="name an image, a tar or a folder that bundler froze, or an experiment's folder",
        ) from None
    except ValidationError as error:
        raise BadBundle(f"{name} is damaged: {error.errors()[0]['msg']}", hint=_AGAIN) from None


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Every file below ``folder`` but the list, by its path there. No link is followed: a bundle has none."""
    waiting = [folder]
    while waiting:
        for path in waiting.pop().iterdir():
            name, mode = path.relative_to(folder).as_posix(), path.lstat().st_mode
            if path.name in PASSED_OVER or name == CONTENTS:
                continue
            if stat.S_ISDIR(mode):
                waiting.append(path)
            elif stat.S_ISREG(mode):
                yield name, path
            else:
                raise BadBundle(f"{name!r} is neither a file nor a folder", hint=_AGAIN)


def _compare(listed: Mapping[str, Digest], found: Mapping[str, Path]) -> None:
    for path in sorted(listed.keys() | found.keys()):
        if path not in found:
            raise BadBundle(f"{path[:400]!r} is listed and not there", hint=_AGAIN)
        if path not in listed:
            raise BadBundle(f"{path!r} is there and not listed", hint=_AGAIN)
        if listed[path] != (has := _digest(found[path])):
            raise BadBundle(f"{path!r} has {has}, listed is {listed[path]}", hint=_AGAIN)


def _digest(path: Path) -> Digest:
    """Read piece by piece: its size is a stranger's choice."""
    with open_regular(path) as stream:
        return Digest("sha256:" + hashlib.file_digest(stream, "sha256").hexdigest())
