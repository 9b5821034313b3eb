"""Whether root's workers would reach what they need, asked before a replay on this machine's own Python.

A worker of root's gives up root's power over other users' files before it runs a candidate. Where Python or
TMPDIR lies in a folder that is closed to others, as most home folders are, it then finds half of a package,
and the harness or a control would be blamed for that.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import bundler
from bundler.errors import UnavailableError
from bundler.files import temporary_folder

_LOOK_S = 60
_LOOK = """\
import os, sys
from bundler.worker.sandbox import Confinement, confine
confine(Confinement(readable=("/",), writable=("/",)))
for path in sys.argv[1:]:
    if not os.access(path, os.R_OK | os.X_OK):
        os.write(1, os.fsencode(path))
        break
"""


def check_reach() -> None:
    """Raise UnavailableError where this is root, and its workers would not reach Python or TMPDIR."""
    if os.getuid() != 0:
        return
    with temporary_folder() as scratch:
        found = _out_of_reach([*_python(), str(scratch)])
        temporary = str(scratch.parent)
    if found:
        what, hint = (found, "a Python") if found != str(scratch) else (temporary, "a TMPDIR")
        raise UnavailableError(
            f"{what!r} is closed to root's workers: they give up root's power over other users' files",
            hint=f"run bundler as the user whose it is, or with {hint} that every user may enter",
        )


def _python() -> Sequence[str]:
    """Where Python and its packages lie."""
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = dict.fromkeys(filter(None, map(sysconfig.get_path, names)))
    return [sys.executable, *(folder for folder in folders if Path(folder).is_dir())]


def _out_of_reach(paths: Sequence[str]) -> str:
    """The first that a confined process of root's cannot enter; empty where it can, or could not be asked."""
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-s", "-S", "-B", "-c", _LOOK, *paths],
            env={"PYTHONPATH": str(Path(bundler.__file__).resolve().parent.parent)},
            cwd="/", stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_LOOK_S,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return os.fsdecode(done.stdout)
