"""The parts of a bundle's image, from an archive that a stranger made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bundler.bundle.content import BUNDLE_PREFIX, REPLAYER_PREFIX, replayer_entries
from bundler.bundle.freeze import replayer_layer
from bundler.errors import BadBundle
from bundler.oci.image import BASE_DIGEST_LABEL, Image, own_layers
from bundler.oci.layer import Layer
from bundler.oci.tree import Entry
from bundler.oci.unpack import read_layer_entries, unpack


@dataclass(frozen=True)
class Parts:
    """The two layers of a bundle that are its own."""

    replayer: Layer
    experiment: Layer
    base_digest: str
    """Of the runtime; empty for a bare bundle."""

    def other_files(self) -> list[str]:
        """The files of the bundle's replayer that are not, byte for byte, those of this very bundler:
        changed, missing or additional. Empty when the two are the same."""
        if self.replayer.diff_id == replayer_layer().diff_id:
            return []
        bundles = {(entry.path, entry.data, entry.executable) for entry in replayer_files(self)}
        here = {(entry.path, entry.data, entry.executable) for entry in replayer_entries()}
        return sorted({path for path, _, _ in bundles ^ here})


def parts(image: Image) -> Parts:
    """The bundle's own layers; BadBundle for an image that bundler did not freeze."""
    own = own_layers(image)
    if len(own) != 2:
        raise BadBundle(
            f"the image has {len(own)} layers on its base, a bundle has two",
            hint="name an image that bundler froze",
        )
    return Parts(own[0], own[1], image.config.labels.get(BASE_DIGEST_LABEL, ""))


def unpack_experiment(bundle: Parts, folder: Path) -> None:
    """Write the bundle's experiment below ``folder``, which must not exist. Runs nothing."""
    unpack(_stripped(read_layer_entries(bundle.experiment), BUNDLE_PREFIX), folder)


def unpack_replayer(bundle: Parts, folder: Path) -> None:
    """Write the bundle's replayer below ``folder``, which must not exist. Runs nothing."""
    unpack(replayer_files(bundle), folder)


def replayer_files(bundle: Parts) -> list[Entry]:
    """The files of the bundle's replayer, by path below its own folder."""
    return _stripped(read_layer_entries(bundle.replayer), REPLAYER_PREFIX)


def _stripped(entries: list[Entry], prefix: str) -> list[Entry]:
    stripped = []
    for entry in entries:
        if not entry.path.startswith(f"{prefix}/"):
            raise BadBundle(
                f"the layer has {entry.path!r}, outside of /{prefix}", hint="name an image that bundler froze"
            )
        stripped.append(Entry(entry.path.removeprefix(f"{prefix}/"), entry.data, entry.executable))
    return stripped
