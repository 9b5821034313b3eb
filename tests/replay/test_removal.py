"""What a stranger may leave in a folder, to be removed by somebody else."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from bundler.replay.removal import remove


def _deep(folder: Path, name: str, levels: int) -> None:
    """Relative, one level after the other: the whole path is longer than any that a kernel takes."""
    here = os.open(".", os.O_RDONLY)
    os.chdir(folder)
    for _ in range(levels):
        Path(name).mkdir()
        os.chdir(name)
    Path("file").write_text("x")
    os.fchdir(here)
    os.close(here)


@pytest.mark.parametrize(("name", "levels"), [("a", 2 * sys.getrecursionlimit()), ("a" * 250, 40)])
def test_deep(name: str, levels: int, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    _deep(scratch, name, levels)
    remove(scratch)
    assert list(tmp_path.iterdir()) == []


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    scratch = tmp_path / "scratch"
    kept.mkdir(mode=0o755)
    (kept / "file").write_text("x")
    (scratch / "in").mkdir(parents=True)
    (scratch / "link").symlink_to(kept)
    (scratch / "in/link").symlink_to(kept)
    (scratch / "in/hard").hardlink_to(kept / "file")
    os.mkfifo(scratch / "in/fifo")
    remove(scratch)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (kept / "file").read_text() == "x"
    assert kept.stat().st_mode & 0o777 == 0o755
    scratch.symlink_to(kept)
    remove(scratch)
    assert (kept / "file").exists()


@pytest.mark.parametrize("mode", [0, 0o300, 0o500])
def test_closed_to_its_owner(mode: int, tmp_path: Path) -> None:
    """By an ordinary user; root is kept out of nothing."""
    (tmp_path / "scratch/x/y/z").mkdir(parents=True)
    (tmp_path / "scratch/x/y/file").write_text("x")
    for path in ("scratch/x/y/z", "scratch/x/y", "scratch/x", "scratch", "."):
        if os.getuid() == 0:
            os.chown(tmp_path / path, 65534, 65534)
        if path not in ("scratch", "."):
            (tmp_path / path).chmod(mode)
    above = os.open(tmp_path, os.O_RDONLY)
    child = os.fork()
    if child == 0:
        try:
            os.fchdir(above)
            if os.getuid() == 0:
                os.setresgid(65534, 65534, 65534)
                os.setresuid(65534, 65534, 65534)
            remove(Path("scratch"))
        finally:
            os._exit(len(os.listdir(above)))  # noqa: PTH208
    os.close(above)
    assert os.waitpid(child, 0)[1] == 0


def test_what_is_not_there(tmp_path: Path) -> None:
    remove(tmp_path / "nothing")
