"""A file appears whole or not at all, and what was there stays."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from bundler.errors import UnavailableError
from bundler.files import check_writable, write_whole


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
    write_whole(tmp_path / "new/folder/x", b"one")
    write_whole(tmp_path / "new/folder/x", b"two")
    assert [path.read_bytes() for path in (tmp_path / "new/folder").iterdir()] == [b"two"]


@pytest.mark.usefixtures("little_space")
def test_no_space(tmp_path: Path) -> None:
    write_whole(tmp_path / "x", b"before")
    with pytest.raises(UnavailableError, match="x' cannot be written: File too large"):
        write_whole(tmp_path / "x", bytes(1001))
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"before"]


def test_a_folder_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(UnavailableError, match="x' cannot be written: Is a directory"):
        write_whole(tmp_path / "x", b"")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("place", ["/proc/x", "/dev/null/x"])
def test_nowhere_to_write(place: str) -> None:
    with pytest.raises(UnavailableError, match="cannot be written"):
        write_whole(Path(place), b"")


def test_a_long_name(tmp_path: Path) -> None:
    write_whole(tmp_path / ("x" * 255), b"one")
    with pytest.raises(UnavailableError, match="File name too long"):
        write_whole(tmp_path / ("x" * 256), b"one")
    assert len(list(tmp_path.iterdir())) == 1


def test_checked_beforehand(tmp_path: Path) -> None:
    check_writable(tmp_path / "new/x")
    assert list((tmp_path / "new").iterdir()) == []
    for path in (tmp_path, Path("/proc/x"), Path("/dev/null/x")):
        with pytest.raises(UnavailableError, match="cannot be written"):
            check_writable(path)
