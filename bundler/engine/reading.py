"""The experiment in whatever holds it, an image that Docker has included. Nothing of it is run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bundler.bundle.content import REPLAYER_PREFIX
from bundler.bundle.listing import open_bundle
from bundler.digest import Digest
from bundler.engine.folder import Folder, load_folder
from bundler.engine.target import Archive, Target, opened, refuse_base
from bundler.errors import UnavailableError
from bundler.experiment.load import Loaded
from bundler.files import temporary_folder
from bundler.oci.layer import build_layer
from bundler.oci.unpack import unpack
from bundler.runtime.manifest import NAME_LABEL

if TYPE_CHECKING:
    from bundler.engine.docker import Container, Docker


@dataclass(frozen=True)
class InDocker:
    """What an image that Docker has holds."""

    loaded: Loaded
    labels: Mapping[str, str]
    replayer_layer: Digest
    """The diff id of the layer that the replayer's files make, read as a container would see them."""


@contextlib.contextmanager
def experiment_of(target: Target) -> Iterator[Loaded]:
    """The experiment that ``target`` holds; its files are there inside the block.

    Raises BundlerError, as everything that it calls; UnavailableError where an image is named and no Docker
    answers.
    """
    with labelled(target) as (loaded, _):
        yield loaded


@contextlib.contextmanager
def labelled(target: Target) -> Iterator[tuple[Loaded, Mapping[str, str] | None]]:
    """The same, with the labels of the image that it is in; a folder has none."""
    if isinstance(target, Folder):
        yield load_folder(target.path), None
    elif isinstance(target, Archive):
        with opened(target.path) as bundle:
            yield bundle.loaded, bundle.image.config.labels
    else:
        with in_docker(target.name) as image:
            yield image.loaded, image.labels


@contextlib.contextmanager
def in_docker(name: str) -> Iterator[InDocker]:
    """The experiment in the image ``name``, read out of a container that is made and never started."""
    with (
        contextlib.closing(connect_for(name)) as docker,
        docker.container(name, ["--help"], gpu=False) as container,
        temporary_folder() as scratch,
    ):
        loaded = read_out(container, scratch / "bundle")
        replayer = build_layer(container.entries(f"/{REPLAYER_PREFIX}"), REPLAYER_PREFIX)
        yield InDocker(loaded, container.labels(), replayer.diff_id)


def read_out(container: Container, folder: Path) -> Loaded:
    """The experiment in a container, whether or not it ran, unpacked below ``folder``."""
    labels = container.labels()
    refuse_base(labels, "the image", f"--base {labels.get(NAME_LABEL)}")
    unpack(container.entries("/bundle"), folder)
    return open_bundle(folder)


def connect(instead: str = "add --engine host to use this machine's own Python") -> Docker:
    """The engine; its client is imported here alone, since a bundle's runtime has none.

    Raises UnavailableError, whose hint has ``instead`` as what to do without one.
    """
    try:
        from bundler.engine.docker import Docker  # noqa: PLC0415
    except ImportError:
        raise UnavailableError(
            "the Python package docker is not installed", hint=f"pip install docker, or {instead}"
        ) from None
    return Docker.connect(instead)


def connect_for(name: str) -> Docker:
    """The same for an image's name, for which --engine host is no way out."""
    try:
        return connect(f"name a tar of it: docker save {name} -o FILE, with an engine that has the image")
    except UnavailableError as error:
        raise UnavailableError(f"{name!r} is an image's name, and {error.problem}", hint=error.hint) from None
