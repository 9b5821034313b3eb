"""What goes into a bundle: the experiment with the list of its files, and the replayer."""

from __future__ import annotations

import json
from pathlib import Path

import bundler
from bundler.bundle.listing import CONTENTS, SCHEMA, Contents
from bundler.bundle.reach import module_name, reached
from bundler.digest import Digest
from bundler.experiment.load import Loaded
from bundler.model.base import Id
from bundler.oci.tree import Entry, read_tree

BUNDLE_PREFIX = "bundle"
"""Where the experiment lies in the image: the repository's own layout, below this folder."""
REPLAYER_PREFIX = "opt/bundler"

_COMMANDS = "bundler.cli.inside"
_MAIN = f"""\
from bundler import interrupts

interrupts.handle()

from {_COMMANDS} import main

main()
""".encode()
"""The signals first: docker stop may come while the rest is imported."""


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
