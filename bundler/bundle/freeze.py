"""From an experiment's folder to an image: the runtime's layers, the replayer, the experiment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import bundler
from bundler.bundle.content import BUNDLE_PREFIX, REPLAYER_PREFIX, experiment_entries, replayer_entries
from bundler.errors import BadBundle, BadExperiment, UnavailableError, UsageError
from bundler.experiment.load import Loaded
from bundler.files import cannot_write, filling
from bundler.oci.archive import write_archive
from bundler.oci.archive_reader import read_archive
from bundler.oci.image import Image, append, own_layers, rebase
from bundler.oci.layer import Layer, build_layer
from bundler.oci.layout import leave_only, read_layout, write_layout
from bundler.oci.reference import Reference
from bundler.oci.unpack import read_layer_entries

RUNTIMES = Path("build/images")
"""Where ``make images`` puts the bases, relative to the repository's root."""
EXPERIMENT_LABEL = "bundler.experiment"
USER = "65534:65534"
ENTRYPOINT = ("python3", "-P", "-s", "-B", f"/{REPLAYER_PREFIX}")


@dataclass(frozen=True)
class Frozen:
    """A frozen experiment."""

    image: Image
    added_bytes: int
    """What the replayer's and the experiment's layers add to the base."""


def freeze(loaded: Loaded, base: Image | None) -> Frozen:
    """The bundle of ``loaded`` on ``base``; without one it cannot be run until it is rebased.

    The image depends on the experiment, the replayer and the base alone. Raises BadExperiment for one of more
    files or bytes than are unpacked again.
    """
    experiment = loaded.experiment
    layers = [replayer_layer(), _experiment_layer(loaded)]
    image = append(
        base,
        layers,
        entrypoint=ENTRYPOINT,
        cmd=("verify",),
        user=USER,
        working_dir="/tmp",  # noqa: S108 (the one folder that is writable under --read-only)
        env={"BUNDLER_BUNDLE": f"/{BUNDLE_PREFIX}", "PYTHONDONTWRITEBYTECODE": "1"},
        labels={
            EXPERIMENT_LABEL: experiment.id,
            "org.opencontainers.image.title": f"bundler: {experiment.id}",
            "org.opencontainers.image.description": experiment.title,
            "org.opencontainers.image.version": bundler.__version__,
        },
        comments=(f"replayer {bundler.__version__}", f"experiment {experiment.id}"),
    )
    return Frozen(image, sum(layer.size for layer in layers))


def _experiment_layer(loaded: Loaded) -> Layer:
    """Opened again, since a layer of more than is unpacked would be a bundle that nobody can open."""
    layer = build_layer(experiment_entries(loaded), BUNDLE_PREFIX)
    try:
        read_layer_entries(layer)
    except BadBundle as error:
        raise BadExperiment(
            f"{loaded.experiment.id!r} would make a bundle that cannot be opened: {error.problem}",
            hint="keep only what a replay needs in the experiment's folder and in the skill's",
        ) from None
    return layer


def replayer_layer() -> Layer:
    """This very bundler as a layer."""
    return build_layer(replayer_entries(), REPLAYER_PREFIX)


def put_on(image: Image, base: Image | None) -> Frozen:
    """The same bundle on another base."""
    moved = rebase(image, base)
    return Frozen(moved, sum(layer.size for layer in own_layers(moved)))


def write(image: Image, path: Path, *, reference: str, thin: bool, folder: bool) -> None:
    """Write a bundle: a tar, or, as ``folder``, an OCI layout, whose base is linked where that can be.

    Raises UsageError for a folder that holds something else, or is to be thin; else as ``write_archive``.
    """
    if not folder:
        write_archive(image, path, reference=reference, thin=thin)
        return
    if thin:
        raise UsageError("--thin is for a tar", hint="leave it out: a folder links to the base's layers")
    name = Reference.parse(reference)
    _check_replaceable(path)
    try:
        with filling(path):
            write_layout(image, path, reference=name)
            leave_only(image, path)
    except OSError as error:
        raise cannot_write(path, error) from None


def _check_replaceable(folder: Path) -> None:
    """It is not there, is empty, or holds a bundle alone: whatever is in it goes."""
    try:
        if not folder.is_dir() or not any(folder.iterdir()):
            return
        if EXPERIMENT_LABEL in read_layout(folder, own_store=True).config.labels:
            return
    except (BadBundle, OSError):
        pass
    raise UsageError(f"{str(folder)!r} is there, and no bundle", hint="name a folder that does not exist yet")


def find_base(name: str, root: Path) -> Image:
    """The base that ``name`` means: a runtime of ``images/`` as built below ``root``, a folder, or a tar.

    Raises UsageError for a name that is none of them, UnavailableError for a runtime that is not built.
    """
    built = root / RUNTIMES / name
    if (built / "oci-layout").is_file():
        return read_layout(built, own_store=True)
    path = Path(name)
    if path.is_dir():
        return read_layout(path)
    if path.is_file():
        return read_archive(path)
    if (root / "images" / name / "runtime.yaml").is_file():
        raise UnavailableError(
            f"the runtime {name!r} is not built: {str(built)!r} is not there",
            hint=f"run: make images RUNTIMES={name}, or freeze with --bare and rebase later",
        )
    raise UsageError(
        f"{name!r} is no base: neither a runtime of images/, nor an OCI layout, nor a tar",
        hint="use cpu, cuda13, a folder or a tar",
    )
