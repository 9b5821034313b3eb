"""A file appears whole or not at all, and what was there stays."""

from __future__ import annotations

import os
import re
import resource
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bundler import files
from bundler.errors import UnavailableError
from bundler.files import (
    NotAFile,
    check_folder_writable,
    check_writable,
    filling,
    open_regular,
    read_at_most,
    write_below,
    write_whole,
)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


@pytest.fixture
def little_space() -> Iterator[None]:
    """No file of this process may grow over 1,000 bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    signal.signal(signal.SIGXFSZ, before)


def test_written(tmp_path: Path) -> None:
    write_whole(tmp_path / "x", b"one")
    write_whole(tmp_path / "x", b"two")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"two"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    for write in (lambda path: write_whole(path, b"one"), check_writable):
        with pytest.raises(UnavailableError, match="cannot be written: No such file") as error:
            write(tmp_path / "new/x")
        assert error.value.hint == "make that folder first, or write somewhere else"
    assert list(tmp_path.iterdir()) == []


def test_below_a_folder_that_is_there(tmp_path: Path) -> None:
    write_below(tmp_path, "new/folder/x", b"one")
    assert (tmp_path / "new/folder/x").read_bytes() == b"one"
    with pytest.raises(UnavailableError, match="cannot be written: No such file"):
        write_below(tmp_path / "gone", "new/x", b"one")
    assert not (tmp_path / "gone").exists()


def test_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"one")
    (tmp_path / "link").symlink_to("x")
    write_whole(tmp_path / "link", b"two")
    assert ((tmp_path / "link").is_symlink(), (tmp_path / "x").read_bytes()) == (True, b"two")


@pytest.mark.parametrize("make", [os.mkfifo, _socket, lambda path: path.symlink_to("/dev/null")])
def test_a_device_is_not_replaced(tmp_path: Path, make: Callable[[Path], object]) -> None:
    make(tmp_path / "x")
    before = (tmp_path / "x").stat().st_mode
    for write in (lambda path: write_whole(path, b"one"), check_writable):
        with pytest.raises(UnavailableError, match=r"it is a (pipe|socket|device), not a file"):
            write(tmp_path / "x")
    assert (tmp_path / "x").stat().st_mode == before


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, _socket, lambda path: path.symlink_to("/dev/zero")])
def test_only_a_file_is_opened(tmp_path: Path, make: Callable[[Path], object]) -> None:
    make(tmp_path / "x")
    with pytest.raises(NotAFile, match=r"it is a (pipe|folder|socket|device), not a file"):
        open_regular(tmp_path / "x")


def test_no_more_is_read_than_is_taken(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    assert read_at_most(tmp_path / "x", 10) == b""
    os.truncate(tmp_path / "x", 1 << 40)
    assert read_at_most(tmp_path / "x", 10) == bytes(11)


def _begin(folder: Path, end: BaseException) -> None:
    folder.mkdir()
    (folder / "x").touch()
    folder.with_name("y").touch()
    raise end


def test_what_was_filled_half_goes(tmp_path: Path) -> None:
    for folder, parents in ((tmp_path / "new", False), (tmp_path / "a/b", True)):
        with pytest.raises(KeyboardInterrupt), filling(folder, parents=parents):
            _begin(folder / "below", KeyboardInterrupt())
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "kept").touch()
    with pytest.raises(OSError, match="full"), filling(tmp_path):
        _begin(tmp_path / "below", OSError("full"))
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    with pytest.raises(FileNotFoundError), filling(tmp_path / "gone/x"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


READERS = ("bundle", "cli", "experiment", "judge", "model", "report", "skills")
OWN = {"report/html/page.py", "cli/show.py"}
"""What they read so is a part of bundler itself, or of the runtime."""


def test_a_strangers_file_is_opened_in_one_place() -> None:
    package = Path(files.__file__).parent
    plain = re.compile(r"\.read_bytes\(|\.read_text\(|\bopen\(.*\"r")
    found = {
        path.relative_to(package).as_posix()
        for area in READERS
        for path in (package / area).rglob("*.py")
        if plain.search(path.read_text())
    }
    assert found == OWN


@pytest.mark.usefixtures("little_space")
def test_no_space(tmp_path: Path) -> None:
    write_whole(tmp_path / "x", b"before")
    with pytest.raises(UnavailableError, match="x' cannot be written: File too large"):
        write_whole(tmp_path / "x", bytes(1001))
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"before"]


def test_a_folder_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(UnavailableError, match="x' cannot be written: it is a folder, not a file"):
        write_whole(tmp_path / "x", b"")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("place", ["/proc/x", "/dev/null/x"])
def test_nowhere_to_write(place: str) -> None:
    with pytest.raises(UnavailableError, match="cannot be written"):
        write_whole(Path(place), b"")


def test_a_folder_that_is_there_and_takes_nothing() -> None:
    with pytest.raises(UnavailableError) as refused:
        write_whole(Path("/proc/x.json"), b"")
    assert refused.value.hint == "write to a folder that is yours"


def test_a_long_name(tmp_path: Path) -> None:
    write_whole(tmp_path / ("x" * 255), b"one")
    with pytest.raises(UnavailableError, match="File name too long"):
        write_whole(tmp_path / ("x" * 256), b"one")
    assert len(list(tmp_path.iterdir())) == 1


def test_checked_beforehand(tmp_path: Path) -> None:
    check_writable(tmp_path / "x")
    check_folder_writable(tmp_path)
    check_folder_writable(tmp_path / "new")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    for folder in (tmp_path / "new/folder", tmp_path / "file", Path("/proc/x")):
        with pytest.raises(UnavailableError, match="cannot be written"):
            check_folder_writable(folder)
    (tmp_path / "file").unlink()
    for path in (tmp_path, Path("/proc/x"), Path("/dev/null/x")):
        with pytest.raises(UnavailableError, match="cannot be written"):
            check_writable(path)
