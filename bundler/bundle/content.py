"""What goes into a bundle, and the list of it that lies inside."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

import bundler
from bundler.bundle.reach import module_name, reached
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

_COMMANDS = "bundler.cli.inside"
_MAIN = f"from {_COMMANDS} import main\n\nmain()\n".encode()


class Contents(Frozen):
    """The list of a bundle's files: whatever is not as listed makes it no bundle."""

    schema_: Literal["bundler/bundle/1"] = Field(alias="schema")
    experiment: Id
    replayer: str
    """Version of bundler."""
    files: dict[str, Digest]
    """By path below the bundle's folder, this list left out."""


def generated_names(experiment: Id) -> frozenset[str]:
    """What ``bundler report --pages`` writes into an experiment's folder, made from the rest of it."""
    kernel = experiment.rpartition("/")[2]
    return frozenset({f"{kernel}-proof.md", "code-diff.md", "charts"})


def experiment_entries(loaded: Loaded) -> list[Entry]:
    """The experiment's folder less what is generated, the skill's, and the list of both.

    Raises BadExperiment as ``read_tree``.
    """
    experiment = loaded.experiment
    generated = generated_names(experiment.id)
    folder = _below(f"proof/{experiment.id}", loaded.folder)
    entries = [e for e in folder if e.path.split("/")[3] not in generated]
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
    """bundler itself as it runs here, as far as a bundle's own commands need it, and what starts it."""
    package = Path(bundler.__file__).resolve().parent
    files = {f"bundler/{e.path}": e.data for e in read_tree(package) if e.path.endswith(".py")}
    sources = {module_name(path): data for path, data in files.items()}
    # Processes are started by name, which no import shows.
    started = [name for name in sources if name.startswith(("bundler.worker", "bundler.host"))]
    needed = reached(sources, [_COMMANDS, *started])
    return [
        Entry("__main__.py", _MAIN),
        *(Entry(path, data) for path, data in files.items() if module_name(path) in needed),
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
