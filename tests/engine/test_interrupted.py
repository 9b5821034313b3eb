"""Ctrl-C while a container runs: its cells where it had some, else an interrupt like any other."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from bundler.engine.docker import Container


class Interrupted:
    """A container that is interrupted once it has said ``stderr``, and has printed ``stdout`` when it is
    stopped."""

    def __init__(self, stdout: bytes, stderr: bytes = b"@progress {}\n") -> None:
        self._stdout = stdout
        self._stderr = stderr
        self.stopped = False

    def attach(self, **_: object) -> Any:
        said = self._stderr

        class Stream:
            def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
                yield b"", said
                raise KeyboardInterrupt

            def close(self) -> None:
                pass

        return Stream()

    def attach_socket(self, **_: object) -> socket.socket:
        ours, theirs = socket.socketpair()
        theirs.close()
        return ours

    def start(self) -> None:
        pass

    def stop(self, **_: object) -> None:
        self.stopped = True

    def logs(self, **_: object) -> Iterator[bytes]:
        return iter([self._stdout])

    def wait(self) -> dict[str, int]:
        return {"StatusCode": 7}


def test_with_cells() -> None:
    ran = Container(Interrupted(b"{}")).run(lambda _: None)
    assert (ran.exit_code, ran.stdout) == (7, b"{}")


def test_before_it_had_any() -> None:
    made = Interrupted(b"\n")
    with pytest.raises(KeyboardInterrupt):
        Container(made).run(lambda _: None)
    assert made.stopped


def test_before_it_said_anything_it_is_not_asked() -> None:
    """A container's first process hears no signal until it handles it: to ask would be to wait."""
    made = Interrupted(b"{}", stderr=b"")
    with pytest.raises(KeyboardInterrupt):
        Container(made).run(lambda _: None)
    assert not made.stopped
