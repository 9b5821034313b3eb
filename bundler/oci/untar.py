"""Where a stranger's tar has its members. Nothing is extracted, nothing is followed.

``tarfile`` is not used: it reads extension headers of any size into memory, follows GNU's and
Solaris' extensions, and changes between versions of Python. Here a member is a file, a folder or a
symlink; all else is refused.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO

from bundler.errors import BadBundle
from bundler.names import path_problem
from bundler.oci.tar import BLOCK_BYTES

_MAX_PAX_BYTES = 64 * 1024
_KNOWN_RECORDS = frozenset(
    {"path", "linkpath", "size", "mtime", "atime", "ctime", "uid", "gid", "uname", "gname", "comment"}
)
"""Others (sparse maps, character sets) change what a member means, or are not for us."""
_REFUSED_KINDS = {
    b"1": "a hard link",
    b"3": "a device",
    b"4": "a device",
    b"6": "a pipe",
    b"7": "a contiguous file",
    b"g": "a header for all members",
    b"L": "a GNU long name",
    b"K": "a GNU long link",
    b"S": "a GNU sparse file",
}
_OCTAL = re.compile(rb" *([0-7]*)[ \0]*")
_RECORD = re.compile(rb"([1-9][0-9]{0,5}) ([^=\n\0]+)=")
_NO_TAR = (
    "name what bundler froze, an image, or proof/<category>/<kernel>; evidence is for report and compare. "
    "A tar that is damaged has to be asked for again"
)
_HINT = "the file was damaged, tampered with, or not written by bundler or Docker; ask for it again"


class Kind(enum.Enum):
    """What a member is."""

    FILE = "file"
    FOLDER = "folder"
    SYMLINK = "symlink"


@dataclass(frozen=True)
class Member:
    """One member, and where its bytes are."""

    name: str
    """Relative, no ``..``, no trailing slash."""
    kind: Kind
    offset: int
    size: int
    executable: bool
    target: str
    """Of a symlink, as written and unchecked; else empty."""


def read_members(stream: BinaryIO, *, size: int, limit: int, name: str) -> Iterator[Member]:
    """The members of the tar of ``size`` bytes in ``stream``, in order, each name once.

    Raises BadBundle, quoting ``name``, for a tar that is cut short, has more than ``limit``
    headers, or holds what it should not.
    """
    seen: set[str] = set()
    records: Mapping[str, str] = {}
    position = 0
    for _ in range(limit):
        block = _read_at(stream, position, BLOCK_BYTES, name)
        if not any(block):
            if records:
                raise _bad(name, "ends after a header that should describe a member")
            return
        header = _Header(block, records, name)
        start = position + BLOCK_BYTES
        position = start + header.size + -header.size % BLOCK_BYTES
        if position > size:
            raise _bad(name, f"ends too early, inside {header.path!r}")
        if header.kind == b"x":
            records = _records(stream, start, header, name)
            continue
        records = {}
        member = _member(header, start, name)
        if member is None:
            continue
        if member.name in seen:
            raise _bad(name, f"holds {member.name!r} twice")
        seen.add(member.name)
        yield member
    raise _bad(name, f"has more than {limit} members")


class _Header:
    """The fields of one header block, as far as they are needed, with its PAX records applied."""

    def __init__(self, block: bytes, records: Mapping[str, str], name: str) -> None:
        if block[257:262] != b"ustar":
            raise BadBundle(f"{name} is not a tar", hint=_NO_TAR)
        checksum = _octal(block[148:156], "checksum", name)
        if checksum != sum(block) - sum(block[148:156]) + 8 * 32:
            raise _bad(name, "has a damaged header")
        self.kind = block[156:157]
        self.extended = bool(records)
        self.executable = bool(_octal(block[100:108], "mode", name) & 0o100)
        self.path = records.get("path") or _text(_full_name(block), name)
        self.target = records.get("linkpath") or _text(_until_nul(block[157:257]), name)
        told = records.get("size")
        self.size = _octal(block[124:136], "size", name) if told is None else _decimal(told, name)


def _full_name(block: bytes) -> bytes:
    """POSIX splits a long name in two; GNU's format uses the second field for something else."""
    prefix = _until_nul(block[345:500]) if block[257:263] == b"ustar\0" else b""
    return (prefix + b"/" if prefix else b"") + _until_nul(block[:100])


def _member(header: _Header, start: int, name: str) -> Member | None:
    """The member, checked; None for the folder that the tar itself stands for (``./``)."""
    kind = _kind(header, name)
    path = header.path.removeprefix("./")
    if kind is Kind.FOLDER:
        path = path.removesuffix("/")
        if path in ("", "."):
            return None
    problem = path_problem(path)
    if problem is not None:
        raise _bad(name, f"holds {path[:200]!r}: {problem.what}")
    if kind is not Kind.FILE and header.size:
        raise _bad(name, f"gives the {kind.value} {path!r} bytes of its own")
    return Member(path, kind, start, header.size, header.executable, header.target)


def _kind(header: _Header, name: str) -> Kind:
    kinds = {b"0": Kind.FILE, b"\0": Kind.FILE, b"5": Kind.FOLDER, b"2": Kind.SYMLINK}
    if header.kind not in kinds:
        what = _REFUSED_KINDS.get(header.kind, f"a member of the kind {header.kind!r}")
        raise _bad(name, f"holds {what}, {header.path[:200]!r}")
    return kinds[header.kind]


def _records(stream: BinaryIO, start: int, header: _Header, name: str) -> Mapping[str, str]:
    if header.size > _MAX_PAX_BYTES or header.extended:
        raise _bad(name, "has an extended header that is too large, or two for one member")
    data = _read_at(stream, start, header.size, name)
    found: dict[str, str] = {}
    while data:
        match = _RECORD.match(data)
        length = int(match.group(1)) if match else 0
        if match is None or length > len(data) or length <= match.end() or data[length - 1] != ord("\n"):
            raise _bad(name, "has a damaged extended header")
        key = _text(match.group(2), name)
        if key not in _KNOWN_RECORDS or key in found:
            raise _bad(name, f"has an extended header with {key[:60]!r}, unknown here or there twice")
        found[key] = _text(data[match.end() : length - 1], name)
        data = data[length:]
    if not found:
        raise _bad(name, "has an empty extended header")
    return found


def _read_at(stream: BinaryIO, position: int, count: int, name: str) -> bytes:
    stream.seek(position)
    data = stream.read(count)
    if len(data) != count:
        raise _bad(name, "ends too early: the end of the archive is missing")
    return data


def _octal(field: bytes, what: str, name: str) -> int:
    match = _OCTAL.fullmatch(field)
    if match is None:
        raise _bad(name, f"has a header whose {what} is {field!r}")
    return int(match.group(1) or b"0", 8)


def _decimal(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise _bad(name, f"has a header whose size is {text[:40]!r}")
    return int(text)


def _until_nul(field: bytes) -> bytes:
    return field.split(b"\0", 1)[0]


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise _bad(name, f"holds the name {data[:200]!r}, which is not UTF-8") from None


def _bad(name: str, what: str) -> BadBundle:
    return BadBundle(f"{name} {what}", hint=_HINT)
