"""``bundler freeze`` and ``bundler rebase``: write a bundle."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bundler.bundle.freeze import EXPERIMENT_LABEL, Frozen, find_base, put_on, write
from bundler.bundle.freeze import freeze as freeze_experiment
from bundler.errors import UsageError
from bundler.experiment.check import errors_of
from bundler.experiment.load import load
from bundler.experiment.place import existing, experiment_folder
from bundler.files import check_folder_writable, check_writable
from bundler.oci.archive_reader import read_archive
from bundler.oci.image import Image
from bundler.oci.layout import read_layout
from bundler.report.text import count

Output = Annotated[
    str,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE|FOLDER/",
        help="The tar to write. A name that ends with /, or a folder that is there, becomes an OCI layout, "
        "whose base is linked, not copied.",
    ),
]
_LAYOUT = "oci-layout"
_NAME_FROZEN = "name a tar or an OCI layout that bundler froze; of an image: docker save IMAGE -o FILE"
Thin = Annotated[
    bool, typer.Option("--thin", help="Leave the base's layers out: loads only where Docker has the base.")
]


def freeze(
    folder: Annotated[Path, typer.Argument(help="proof/<category>/<kernel>")],
    output: Output,
    base: Annotated[
        str | None,
        typer.Option(help="cpu, cuda13, an OCI layout or a tar. The experiment's own runtime by default."),
    ] = None,
    bare: Annotated[
        bool, typer.Option("--bare", help="Without a runtime; rebase puts it on one later.")
    ] = False,
    thin: Thin = False,
    tag: Annotated[str | None, typer.Option(help="The image's name, as NAME:TAG.")] = None,
) -> None:
    """Freeze an experiment into one tar that is both an OCI layout and a Docker archive, or into a folder.

    The same experiment, bundler and base give the same bytes on every machine.
    """
    if bare and base is not None:
        raise UsageError("--bare and --base contradict each other", hint="give one of the two")
    _check_output(output)
    loaded = load(experiment_folder(folder))
    image = None if bare else find_base(base or loaded.experiment.runtime.name, loaded.root)
    _write(freeze_experiment(loaded, image), output, tag or _tag(loaded.experiment.id), thin)
    if errors := errors_of(loaded):
        below = f"{count(len(errors), 'error')}, so no bundle to publish yet: bundler check {folder}"
        typer.echo(f"below the minimum bar: {below}", err=True)


def rebase(
    archive: Annotated[Path, typer.Argument(help="A tar, or an OCI layout, that bundler froze.")],
    base: Annotated[str, typer.Option(help="cpu, cuda13, an OCI layout or a tar.")],
    output: Output,
    thin: Thin = False,
    tag: Annotated[str | None, typer.Option(help="The image's name, as NAME:TAG.")] = None,
) -> None:
    """Put a frozen experiment on another runtime; the result is what freezing on it would have given."""
    _check_output(output)
    image = _frozen(archive)
    name = image.config.labels.get(EXPERIMENT_LABEL, "experiment")
    _write(put_on(image, find_base(base, Path.cwd())), output, tag or _tag(name), thin)


def _frozen(path: Path) -> Image:
    if not existing(path, _NAME_FROZEN).is_dir():
        return read_archive(path, allow_thin=True)
    if not (path / _LAYOUT).is_file():
        raise UsageError(f"{str(path)!r} is no OCI layout: it has no {_LAYOUT}", hint=_NAME_FROZEN)
    return read_layout(path)


def _is_folder(output: str) -> bool:
    return output.endswith("/") or Path(output).is_dir()


def _check_output(output: str) -> None:
    if _is_folder(output):
        check_folder_writable(Path(output))
    else:
        check_writable(Path(output))


def _tag(experiment: str) -> str:
    return f"{experiment.replace('/', '-')}:latest"


def _write(frozen: Frozen, output: str, tag: str, thin: bool) -> None:
    path = Path(output)
    write(frozen.image, path, reference=tag, thin=thin, folder=_is_folder(output))
    typer.echo(f"{frozen.image.digest}  {output}")
    typer.echo(
        f"{tag}: {len(frozen.image.layers)} layers; the experiment and the replayer add "
        f"{frozen.added_bytes / 1024:.0f} KiB",
        err=True,
    )
