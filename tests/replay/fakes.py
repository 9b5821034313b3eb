"""A zygote whose workers do what a script says, through the methods that the runner uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bundler.replay.allowance import Allowance
from bundler.replay.process import Ended, SpawnFailed
from bundler.worker import wire

Behaviour = Callable[[dict[str, Any], "FakeWorker"], Any]
"""A request's header and the worker: an answer's header (or a whole message), or a WireError raised."""


@dataclass
class FakeWorker:
    behaviour: Behaviour
    number: int
    asked: list[str] = field(default_factory=list)
    """What it was asked, the load left out."""
    isolation: dict[str, str] = field(default_factory=lambda: {"seccomp": "held"})
    printed: bytes = b"hello"
    ended: Ended = field(default_factory=lambda: Ended("ended with status 0"))
    killed: bool = False
    closed: bool = False

    def hello(self, seconds: float) -> None:
        """It is there at once."""

    def ask(
        self, header: dict[str, Any], parts: Sequence[bytes] = (), *, seconds: float, limits: wire.Limits
    ) -> wire.Message:
        assert not self.closed
        assert not self.killed
        answer = self.behaviour(header, self)
        if header["op"] != "load":
            self.asked.append(str(header))
        return answer if isinstance(answer, wire.Message) else wire.Message(answer)

    def kill(self) -> None:
        self.killed = True

    def close(self) -> Ended:
        assert not self.closed
        self.closed = True
        return self.ended

    def __hash__(self) -> int:
        return self.number


@dataclass
class FakeZygote:
    behaviour: Behaviour
    workers: list[FakeWorker] = field(default_factory=list)
    refusals: int = 0
    """How many of the next workers cannot be started."""

    def spawn(self, allowance: Allowance) -> Any:
        if self.refusals:
            self.refusals -= 1
            raise SpawnFailed("no process could be forked: Resource temporarily unavailable")
        self.workers.append(FakeWorker(self.behaviour, len(self.workers)))
        return self.workers[-1]
