"""What a command is pointed at: an experiment's folder, an unpacked bundle, an archive, an image's name."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bundler.bundle.freeze import EXPERIMENT_LABEL
from bundler.bundle.listing import open_bundle
from bundler.bundle.unpack import Parts, parts, unpack_experiment
from bundler.engine.folder import LAYOUT, Folder
from bundler.errors import UsageError
from bundler.experiment.load import Loaded
from bundler.files import temporary_folder
from bundler.oci.archive_reader import read_archive
from bundler.oci.image import BASE_DIGEST_LABEL, Image
from bundler.oci.layout import read_layout
from bundler.runtime.manifest import NAME_LABEL


@dataclass(frozen=True)
class Archive:
    """A tar, or an OCI layout, with a bundle in it."""

    path: Path


@dataclass(frozen=True)
class ImageName:
    """An image that an engine knows."""

    name: str


Target = Folder | Archive | ImageName
_IMAGE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]*")
"""What any engine could take for an image; the engine says the rest."""
_HINT = "name a folder, a tar, or an image"


def parse(text: str) -> Target:
    """What ``text`` means: what is on disk under that name comes first, else it is an image's name."""
    path = Path(text)
    try:
        if text and path.is_dir():
            return Archive(path) if (path / LAYOUT).is_file() else Folder(path)
        if text and path.exists():
            return Archive(path)  # a pipe or a device is refused where it is read
    except OSError as error:
        raise UsageError(f"{text!r} cannot be looked at: {error.strerror}", hint=_HINT) from None
    if _is_path(text) or not _IMAGE_NAME.fullmatch(text):
        raise UsageError(f"{text!r} does not exist", hint=_HINT)
    return ImageName(text)


def _is_path(text: str) -> bool:
    """Whether it can only be meant as a path: no engine need be asked whether it has such an image."""
    below = "/" in text and ":" not in text and Path(text).parts[0]
    return text.startswith((".", "/", "~")) or text.endswith(".tar") or bool(below and Path(below).is_dir())


def read_image(path: Path) -> Image:
    """The image in a tar or an OCI layout, every blob verified."""
    return read_layout(path) if path.is_dir() else read_archive(path, allow_thin=True)


@dataclass(frozen=True)
class Opened:
    """A bundle from an archive, unpacked for as long as it is needed."""

    loaded: Loaded
    image: Image
    bundle: Parts


def refuse_base(labels: Mapping[str, str], what: str, base: str) -> None:
    """Raise UsageError for an image that is a runtime alone; ``base``: the option that freezes onto it."""
    if NAME_LABEL in labels and not {EXPERIMENT_LABEL, BASE_DIGEST_LABEL} & labels.keys():
        raise UsageError(
            f"{what} is the runtime {labels[NAME_LABEL]!r}, a base without an experiment in it",
            hint=f"freeze onto it: bundler freeze proof/<category>/<kernel> {base} -o FILE; then name FILE",
        )


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Opened]:
    """Unpack the bundle in ``path`` into a temporary folder. Nothing of it is run."""
    image = read_image(path)
    refuse_base(image.config.labels, repr(str(path)), f"--base {path}")
    bundle = parts(image)
    with temporary_folder() as scratch:
        folder = scratch / "bundle"
        unpack_experiment(bundle, folder)
        yield Opened(open_bundle(folder), image, bundle)
