"""What Landlock has no right for, tried by a worker and by a whole replayer."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.worker.test_sandbox import FILTERED, LANDLOCK, LIBC, REPLAYER, _confined, _number, _syscall

pytestmark = [FILTERED, LANDLOCK]
BOTH = pytest.mark.parametrize("limits", [{}, REPLAYER], ids=["worker", "replayer"])
_GET_FLAGS, _SET_FLAGS, _SET_VERSION, _GET_ALL, _SET_ALL = (
    0x80086601, 0x40086602, 0x40087602, 0x801C581F, 0x401C5820,
)  # fmt: skip
_NO_DUMP = 0x40


@pytest.fixture
def theirs(tmp_path: Path) -> Iterator[int]:
    """A file of the user, open for reading only."""
    path = tmp_path / "theirs"
    path.write_text("x")
    with path.open() as stream:
        yield stream.fileno()


def _set_flags(file: int) -> None:
    flags = struct.unpack("<q", fcntl.ioctl(file, _GET_FLAGS, bytes(8)))[0]
    fcntl.ioctl(file, _SET_FLAGS, struct.pack("<q", flags ^ _NO_DUMP))


CHANGES: dict[str, Callable[[int], object]] = {
    "flags": _set_flags,
    "version": lambda file: fcntl.ioctl(file, _SET_VERSION, bytes(8)),
    "all attributes": lambda file: fcntl.ioctl(file, _SET_ALL, fcntl.ioctl(file, _GET_ALL, bytes(28))),
    "verity": lambda file: fcntl.ioctl(file, 0x40806685, bytes(128)),
    "a lease": lambda file: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK),
}


@BOTH
@pytest.mark.parametrize("name", CHANGES)
def test_a_file_that_is_open_for_reading_is_not_changed(
    name: str, limits: dict[str, object], theirs: int, tmp_path: Path
) -> None:
    said = _confined(lambda: CHANGES[name](theirs), tmp_path, limits=limits)[0]
    assert said == "Operation not permitted"


@BOTH
def test_a_folder_is_not_watched(limits: dict[str, object], tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    watch = partial(fcntl.fcntl, folder, fcntl.F_NOTIFY, fcntl.DN_CREATE)
    said = _confined(watch, tmp_path, limits=limits)[0]
    os.close(folder)
    assert said == "Operation not permitted"


@BOTH
def test_other_ioctls_are_left(limits: dict[str, object], tmp_path: Path) -> None:
    """A pipe is asked how much it has, and a file is no terminal."""
    read, write = os.pipe()
    os.write(write, b"12345")

    def attempt() -> None:
        assert struct.unpack("<i", fcntl.ioctl(read, 0x541B, bytes(4)))[0] == 5
        assert not os.isatty(read)

    assert _confined(attempt, tmp_path, limits=limits)[0] == "done"
    os.close(read)
    os.close(write)


@BOTH
def test_what_is_attached_to_a_closed_file_is_not_read(limits: dict[str, object], tmp_path: Path) -> None:
    """A browser attaches where a file came from. Copying libraries take this answer for a file system's."""
    closed = tmp_path / "closed"
    work = tmp_path / "work"
    closed.write_text("x")
    work.mkdir()
    try:
        os.setxattr(closed, "user.origin", b"secret")
    except OSError:
        pytest.skip("this file system keeps no attributes")
    for attempt in (lambda: os.getxattr(closed, "user.origin"), lambda: os.listxattr(closed)):
        said = _confined(attempt, work, limits=limits)[0]
        assert said == "Operation not supported"


@BOTH
def test_a_message_queue_of_the_user_stays(limits: dict[str, object], tmp_path: Path) -> None:
    name = f"bundler-test-{os.getpid()}".encode()
    queue = LIBC.syscall(_number("mq_open"), name, os.O_CREAT | os.O_RDWR, 0o600, None)
    if queue < 0:
        pytest.skip(f"no message queue here: {os.strerror(ctypes.get_errno())}")
    os.close(queue)
    said = _confined(_syscall("mq_unlink", name), tmp_path, limits=limits)[0]
    assert LIBC.syscall(_number("mq_unlink"), name) == 0  # it was still there
    assert said == "Operation not permitted"


def _listens(name: str) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()


@BOTH
def test_nobody_listens_under_an_abstract_name(limits: dict[str, object], tmp_path: Path) -> None:
    """Programs of the user would connect there, and Landlock holds none of those."""
    name = f"\0bundler-test-{os.getpid()}"
    assert _confined(lambda: _listens(name), tmp_path, limits=limits)[0] == "Operation not permitted"
    on_a_device = {**limits, "anonymous_files": True}  # CUDA's driver binds one
    assert _confined(lambda: _listens(name), tmp_path, limits=on_a_device)[0] == "done"


@BOTH
@pytest.mark.parametrize(
    "call", [("syslog", 10, None, 0), ("memfd_secret", 0)], ids=["the kernel's messages", "memfd_secret"]
)
def test_other_calls(call: tuple[Any, ...], limits: dict[str, object], tmp_path: Path) -> None:
    said = _confined(_syscall(*call), tmp_path, limits=limits)[0]
    assert said == "Operation not permitted"
