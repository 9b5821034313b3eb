"""The same tree gives the same archive in another folder, time, umask, locale, zone, user, Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = """
import hashlib, os, sys
from pathlib import Path
from bundler.oci.archive import write_archive
from bundler.oci.archive_reader import read_archive
from bundler.oci.image import append
from bundler.oci.layer import build_layer
from bundler.oci.layout import read_layout, write_layout
from bundler.oci.tree import read_tree

os.umask(int(sys.argv[2], 8))
if len(sys.argv) > 3:  # only now: a Python in a home folder is out of the other user's reach
    os.setgroups([])
    os.setgid(int(sys.argv[3]))
    os.setuid(int(sys.argv[3]))
work = Path(sys.argv[1])
layers = [build_layer(read_tree(work / "tree"), "opt/x")]
rest = dict(entrypoint=["/x"], cmd=[], user="1", working_dir="/")
rest |= dict(env={"B": "1", "A": "\\xe9"}, labels={"l": "v"})
base = append(None, layers, **rest)
write_layout(base, work / "store")
image = append(read_layout(work / "store"), [build_layer(read_tree(work / "tree"), "opt/y")], **rest)
write_archive(image, work / "x.tar", reference="x:1")
assert read_archive(work / "x.tar") == image
print(hashlib.sha256((work / "x.tar").read_bytes()).hexdigest())
"""
FILES = {"b/é.md": b"one\r\n", "b/" + "l" * 130: b"long", "a": b"", "Z": b"z" * 70_000, "run.sh": b"#!"}


def _tree(folder: Path, names: list[str], *, mtime: float, group_bits: int) -> None:
    for name in names:
        path = folder / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(FILES[name])
        path.chmod((0o700 if name.endswith(".sh") else 0o600) | group_bits)
        os.utime(path, (mtime, mtime))


def _digest(
    folder: Path,
    *,
    python: str = sys.executable,
    umask: str = "022",
    user: str = "",
    env: dict[str, str] | None = None,
) -> str:
    done = subprocess.run(
        [python, "-B", "-c", SCRIPT, str(folder), umask, *([user] if user else [])],
        env={"PYTHONPATH": str(ROOT), **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.fixture(name="expected")
def _expected(tmp_path: Path) -> str:
    _tree(tmp_path / "first", sorted(FILES), mtime=1e9, group_bits=0)
    return _digest(tmp_path / "first")


Run = Callable[..., str]


@pytest.fixture(name="run")
def _run(tmp_path: Path) -> Run:
    """Freezes the same files from another folder, written in another order, at another time."""

    def run(**options: Any) -> str:
        folder = tmp_path / "another folder"
        _tree(folder, sorted(FILES, reverse=True), mtime=1234567890.123, group_bits=0o066)
        return _digest(folder, **options)

    return run


def test_another_folder_order_time_and_group(expected: str, run: Run) -> None:
    assert run() == expected


def test_another_umask(expected: str, run: Run) -> None:
    assert run(umask="077") == expected


@pytest.mark.parametrize(
    "env",
    [
        {"PYTHONHASHSEED": "1"},
        {"TZ": "Asia/Kathmandu"},
        {"LC_ALL": "C"},
        {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "tr_TR.UTF-8"},
        {"SOURCE_DATE_EPOCH": "1"},
        {"PYTHONOPTIMIZE": "1"},
    ],
    ids=str,
)
def test_another_environment(expected: str, run: Run, env: dict[str, str]) -> None:
    assert run(env=env) == expected


MADE = Path(__file__).parents[2] / "build/pythons"
"""Where ``make reproducible`` keeps an environment for each Python that it finds."""


def _pythons() -> list[str]:
    found = [os.environ.get("BUNDLER_OTHER_PYTHON", "")]
    found += map(str, sorted(MADE.glob("*/bin/python")))
    found += [shutil.which(f"python3.{minor}") or "" for minor in (11, 12, 13, 14)]
    return [path for path in dict.fromkeys(found) if path and Path(path).exists()]


def _usable(python: str) -> bool:
    check = "import sys, pydantic; sys.exit(sys.version_info < (3, 11))"
    return not subprocess.run([python, "-c", check], capture_output=True, check=False).returncode


def test_another_python(expected: str, run: Run) -> None:
    version = "import sys; print(sys.version_info[:2])"
    mine = str(sys.version_info[:2])
    others = [
        python
        for python in _pythons()
        if _usable(python) and subprocess.check_output([python, "-c", version], text=True).strip() != mine
    ]
    if not others:
        pytest.skip("no other Python with pydantic here; name one in BUNDLER_OTHER_PYTHON")
    for python in others:
        assert run(python=python) == expected


def test_another_user(expected: str, run: Run, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("becoming another user needs root")
    outside = Path("/tmp") / f"bundler-user-{os.getpid()}"  # tmp_path is root's alone
    _tree(outside, sorted(FILES), mtime=1e9, group_bits=0o044)
    try:
        for path in (outside, *outside.rglob("*")):
            os.chown(path, 65534, 65534)
        assert _digest(outside, user="65534") == expected
    finally:
        shutil.rmtree(outside)
