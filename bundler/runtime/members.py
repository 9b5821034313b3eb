"""Files of a layer as values with names, wherever their bytes lie, and one tar that they give.

Kept: path, bytes, mode without set-uid and set-gid, numeric owner, symlinks. Not kept: times, names
of owners, hard links (each gets its bytes), devices and pipes, which an engine makes itself.
"""

from __future__ import annotations

import shutil
import stat
import tarfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast

from bundler.oci.tar import BLOCK_BYTES, END, MODIFIED_S, padding

_COPY_BYTES = 1024 * 1024
_NO_SETUID = 0o1777


@dataclass(frozen=True)
class Member:
    """One file, folder or symlink."""

    path: str
    """Posix, from the image's root, no leading slash."""
    kind: bytes
    """As tar has it: ``tarfile.REGTYPE``, ``DIRTYPE`` or ``SYMTYPE``."""
    mode: int
    size: int = 0
    """In bytes; 0 for what is no file."""
    target: str = ""
    """Of a symlink."""
    uid: int = 0
    gid: int = 0
    open: Callable[[], BinaryIO] | None = field(default=None, compare=False)
    """The bytes of a file, as often as they are asked for."""


def read_tar(archive: tarfile.TarFile) -> Iterator[Member]:
    """The members of a root filesystem's tar; ``archive`` stays open while they are used."""
    for info in archive:
        path = info.name.removeprefix("./").strip("/")
        member = Member(path, info.type, info.mode & _NO_SETUID, uid=info.uid, gid=info.gid)
        if not path or path == ".":
            continue
        if info.isfile() or info.islnk():
            source = archive.getmember(info.linkname) if info.islnk() else info
            read = partial(_extract, archive, source)
            yield replace(member, kind=tarfile.REGTYPE, size=source.size, open=read)
        elif info.issym():
            yield replace(member, mode=0o777, target=info.linkname)
        elif info.isdir():
            yield member


def _extract(archive: tarfile.TarFile, info: tarfile.TarInfo) -> BinaryIO:
    return cast(BinaryIO, archive.extractfile(info))


def read_folder(folder: Path, prefix: str) -> Iterator[Member]:
    """What lies below ``folder``, as root's, at ``prefix``; modes are 0755 and 0644."""
    for path in folder.rglob("*"):
        name = f"{prefix}/{path.relative_to(folder).as_posix()}"
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            yield Member(name, tarfile.SYMTYPE, 0o777, target=str(path.readlink()))
        elif stat.S_ISDIR(status.st_mode):
            yield Member(name, tarfile.DIRTYPE, 0o755)
        else:
            mode = 0o755 if status.st_mode & stat.S_IXUSR else 0o644
            yield Member(name, tarfile.REGTYPE, mode, status.st_size, open=partial(_open, path))


def _open(path: Path) -> BinaryIO:
    return path.open("rb")


def write_tar(members: Iterable[Member], path: Path) -> None:
    """Write ``members`` to ``path``, sorted; the same members give the same bytes."""
    with path.open("wb") as stream:
        for member in sorted(members, key=lambda member: member.path.encode()):
            stream.write(_header(member))
            if member.open is not None:
                with member.open() as source:
                    shutil.copyfileobj(source, stream, _COPY_BYTES)
                stream.write(padding(member.size))
        stream.write(END)


def _header(member: Member) -> bytes:
    """A ustar header, with PAX records before it only where a name needs them."""
    info = tarfile.TarInfo(member.path)
    info.type, info.mode, info.size = member.kind, member.mode, member.size
    info.uid, info.gid, info.linkname, info.mtime = member.uid, member.gid, member.target, MODIFIED_S
    header = info.tobuf(tarfile.PAX_FORMAT, encoding="utf-8", errors="strict")
    assert len(header) % BLOCK_BYTES == 0
    return header
