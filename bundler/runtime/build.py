"""From a declaration and its lock to a base image in an OCI layout; and from a declaration to its lock."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bundler.digest import Digest
from bundler.errors import UnavailableError
from bundler.oci.image import Image, append
from bundler.oci.layer import Layer, build_layer, store_layer
from bundler.oci.layout import write_layout
from bundler.oci.tree import Entry
from bundler.runtime import debian, manifest, wheels
from bundler.runtime.debian import Moved
from bundler.runtime.declaration import Declaration, load_declaration
from bundler.runtime.drops import Dropped, apply_drops, sum_up
from bundler.runtime.lock import Lock, load_lock, save_lock
from bundler.runtime.members import Member, read_folder, read_tar, write_tar
from bundler.runtime.tools import Run, run


@dataclass(frozen=True)
class Built:
    """A base image that was built."""

    digest: Digest
    """What a bundle names its base by."""
    layout: Path
    moved: tuple[Moved, ...]
    dropped: tuple[Dropped, ...]
    unpacked_bytes: int
    """Of the files in it."""
    stored_bytes: int
    """Of the layers, which are not compressed."""


@dataclass(frozen=True)
class _Part:
    """A layer, and what went into it."""

    layer: Layer
    going: list[tuple[str, Member]]
    unpacked_bytes: int


Say = Callable[[str], None]


def build_runtime(
    folder: Path,
    out: Path,
    *,
    say: Say,
    mirrors: Sequence[str] = (),
    accept_moved: bool = False,
    run: Run = run,
) -> Built:
    """Build the runtime declared in ``folder``; ``out`` becomes an OCI layout that holds it alone.

    ``mirrors``: where mmdebstrap finds Debian; its own default when empty. ``accept_moved``: take
    other Debian packages than the locked ones, and record which. Raises UnavailableError when a
    locked package is not to be had, BadDataError when a wheel is not the locked one.
    """
    declaration, lock = load_declaration(folder), load_lock(folder)
    with _scratch(out) as scratch:
        layout = scratch / "layout"
        say(f"{declaration.name}: {len(lock.debian)} Debian packages")
        rootfs = scratch / "rootfs.tar"
        debian.make_rootfs(declaration.debian, lock.debian, rootfs, mirrors=mirrors, run=run)
        installed = Lock(debian=debian.read_packages(rootfs), wheels=lock.wheels)
        moved = debian.find_moved(lock.debian, installed.debian)
        if not accept_moved:
            debian.refuse_moved(declaration.name, moved)
        system = _system_part(declaration, rootfs, layout)
        say(f"{declaration.name}: {len(lock.wheels)} wheels")
        site = _site_part(declaration, lock, scratch, layout, run=run)
        dropped = sum_up(declaration, [*system.going, *site.going])
        listed = _list_layer(manifest.manifest_json(declaration, installed, moved))
        image = _image(declaration, [system.layer, site.layer, listed], moved)
        write_layout(image, layout)
        _take_place(layout, out)
    unpacked, stored = system.unpacked_bytes + site.unpacked_bytes, sum(layer.size for layer in image.layers)
    return Built(image.digest, out, moved, dropped, unpacked, stored)


def lock_runtime(folder: Path, *, say: Say, mirrors: Sequence[str] = (), run: Run = run) -> Lock:
    """Resolve the declaration in ``folder`` anew and write its lock there.

    Debian's versions are read from a root filesystem that is built for it. Raises UsageError when
    this Python is not the image's, UnavailableError when a package is not to be had.
    """
    declaration = load_declaration(folder)
    say(f"{declaration.name}: asking pip for {len(declaration.wheels)} wheels and what they need")
    found = wheels.resolve(declaration, run=run)
    say(f"{declaration.name}: building a root filesystem to read Debian's versions")
    with tempfile.TemporaryDirectory() as scratch:
        rootfs = Path(scratch, "rootfs.tar")
        debian.make_rootfs(declaration.debian, {}, rootfs, mirrors=mirrors, run=run)
        packages = debian.read_packages(rootfs)
    manifest.python_version(declaration, packages)
    lock = Lock(debian=packages, wheels=found)
    save_lock(lock, folder)
    return lock


@contextmanager
def _scratch(out: Path) -> Iterator[Path]:
    """Beside ``out``: /tmp is often memory, and a runtime takes gigabytes."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        folder = tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-")
    except OSError as error:
        raise _cannot_write(out, error) from error
    with folder as name:
        yield Path(name)


def _system_part(declaration: Declaration, rootfs: Path, layout: Path) -> _Part:
    with tarfile.open(rootfs) as archive:
        staying, going = apply_drops(read_tar(archive), declaration)
        return _part(staying, going, rootfs.with_name("system.tar"), layout)


def _site_part(declaration: Declaration, lock: Lock, scratch: Path, layout: Path, *, run: Run) -> _Part:
    folder = scratch / "site"
    wheels.install(lock.wheels, declaration.python, folder, run=run)
    _, going = apply_drops(read_folder(folder, declaration.site), declaration)
    for _, member in sorted(going, key=lambda pair: pair[1].path, reverse=True):
        _remove(folder / member.path.removeprefix(f"{declaration.site}/"))
    wheels.trim_records(folder)
    part = _part(list(read_folder(folder, declaration.site)), going, scratch / "site.tar", layout)
    shutil.rmtree(folder)
    return part


def _remove(path: Path) -> None:
    """Bottom up, so a folder is empty by then, unless a file in it is kept."""
    if path.is_dir() and not path.is_symlink():
        if not any(path.iterdir()):
            path.rmdir()
    else:
        path.unlink()


def _part(staying: list[Member], going: list[tuple[str, Member]], tar: Path, layout: Path) -> _Part:
    write_tar(staying, tar)
    layer = store_layer(tar, layout)
    tar.unlink()
    return _Part(layer, going, sum(member.size for member in staying))


def _list_layer(content: bytes) -> Layer:
    """By itself: a moved Debian package must not change the layer of the wheels, which is large."""
    return build_layer([Entry(manifest.FILE_NAME, content)], prefix=manifest.FOLDER)


def _image(declaration: Declaration, layers: Sequence[Layer], moved: Sequence[Moved]) -> Image:
    return append(
        None,
        layers,
        entrypoint=(),
        cmd=("python3",),
        user=declaration.user,
        working_dir="/tmp",  # noqa: S108 (the image's own; the only folder that is writable in it)
        env=declaration.env,
        labels=manifest.labels(declaration, moved),
        comments=("Debian", "wheels", "the list of both"),
    )


def _take_place(layout: Path, out: Path) -> None:
    try:
        if out.exists():
            shutil.rmtree(out)
        layout.rename(out)
    except OSError as error:
        raise _cannot_write(out, error) from error


def _cannot_write(out: Path, error: OSError) -> UnavailableError:
    return UnavailableError(f"cannot write {out}: {error.strerror}", hint="name a folder that is yours")
