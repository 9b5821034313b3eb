"""The timer in a worker, as the judge asks it: what it answers is a claim, and is held to the protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import FailFast, Field

from bundler.judge.claims import CallClaim, CellClaim, Raised
from bundler.model.base import Frozen
from bundler.model.outcome import Shown
from bundler.replay.answers import read
from bundler.replay.process import HELLO_S, Worker
from bundler.replay.runner import HEADER_BYTES, Job
from bundler.worker import wire

BATCH = 40
"""The most samples that one request asks for."""


class Stopped(Exception):
    """The process can give no more; ``str`` is why."""


class Done(Frozen):
    """The answer to what takes no samples."""

    raised: None
    no_memory: Shown | None = None
    persisting_reset: bool | None = None
    covered: bool = True


class SampleClaim(Frozen):
    """Samples of calls, how many of them the device had to wait for, and its clock beside them."""

    raised: None
    us: Annotated[tuple[float, ...], FailFast(), Field(max_length=BATCH)] = ()
    starved: int = Field(0, ge=0, le=BATCH)
    clocks: Annotated[tuple[tuple[int, int], ...], FailFast(), Field(max_length=BATCH)] = ()


class _OutputsClaim(Frozen):
    """What some calls of a batch returned, as the answer to a call has it."""

    raised: None
    calls: Annotated[tuple[CallClaim, ...], FailFast(), Field(min_length=1, max_length=BATCH)]


class _RaisedClaim(Frozen):
    """Any other answer."""

    raised: Raised
    unusable: bool = False


class RemoteTimer:
    """One worker that times. Every method raises Stopped, wire.WireError, or ValueError."""

    def __init__(self, worker: Worker, job: Job, seconds: float) -> None:
        """``seconds`` is how long it has for one answer."""
        self._worker = worker
        self._job = job
        self._seconds = seconds

    def load(self) -> None:
        """Wait until the worker is confined, then have it load the candidate. Raises SpawnFailed too."""
        self._worker.hello(HELLO_S)
        message = self._message(self._job.load_request(), [self._job.source], 0, "loading it")
        _, unsupported = self._job.loaded(message)
        if unsupported:
            raise Stopped(f"loading it: {unsupported}")

    def do(self, action: str, parts: Sequence[Any] = (), **fields: Any) -> Done:
        """Anything that takes no samples."""
        return read(Done, self._act(action, parts, 0, fields).header)

    def sample(self, order: Sequence[int]) -> SampleClaim:
        """One sample for each buffer of ``order``."""
        return read(SampleClaim, self._act("sample", [], 0, {"order": list(order)}).header)

    def outputs(self, positions: Sequence[int], output_bytes: int) -> tuple[CellClaim, memoryview]:
        """What some calls of the last samples returned, each in at most so many bytes."""
        fields = {"positions": positions, "output_bytes": output_bytes}
        message = self._act("outputs", [], output_bytes * len(positions), fields)
        calls = read(_OutputsClaim, message.header).calls
        return CellClaim(calls=calls), memoryview(message.payload)

    def _act(self, action: str, parts: Sequence[Any], payload: int, fields: dict[str, Any]) -> wire.Message:
        return self._message({"op": "time", "action": action, **fields}, parts, payload, action)

    def _message(
        self, header: dict[str, Any], parts: Sequence[Any], payload: int, during: str
    ) -> wire.Message:
        limits = wire.Limits(header_bytes=HEADER_BYTES, payload_bytes=payload)
        message = self._worker.ask(header, parts, seconds=self._seconds, limits=limits)
        if message.header.get("raised") is not None:
            raised = read(_RaisedClaim, message.header).raised.outcome()
            raise Stopped(f"{during}: {raised.error}")
        return message
