"""A device whose work takes the time that it is told, and a worker in this process that has such a device."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Semaphore
from typing import Any, ClassVar

import numpy as np
import pytest

from bundler.judge.reference import Reference
from bundler.model.experiment import Case
from bundler.model.host import Gpu, Read, Reading
from bundler.replay import rounds, timed_process, watcher
from bundler.replay.oracle import CaseData
from bundler.replay.process import Ended
from bundler.replay.watcher import Watcher
from bundler.worker import wire
from bundler.worker.tensors import Inputs
from bundler.worker.timer import Timer


class FakeGpu:
    """Work is a duration in µs; ``finish`` lets as much time pass as the longer of two streams takes."""

    clock_s: ClassVar[float] = 0.0
    """What a stopwatch beside all devices shows."""

    def __init__(self, flush_bytes: int = 0) -> None:
        self.stream = 0
        self.flush_us = flush_bytes / 4e6
        self.now_us = 0.0
        """How far the device is; the host's time does not run in here, so nothing is ever reached early."""
        self.side_us = 0.0
        self.queue_us = 0.0
        self.mhz = 1980
        self.starves = False
        self.clocks: list[tuple[int, int]] = []
        self.log: list[str] = []

    def work(self, us: float, *, side: bool = False) -> None:
        """What a kernel of ``us`` does."""
        if side:
            self.side_us += us
        else:
            self.queue_us += us

    def event(self) -> list[float]:
        return [0.0]

    def record(self, event: list[float]) -> None:
        event[0] = self.now_us + self.queue_us

    def reached(self, event: list[float]) -> bool:
        return self.starves or event[0] <= self.now_us

    def elapsed_us(self, start: list[float], stop: list[float]) -> float:
        return stop[0] - start[0]

    def block(self, ns: int) -> None:
        """As long as a call of no length: how long is asked for depends on how fast this machine launches."""
        self.log.append("block")

    def flush(self) -> None:
        self.log.append("flush")
        self.work(self.flush_us)

    def reset_persisting(self) -> bool:
        return True

    def probe(self) -> None:
        self.work(100)
        self.clocks.append((self.mhz * 100, 100_000))

    def probes(self) -> list[tuple[int, int]]:
        found, self.clocks = self.clocks, []
        return found

    def finish(self) -> None:
        busy = max(self.queue_us, self.side_us)
        FakeGpu.clock_s += busy * 1e-6
        self.now_us += busy
        self.queue_us = self.side_us = 0.0


Call = Callable[[FakeGpu, Sequence[Any]], Any]


@dataclass
class TimedWorker:
    """Through the methods that the replay uses; headers go through JSON as on the wire."""

    call: Call
    gpu: FakeGpu = field(default_factory=FakeGpu)
    pid: int = field(default_factory=os.getpid)
    closed: bool = False

    live: ClassVar[int] = 0
    """Workers that were started and not closed."""

    def __post_init__(self) -> None:
        TimedWorker.live += 1

        def opened(flush_bytes: int) -> FakeGpu:
            self.gpu.flush_us = flush_bytes / 4e6
            return self.gpu

        def make(specs: Sequence[dict[str, Any]]) -> list[Any]:
            return [Inputs.allocate(spec, "cpu") for spec in specs]

        def invoke(arguments: Sequence[Any]) -> Any:
            return self.call(self.gpu, [argument.view for argument in arguments])

        self.timer = Timer(invoke, make, opened)

    def hello(self, seconds: float) -> None:
        """It is there at once."""

    def ask(
        self, header: dict[str, Any], parts: Sequence[Any] = (), *, seconds: float, limits: wire.Limits
    ) -> wire.Message:
        header = json.loads(json.dumps(header))
        if "sample" in header.values():
            FakeSampler.see_twice()
        if header["op"] == "load":
            return wire.Message({"raised": None, "versions": {}})
        payload = memoryview(b"".join(bytes(part) for part in parts))
        answer, data = self.timer.answer(header, payload)
        for call in answer.get("calls", ()):
            for output in call["outputs"]:
                output["device"] = "cuda"
        return wire.Message(json.loads(json.dumps(answer)), b"".join(data))

    def close(self) -> Ended:
        self.closed = True
        TimedWorker.live -= 1
        return Ended("ended with status 0")


@dataclass
class TimedZygote:
    """Every worker has the same call and a device of its own."""

    call: Call
    prepare: Callable[[FakeGpu], None] = lambda gpu: None
    workers: list[TimedWorker] = field(default_factory=list)

    def spawn(self, allowance: object) -> Any:
        worker = TimedWorker(self.call)
        self.prepare(worker.gpu)
        self.workers.append(worker)
        return worker


def read(**values: Any) -> dict[str, Reading]:
    """Fields that were read."""
    return {name: Read(value=value, call="a test") for name, value in values.items()}


L2 = 1 << 16
GPU = Gpu(
    index=0,
    fields=read(
        l2_bytes=L2, l2_persisting_max_bytes=0, memory_clock_max_mhz=3000, memory_bus_width_bits=1024,
        sm_clock_max_mhz=1980, sm_count=100, compute_capability="9.0", mig_enabled=False,
        virtualization_mode="none",
    ),
)  # fmt: skip
SAMPLE = read(
    sm_clock_mhz=1980, memory_clock_mhz=3000, event_reasons_mask=0, violation_thermal_ns=0,
    memory_used_bytes=1 << 20, other_compute_processes=0, other_graphics_processes=0,
)  # fmt: skip


class FakeSampler:
    """NVML as it is on a quiet device."""

    def __init__(self, gpu: Gpu, *, own: Sequence[int] = ()) -> None:
        self.own = own

    def __enter__(self) -> FakeSampler:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing was opened."""

    looks: ClassVar[Semaphore] = Semaphore(0)
    watched: ClassVar[bool] = False

    @classmethod
    def see_twice(cls) -> None:
        """Until the watcher, if there is one, has looked twice: the first look is then sure to be kept."""
        while cls.looks.acquire(blocking=False):
            pass
        for _ in range(2 if cls.watched else 0):
            cls.looks.acquire(timeout=5)

    def sample(self) -> dict[str, Reading]:
        if self.own:
            self.looks.release()
        return SAMPLE | read(other_compute_processes=0 if self.own else TimedWorker.live)


class SayingWatcher(Watcher):
    """Says when it looks: at the samples that decide on a graph it does not."""

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        FakeSampler.watched = True
        try:
            with super().watching():
                yield
        finally:
            FakeSampler.watched = False


@dataclass
class FakeOracle:
    """A vector of consecutive numbers; right is ``factor`` times it."""

    factor: float

    def case(self, case: Case) -> CaseData:
        count = int(str(case.params["n"]))
        values = [np.arange(count, dtype=np.float32) + which for which in range(2)]
        spec = {
            "kind": "tensor", "name": "x", "dtype": "float32", "shape": [count], "strides": [1], "offset": 0,
            "storage": count, "gap": "00000000",
        }  # fmt: skip
        sets = [[spec | {"data": [4 * count * which, 4 * count]}] for which in range(2)]
        payload = memoryview(b"".join(value.tobytes() for value in values))
        references = tuple(Reference((value.astype(np.float64) * self.factor,)) for value in values)
        return CaseData(sets, payload, references)


def be_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a timed process take few samples and rounds, by the fake device's clock."""
    monkeypatch.setattr(timed_process, "WARM_S", 0.0)
    monkeypatch.setattr(timed_process, "Watcher", SayingWatcher)
    monkeypatch.setattr(timed_process, "CAP_S", 0.05)
    monkeypatch.setattr(rounds, "_REPEATS", 2)
    monkeypatch.setattr(rounds, "_FEWEST_ROUNDS", 2)
    monkeypatch.setattr(rounds, "_MOST_ROUNDS", 10)
    monkeypatch.setattr(rounds, "_now_s", lambda: FakeGpu.clock_s)
    monkeypatch.setattr(watcher, "_SAMPLE_S", 0.001)
