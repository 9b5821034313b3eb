"""The second layer: wheels, each held to its sha256. pip finds them, as it is configured here."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bundler.digest import Digest
from bundler.errors import BadDataError, UnavailableError, UsageError
from bundler.runtime.declaration import Declaration
from bundler.runtime.lock import Wheel
from bundler.runtime.tools import Finished, Run, last_lines

_GLIBC_MINOR = 36
"""Debian bookworm's."""
_OLDEST_MINOR = 5
_MISMATCH = re.compile(r"^ *(\S+)(?: from .*)?:\n\s+Expected sha256 (\w+)\n(?:.*\n)*?\s+Got\s+(\w+)", re.M)
_MISSING = re.compile(r"No matching distribution found for (.+)$", re.M)
_WHERE = (
    "give pip another place to look: PIP_EXTRA_INDEX_URL=URL or PIP_FIND_LINKS=FOLDER (docs/runtimes.md);"
    " if it is gone for good, lock again"
)


def install(wheels: Sequence[Wheel], python: str, folder: Path, *, run: Run) -> None:
    """Unpack ``wheels`` into ``folder``, for the image's Python, whichever Python runs this.

    Raises BadDataError, naming it, for a wheel with another hash; UnavailableError for one that is
    not to be had.
    """
    with tempfile.TemporaryDirectory() as scratch:
        requirements = Path(scratch, "requirements.txt")
        requirements.write_text(as_requirements(wheels), encoding="utf-8")
        options = ["--no-deps", "--require-hashes", "--no-compile", "--requirement", str(requirements)]
        done = _pip([*options, "--target", str(folder)], python, run=run)
    if done.code:
        raise _explain(done)


def resolve(declaration: Declaration, *, run: Run) -> tuple[Wheel, ...]:
    """The newest wheels that meet the declaration, with all that they need; nothing is installed.

    Raises UsageError under another Python than the image's: pip decides by the Python that it runs
    on which dependencies apply.
    """
    ours = f"{sys.version_info.major}.{sys.version_info.minor}"
    if ours != declaration.python:
        problem = f"this is Python {ours}, and images/{declaration.name} is for {declaration.python}"
        raise UsageError(
            problem, hint=f"run `lock` with Python {declaration.python}; a build needs no certain one"
        )
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.json")
        options = ["--dry-run", "--report", str(report), "--target", scratch]
        done = _pip([*options, *declaration.wheels], declaration.python, run=run)
        if done.code:
            raise _explain(done)
        return parse_report(report.read_text(encoding="utf-8"))


def _pip(options: Sequence[str], python: str, *, run: Run) -> Finished:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--ignore-installed"]
    env = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "LC_ALL": "C.UTF-8"}
    return run([*command, *target_options(python), *options], env=env)


def target_options(python: str) -> list[str]:
    """What Debian's Python can load; pip does not work out older platform tags by itself."""
    tags = [f"manylinux_2_{minor}_x86_64" for minor in range(_GLIBC_MINOR, _OLDEST_MINOR - 1, -1)]
    tags += ["manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64", "linux_x86_64"]
    platforms = [f"--platform={tag}" for tag in tags]
    return ["--only-binary=:all:", f"--python-version={python}", "--implementation=cp", *platforms]


def as_requirements(wheels: Sequence[Wheel]) -> str:
    """In pip's requirements format. ``===``: 2.13.0 must not be met by 2.13.0+cpu."""
    return "".join(f"{one.name}==={one.version} --hash={one.hash}\n" for one in wheels)


def parse_report(text: str) -> tuple[Wheel, ...]:
    """pip's installation report; addresses in it are left behind."""
    wheels = []
    for item in json.loads(text)["install"]:
        hashes = item["download_info"]["archive_info"]["hashes"]
        name = re.sub(r"[-_.]+", "-", item["metadata"]["name"]).lower()
        digest = Digest("sha256:" + hashes["sha256"])
        wheels.append(Wheel(name=name, version=item["metadata"]["version"], hash=digest))
    return tuple(sorted(wheels, key=lambda wheel: wheel.name))


def _explain(done: Finished) -> BadDataError | UnavailableError:
    """What pip's last words mean."""
    if mismatch := _MISMATCH.search(done.errors):
        name, expected, got = mismatch.groups()
        problem = f"the wheel offered for {name} has sha256 {got}, and the lock says {expected}"
        return BadDataError(problem, hint="do not install it; find out who changed the wheel or the lock")
    if missing := _MISSING.search(done.errors):
        return UnavailableError(f"pip finds no wheel for {missing[1]}", hint=_WHERE)
    return UnavailableError(f"pip ended with {done.code}:\n{last_lines(done.errors)}", hint=_WHERE)


def trim_records(site: Path) -> None:
    """Take what is not in ``site`` out of every wheel's RECORD, and sort it.

    pip adds its own files there, in an order of its own; a reader can still check what is left.
    """
    for record in sorted(site.glob("*.dist-info/RECORD")):
        rows = csv.reader(io.StringIO(record.read_text(encoding="utf-8")))
        kept = sorted(row for row in rows if row and (site / row[0]).is_file())
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(kept)
        record.write_text(text.getvalue(), encoding="utf-8", newline="\n")
