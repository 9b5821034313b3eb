"""``python -m bundler.runtime``: build runtimes and lock them. No logic here."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bundler.errors import BundlerError
from bundler.runtime.build import build_runtime, lock_runtime

app = typer.Typer(help="Build the base images that bundles run on.", no_args_is_help=True)

Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="Folders below --images: cpu, cuda13.")]
Images = Annotated[Path, typer.Option(help="Where the declarations and locks are.")]
Mirrors = Annotated[
    list[str] | None,
    typer.Option("--mirror", help="Where to find Debian, as mmdebstrap takes it. Repeatable."),
]


@app.command()
def build(
    names: Names,
    images: Images = Path("images"),
    out: Annotated[Path, typer.Option(help="Each image becomes the OCI layout OUT/NAME.")] = Path(
        "build/images"
    ),
    accept_moved_packages: Annotated[
        bool,
        typer.Option("--accept-moved-packages", help="Go on where Debian has other versions than the lock."),
    ] = False,
    mirror: Mirrors = None,
) -> None:
    """Build base images and print their digests."""
    for name in names:
        built = build_runtime(
            images / name, out / name, say=_say, mirrors=mirror or (), accept_moved=accept_moved_packages
        )
        for moved in built.moved:
            _say(f"{name}: moved: {moved}")
        for dropped in built.dropped:
            _say(f"{name}: dropped {dropped.files} files, {dropped.size_bytes / 1e6:.1f} MB: {dropped.why}")
        unpacked_mb, stored_mb = built.unpacked_bytes / 1e6, built.stored_bytes / 1e6
        _say(f"{name}: {unpacked_mb:.0f} MB unpacked, {stored_mb:.0f} MB stored in {built.layout}")
        typer.echo(f"{name} {built.digest}")


@app.command()
def lock(names: Names, images: Images = Path("images"), mirror: Mirrors = None) -> None:
    """Resolve the declarations anew and write their locks."""
    for name in names:
        found = lock_runtime(images / name, say=_say, mirrors=mirror or ())
        typer.echo(f"{name}: locked {len(found.debian)} Debian packages and {len(found.wheels)} wheels")


def _say(line: str) -> None:
    typer.echo(line, err=True)


def main() -> None:
    """Run, and end with the error's own exit code."""
    try:
        app()
    except BundlerError as error:
        typer.echo(str(error), err=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
