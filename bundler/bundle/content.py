"""What goes into a bundle, and the list of it that lies inside."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

import bundler
from bundler.digest import Digest
from bundler.errors import BadBundle
from bundler.experiment.load import Loaded, load
from bundler.model.base import Frozen, Id
from bundler.oci.tree import Entry, read_tree

CONTENTS = "bundle.json"
SCHEMA = "bundler/bundle/1"
BUNDLE_PREFIX = "bundle"
"""Where the experiment lies in the image: the repository's own layout, below this folder."""
REPLAYER_PREFIX = "opt/bundler"

_MAIN = b"""import sys

from bundler.cli.main import main

sys.exit(main())
"""


class Contents(Frozen):
    """The list of a bundle's files: whatever is not as listed makes it no bundle."""

    schema_: Literal["bundler/bundle/1"] = Field(alias="schema")
    experiment: Id
    replayer: str
    """Version of bundler."""
    files: dict[str, Digest]
    """By path below the bundle's folder, this list left out."""


def experiment_entries(loaded: Loaded) -> list[Entry]:
    """The experiment's folder, the skill's, and the list of both. Raises BadExperiment as ``read_tree``."""
    experiment = loaded.experiment
    entries = _below(f"proof/{experiment.id}", loaded.folder)
    entries += _below(f"skills/{experiment.skill}", loaded.root / "skills" / experiment.skill)
    contents = Contents(
        schema=SCHEMA,
        experiment=experiment.id,
        replayer=bundler.__version__,
        files={entry.path: Digest.of(entry.data) for entry in entries},
    )
    text = json.dumps(contents.model_dump(mode="json", by_alias=True), sort_keys=True, indent=1) + "\n"
    return [*entries, Entry(CONTENTS, text.encode())]


def _below(prefix: str, folder: Path) -> list[Entry]:
    return [Entry(f"{prefix}/{e.path}", e.data, e.executable) for e in read_tree(folder)]


def replayer_entries() -> list[Entry]:
    """bundler itself as it runs here: its Python files, and what starts them."""
    package = Path(bundler.__file__).resolve().parent
    files = [e for e in read_tree(package) if e.path.endswith(".py")]
    return [
        Entry("__main__.py", _MAIN),
        *(Entry(f"bundler/{e.path}", e.data) for e in files),
    ]


def open_bundle(folder: Path) -> Loaded:
    """The experiment in an unpacked bundle, every file held against the list.

    Raises BadBundle when a file is missing, changed or not listed, BadExperiment or BadEvidence when what
    is listed breaks a rule of its own.
    """
    contents = _read_contents(folder)
    found = {entry.path: Digest.of(entry.data) for entry in read_tree(folder) if entry.path != CONTENTS}
    _compare(contents.files, found)
    return load(folder / "proof" / contents.experiment)


def is_bundle(folder: Path) -> bool:
    """Whether ``folder`` claims to be an unpacked bundle."""
    return (folder / CONTENTS).is_file()


def _read_contents(folder: Path) -> Contents:
    path = folder / CONTENTS
    try:
        return Contents.model_validate_json(path.read_bytes())
    except OSError as error:
        raise BadBundle(
            f"{str(path)!r} cannot be read: {error.strerror}",
            hint="name an image, a tar or a folder that bundler froze, or an experiment's folder",
        ) from None
    except ValidationError as error:
        raise BadBundle(f"{str(path)!r} is damaged: {error.errors()[0]['msg']}", hint=_AGAIN) from None


_AGAIN = "this bundle was tampered with or damaged; ask its author for it again, and compare the digest"


def _compare(listed: Mapping[str, Digest], found: Mapping[str, Digest]) -> None:
    for path in sorted(listed.keys() | found.keys()):
        if path not in found:
            raise BadBundle(f"{path!r} is listed and not there", hint=_AGAIN)
        if path not in listed:
            raise BadBundle(f"{path!r} is there and not listed", hint=_AGAIN)
        if listed[path] != found[path]:
            raise BadBundle(f"{path!r} has {found[path]}, listed is {listed[path]}", hint=_AGAIN)
