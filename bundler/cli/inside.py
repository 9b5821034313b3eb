"""The commands of a bundle's container: what a reviewer needs there, and no more.

They read a folder, in the main the bundle's own. Nothing here imports what reads tars and images or speaks
to Docker, so that the image carries none of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from bundler import interrupts
from bundler.cli import host, show, verify
from bundler.cli.short import INSIDE
from bundler.cli.targets import Targets
from bundler.cli.top import new_app, run
from bundler.engine.folder import LAYOUT, Folder, load_folder, verified_folder
from bundler.engine.lifeline import end_with_asker
from bundler.engine.replayed import Engine, Options, Plan, Replayed
from bundler.errors import UsageError
from bundler.experiment.load import Loaded


def _folder(text: str) -> Path:
    path = Path(text)
    try:
        if path.is_dir() and not (path / LAYOUT).is_file():
            return path
    except OSError as error:
        raise UsageError(f"{text!r} cannot be looked at: {error.strerror}", hint=_HINT) from None
    raise UsageError(f"{text!r} is no folder: {_ONLY}", hint=_HINT)


_ONLY = "inside a container only the bundle itself can be verified and shown"
_HINT = "name nothing, for the bundle itself; a bundler outside takes tars and images"


@contextlib.contextmanager
def _loaded(text: str) -> Iterator[Loaded]:
    yield load_folder(_folder(text))


@contextlib.contextmanager
def _based(text: str) -> Iterator[tuple[Loaded, str]]:
    with _loaded(text) as loaded:
        yield loaded, str((show.runtime_manifest() or {}).get("name") or "a base without a name")


@contextlib.contextmanager
def _verified(text: str, plan: Plan, options: Options) -> Iterator[Replayed]:
    if options.engine is Engine.DOCKER:
        raise UsageError(f"--engine docker: {_ONLY}, by the Python that is there", hint="leave --engine out")
    yield verified_folder(Folder(_folder(text)), plan, options)


app = new_app(Targets(_loaded, _based, _verified))
app.command(short_help=INSIDE["verify"])(verify.verify)
app.command(short_help=INSIDE["show"])(show.show)
app.command(short_help=INSIDE["env"])(show.env)
app.command(short_help=INSIDE["extract"])(show.extract)
app.command(short_help=INSIDE["host"])(host.host)


def main() -> None:
    """Run the command line and exit."""
    if interrupts.for_another():
        end_with_asker()
    run(app)
