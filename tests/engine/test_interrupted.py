"""Ctrl-C while a container runs: its cells where it had some, else an interrupt like any other."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from bundler.engine.docker import Container


class Interrupted:
    """A container that is interrupted as it starts, and has printed ``stdout`` when it is stopped."""

    def __init__(self, stdout: bytes) -> None:
        self._stdout = stdout
        self.stopped = False

    def attach(self, **_: object) -> Any:
        class Stream:
            def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
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
