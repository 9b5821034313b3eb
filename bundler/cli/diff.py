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
from bundler.digest import Digest
from bundler.engine import target as targets
from bundler.engine.folder import Folder, load_folder
from bundler.engine.reading import InDocker, in_docker
from bundler.engine.target import Opened
from bundler.errors import ExitCode
from bundler.oci.image import BASE_DIGEST_LABEL
from bundler.report.changes import show

_TARGET = "A bundle's image, tar, OCI layout or unpacked folder, or an experiment's folder."
_VERSION = "org.opencontainers.image.version"
_UNTOLD = Digest.of(b"")
"""In place of an image's digest where Docker has the image: it repacks layers, and writes a manifest anew."""


def diff(
    before: Annotated[str, typer.Argument(help=_TARGET)],
    after: Annotated[str, typer.Argument(help="The same, of the newer one.")],
    full: Annotated[bool, typer.Option("--full", help="Show what changed in each text as well.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of the changes.")] = False,
) -> None:
    """Say what differs between two bundles. Runs nothing of them.

    Exits with 0 when they are the same, with 1 when they differ. A folder has no base and no replayer, so
    those are compared only between two images.
    """
    with _side(before) as one, _side(after) as two:
        found = changes(*_comparable(one, two))
        if as_json:
            typer.echo(json.dumps([change.model_dump(mode="json") for change in found], indent=1))
        else:
            show(console(), found, _notes(before, one, after, two), full=full)
    raise typer.Exit(ExitCode.DIFFERS if found else ExitCode.OK)


def _notes(before: str, one: Side, after: str, two: Side) -> list[str]:
    """What was not compared, and why."""
    sides = ((before, one.packed), (after, two.packed))
    if bare := [name for name, packed in sides if packed is None]:
        return [f"base image and replayer not compared: {', '.join(map(repr, bare))}: no image"]
    if named := [name for name, packed in sides if packed and packed.image == _UNTOLD]:
        told = ", ".join(map(repr, named))
        return [
            f"base image compared by its label alone, configuration not compared: {told}: read through Docker"
        ]
    return []


@contextlib.contextmanager
def _side(text: str) -> Iterator[Side]:
    target = targets.parse(text)
    if isinstance(target, Folder):
        yield Side(load_folder(target.path))
    elif isinstance(target, targets.Archive):
        with targets.opened(target.path) as bundle:
            yield Side(bundle.loaded, _packed(bundle))
    else:
        with in_docker(target.name) as image:
            yield Side(image.loaded, _described(image))


def _described(image: InDocker) -> Packed:
    return Packed(
        image=_UNTOLD,
        base_digest=image.labels.get(BASE_DIGEST_LABEL, ""),
        replayer_version=image.labels.get(_VERSION, "unknown"),
        replayer_layer=image.replayer_layer,
    )


def _comparable(one: Side, two: Side) -> tuple[Side, Side]:
    """Both without the image's digest where one of them has none."""
    if one.packed and two.packed and _UNTOLD in (one.packed.image, two.packed.image):
        return (
            one._replace(packed=one.packed._replace(image=_UNTOLD)),
            two._replace(packed=two.packed._replace(image=_UNTOLD)),
        )
    return one, two


def _packed(bundle: Opened) -> Packed:
    return Packed(
        image=bundle.image.digest,
        base_digest=bundle.bundle.base_digest,
        replayer_version=bundle.image.config.labels.get(_VERSION, "unknown"),
        replayer_layer=bundle.bundle.replayer.diff_id,
    )
