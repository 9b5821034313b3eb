"""What a stranger has in a folder, and what he would rather not have counted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bundler.replay.removal import remove
from bundler.replay.usage import bytes_below, overfull, threads_below
from tests.replay.test_removal import _deep


def test_every_file_counts(tmp_path: Path) -> None:
    """An empty one takes an inode, and its folder's walk takes time."""
    for number in range(300):
        (tmp_path / str(number)).touch()
    assert overfull(str(tmp_path), 8 << 20) == ""
    assert overfull(str(tmp_path), 4 << 20) == "wrote 4 MiB to its folder, over 4 MiB"


def test_a_folder_that_is_too_deep_to_look_into(tmp_path: Path) -> None:
    _deep(tmp_path, "a" * 250, 20)
    said = overfull(str(tmp_path), 1 << 30)
    remove(tmp_path)  # what removes temporary files may not be up to it
    assert said == "has what cannot be counted in its folder: File name too long"


def test_a_folder_that_is_closed(tmp_path: Path) -> None:
    """Whoever made it writes to it nevertheless."""
    (tmp_path / "x").mkdir(mode=0o300)
    if os.getuid() == 0:
        assert overfull(str(tmp_path), 1 << 30) == ""
    child = os.fork()
    if child == 0:
        os.chdir(tmp_path)
        if os.getuid() == 0:
            os.chown("x", 65534, 65534)
            os.setresuid(65534, 65534, 65534)
        os._exit("Permission denied" not in overfull(".", 1 << 30))
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("target", ["/root", "nowhere", "."])
def test_a_link_is_not_followed(target: str, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(target)
    assert overfull(str(tmp_path), 1 << 20) == ""


def test_what_is_counted(tmp_path: Path) -> None:
    before = threads_below(os.getpid())
    child = subprocess.Popen(["sh", "-c", "sleep 60 & sleep 60"], start_new_session=True)
    deadline = time.monotonic() + 20
    while threads_below(os.getpid()) < before + 3:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/file").write_bytes(bytes(1 << 20))
    (tmp_path / "link").symlink_to("/usr")
    assert 1 << 20 <= bytes_below(str(tmp_path)) < 2 << 20


def test_a_link_that_is_put_in_the_way_meanwhile_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One who is counted by root would have it look into any folder."""
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    for inner in (outside / "b", folder / "a/b"):
        inner.mkdir(parents=True)
    (outside / "b/file").write_bytes(bytes(1 << 20))
    plain = os.open

    def swapping(path: str, flags: int) -> int:
        if path == f"{folder}/a/b":
            (folder / "a").rename(folder / "c")
            (folder / "a").symlink_to(outside)
        return plain(path, flags)

    monkeypatch.setattr(os, "open", swapping)
    assert bytes_below(str(folder)) < 1 << 20
    assert (folder / "a").is_symlink()


def test_folders_deeper_than_python_recurses_are_counted(tmp_path: Path) -> None:
    depth = sys.getrecursionlimit() + 100
    at = tmp_path
    for _ in range(depth):
        at = at / "d"
        at.mkdir()
    (at / "file").write_bytes(bytes(64 << 10))
    try:
        assert bytes_below(str(tmp_path)) >= 64 << 10
    finally:  # what removes temporary files recurses
        (at / "file").unlink()
        while at != tmp_path:
            at.rmdir()
            at = at.parent
