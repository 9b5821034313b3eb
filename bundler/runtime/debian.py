"""The lowest layer: a root filesystem made of Debian's packages by mmdebstrap."""

from __future__ import annotations

import re
import shlex
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bundler.errors import UnavailableError
from bundler.oci.tar import MODIFIED_S
from bundler.runtime.declaration import Debian
from bundler.runtime.tools import Run, last_lines

_STATUS = "./var/lib/dpkg/status"
_HOOKS = "/usr/share/mmdebstrap/hooks/merged-usr"


@dataclass(frozen=True)
class Moved:
    """A package that is not what the lock says."""

    name: str
    locked: str | None
    """None: the lock has no such package."""
    found: str | None
    """None: it is not installed any more."""

    def __str__(self) -> str:
        return f"{self.name}: locked {self.locked or 'nowhere'}, found {self.found or 'nothing'}"


def make_rootfs(
    debian: Debian, locked: dict[str, str], tar: Path, *, mirrors: Sequence[str], run: Run
) -> None:
    """Write the root filesystem to ``tar``, with the locked version of every package that is on offer.

    Where a locked version is gone, the newest one is taken: compare with ``find_moved``.
    ``mirrors``: as mmdebstrap takes them; empty for its own default. Raises UnavailableError.
    """
    with tempfile.TemporaryDirectory() as folder:
        preferences = Path(folder, "preferences")
        preferences.write_text(apt_preferences(debian, locked), encoding="utf-8")
        command = mmdebstrap_command(debian, preferences, tar, mirrors)
        done = run(command, env={"SOURCE_DATE_EPOCH": str(MODIFIED_S), "LC_ALL": "C.UTF-8"})
    if done.code:
        problem = f"mmdebstrap ended with {done.code}:\n{last_lines(done.errors)}"
        raise UnavailableError(
            problem, hint="check that a Debian mirror can be reached and the disk has space"
        )


def mmdebstrap_command(debian: Debian, preferences: Path, tar: Path, mirrors: Sequence[str]) -> list[str]:
    """``essential`` is the smallest variant that is still Debian: no apt inside, all else by name."""
    return [
        "mmdebstrap",
        "--variant=essential",
        "--format=tar",
        f"--architectures={debian.architecture}",
        f"--include={','.join(debian.packages)}",
        f"--hook-dir={_HOOKS}",
        '--setup-hook=mkdir -p "$1/etc/apt/preferences.d"',
        f"--setup-hook=upload {shlex.quote(str(preferences))} /etc/apt/preferences.d/lock",
        debian.suite,
        str(tar),
        *mirrors,
    ]


def apt_preferences(debian: Debian, locked: dict[str, str]) -> str:
    """apt's own language for "this version if you have it"; over 1000 allows an older one too."""
    pins = [(name, "*", -1) for name in sorted(debian.avoid)]
    pins += [(name, version, 1001) for name, version in sorted(locked.items())]
    return "\n".join(
        f"Package: {name}\nPin: version {version}\nPin-Priority: {priority}\n"
        for name, version, priority in pins
    )


def read_packages(tar: Path) -> dict[str, str]:
    """Package to version, as dpkg in the root filesystem has them. Raises UnavailableError."""
    with tarfile.open(tar) as archive:
        try:
            member = archive.extractfile(_STATUS)
        except KeyError:
            member = None
        if member is None:
            problem = f"{tar} holds no {_STATUS}: it is no Debian root filesystem"
            raise UnavailableError(problem, hint="install a current mmdebstrap and build again")
        return parse_status(member.read().decode())


def parse_status(text: str) -> dict[str, str]:
    """dpkg's status file; a package that was removed again does not count."""
    found = {}
    for stanza in re.split(r"\n\n+", text.strip()):
        fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", stanza, re.MULTILINE))
        if fields.get("Status") == "install ok installed":
            found[fields["Package"]] = fields["Version"]
    return dict(sorted(found.items()))


def find_moved(locked: dict[str, str], found: dict[str, str]) -> tuple[Moved, ...]:
    """Every difference, by name."""
    names = sorted(locked.keys() | found.keys())
    pairs = ((name, locked.get(name), found.get(name)) for name in names)
    return tuple(Moved(*pair) for pair in pairs if pair[1] != pair[2])


def refuse_moved(name: str, moved: Sequence[Moved]) -> None:
    """Raise UnavailableError, naming each package, when any moved."""
    if not moved:
        return
    listed = "\n".join(f"  {one}" for one in moved)
    problem = f"Debian has moved on from what images/{name} locks:\n{listed}"
    hint = (
        f"lock what there is now with `python -m bundler.runtime lock {name}` and commit it; or build"
        " the old ones from a snapshot with --mirror; or take these with --accept-moved-packages,"
        " which gives an image with another digest"
    )
    raise UnavailableError(problem, hint=hint)
