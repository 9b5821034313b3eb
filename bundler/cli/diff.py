"""``bundler diff``: what differs between two bundles."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Annotated

import typer

from bundler.bundle.diff import Packed, Side
from bundler.bundle.diff import diff as changes
from bundler.cli.console import console
from bundler.engine import target as targets
from bundler.engine.target import Opened
from bundler.errors import ExitCode, UsageError
from bundler.report.changes import show

_TARGET = "A bundle's tar, OCI layout or unpacked folder, or an experiment's folder."
_VERSION = "org.opencontainers.image.version"


def diff(
    before: Annotated[str, typer.Argument(help=_TARGET)],
    after: Annotated[str, typer.Argument(help="The same, of the newer one.")],
    full: Annotated[bool, typer.Option("--full", help="Show what changed in each text as well.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of the changes.")] = False,
) -> None:
    """Say what differs between two bundles. Runs nothing of them.

    Exits with 0 when they are the same, with 1 when they differ. A folder has no base and no replayer, so
    those are compared only between two images.

    Example: bundler diff row-max-old.oci.tar proof/portability/row-max
    """
    with _side(before) as one, _side(after) as two:
        found = changes(one, two)
        if as_json:
            typer.echo(json.dumps([change.model_dump(mode="json") for change in found], indent=1))
        else:
            show(console(), found, _notes(before, one, after, two), full=full)
    raise typer.Exit(ExitCode.DIFFERS if found else ExitCode.OK)


def _notes(before: str, one: Side, after: str, two: Side) -> list[str]:
    """What was not compared, and why."""
    bare = [name for name, side in ((before, one), (after, two)) if side.packed is None]
    if not bare:
        return []
    return [f"base image and replayer not compared: {', '.join(map(repr, bare))}: no image"]


@contextlib.contextmanager
def _side(text: str) -> Iterator[Side]:
    target = targets.parse(text)
    if isinstance(target, targets.Folder):
        yield Side(targets.load_folder(target.path))
    elif isinstance(target, targets.Archive):
        with targets.opened(target.path) as bundle:
            yield Side(bundle.loaded, _packed(bundle))
    else:
        raise UsageError(
            f"{target.name!r} is an image's name",
            hint=f"docker save {target.name} -o x.tar, and name the tar",
        )


def _packed(bundle: Opened) -> Packed:
    return Packed(
        image=bundle.image.digest,
        base_digest=bundle.bundle.base_digest,
        replayer_version=bundle.image.config.labels.get(_VERSION, "unknown"),
        replayer_layer=bundle.bundle.replayer.diff_id,
    )
