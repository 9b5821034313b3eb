"""Time a candidate's calls on the device, as the judge asks: sets to fill, samples to take, rounds to run.

The judge keeps its own stopwatch around each request, decides which buffers the calls take and which outputs
it wants to see, and holds all of it against what is claimed here.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from bundler.worker import faults
from bundler.worker.gpu import CudaGpu, Gpu
from bundler.worker.tensors import MOST_OUTPUTS, Inputs, describe, fill_all, poison, to_bytes

Header = dict[str, Any]
Answer = tuple[Header, list[bytes]]
Call = Callable[[list[Any]], Any]
"""Call the candidate on a set's arguments."""

WARM_UPS = 3
"""Rounds over all buffers before anything is timed: compilation and autotuning are in the first."""
_LEAST_BLOCK_NS = 50_000
_MOST_BLOCK_NS = 20_000_000
_TRIES = 4
_PROBE_EVERY = 8

# A candidate may replace torch's names; these were looked up before it was loaded.
_tensor_type = torch.Tensor
_graph_type = torch.cuda.CUDAGraph
_capture = torch.cuda.graph
_current_stream = torch.cuda.current_stream
_now_ns = time.perf_counter_ns


class Timer:
    """One candidate on one case. ``make`` turns a set's description into its arguments."""

    def __init__(
        self,
        call: Call,
        make: Callable[[Sequence[Header]], list[Any]],
        open_gpu: Callable[[int], Gpu] = CudaGpu,
    ) -> None:
        self._call = call
        self._make = make
        self._open_gpu = open_gpu
        self._gpu: Gpu
        self._buffers: list[list[Any]] = []
        self._sets: list[list[Header]] = []
        self._payload = memoryview(b"")
        self._held: list[Any] = []
        """The outputs of the last batch, one a call."""
        self._block_ns = _LEAST_BLOCK_NS
        self._enqueue_ns = 0
        self._start: Any = None
        self._stop: Any = None
        self._flushing = False
        self._graph: Any = None
        self._calls = 1
        """Calls in one sample: those of the graph."""
        self._flushes: Any = None
        self._flush_us = 0.0

    def answer(self, request: Header, payload: memoryview) -> Answer:
        """One request of the judge's; what goes wrong is said under ``raised``."""
        steps: dict[str, Callable[[], Answer]] = {
            "setup": lambda: self._setup(request, payload),
            "fill": lambda: self._fill(request["holding"]),
            "sample": lambda: self._sample(request["order"]),
            "capture": lambda: self._captured(request["order"]),
            "rounds": lambda: self._rounds(request["order"], request["call"], request["most"]),
            "outputs": lambda: self._outputs(request["positions"], request["output_bytes"]),
        }
        try:
            return steps[request["action"]]()
        except BaseException as error:  # noqa: BLE001 (the worker's edge: a candidate may raise anything)
            return {"raised": faults.describe(error), "unusable": faults.is_sticky(error)}, []

    # --- buffers -----------------------------------------------------------------------------------

    def _setup(self, request: Header, payload: memoryview) -> Answer:
        self._sets, self._payload = request["sets"], payload
        try:
            self._buffers = [self._make(specs) for specs in self._sets]
            self._flushing = request["flush_bytes"] > 0
            self._gpu = self._open_gpu(request["flush_bytes"])
        except (torch.OutOfMemoryError, MemoryError) as error:
            return {"raised": None, "no_memory": faults.text_of(error, 300)}, []
        self._start, self._stop = self._gpu.event(), self._gpu.event()
        self._fill(list(range(len(self._sets))))
        for _ in range(WARM_UPS):
            for arguments in self._buffers:
                started = _now_ns()
                self._call(arguments)
                self._enqueue_ns = _now_ns() - started
            self._gpu.finish()
        self._block_ns = min(_MOST_BLOCK_NS, max(_LEAST_BLOCK_NS, 3 * self._enqueue_ns))
        return {"raised": None, "no_memory": None, "persisting_reset": self._gpu.reset_persisting()}, []

    def _fill(self, holding: Sequence[int]) -> Answer:
        """Let each buffer hold the values of the set that ``holding`` names for it."""
        self._ruin()
        for arguments, which in zip(self._buffers, holding, strict=True):
            fill_all(arguments, self._sets[which], self._payload)
        self._gpu.finish()
        return {"raised": None}, []

    def _ruin(self) -> None:
        """Overwrite the last batch's outputs, so that memory that is used again holds no right answer."""
        for returned in self._held:
            for value in returned if type(returned) in (tuple, list) else (returned,):
                if type(value) is _tensor_type and not self._is_input(value):
                    poison(value)
        if self._graph is None:
            self._held = []

    def _is_input(self, value: Any) -> bool:
        mine = (a.storage for arguments in self._buffers for a in arguments if isinstance(a, Inputs))
        at = value.data_ptr()
        return any(s.data_ptr() <= at < s.data_ptr() + max(1, s.nbytes) for s in mine)

    # --- samples -----------------------------------------------------------------------------------

    def _sample(self, order: Sequence[int]) -> Answer:
        """One call a sample, on the buffers that ``order`` names; of the graph, as many as it names."""
        self._ruin()
        gc.disable()
        try:
            taken = [self._one(which, index % _PROBE_EVERY == 0) for index, which in enumerate(order)]
            self._gpu.probe()
            self._gpu.finish()
        finally:
            gc.enable()
        us = [sample - self._flush_us for sample, _ in taken]
        starved = sum(starved for _, starved in taken)
        return {"raised": None, "us": us, "starved": starved, "clocks": self._gpu.probes()}, []

    def _one(self, which: int, probe: bool) -> tuple[float, bool]:
        """One sample in µs, and whether the device had to wait for it; tried again behind a longer block."""
        for attempt in range(_TRIES):
            us, starved, returned = self._attempt(which, probe)
            if not starved or attempt == _TRIES - 1:
                break
            self._block_ns = min(_MOST_BLOCK_NS, 2 * self._block_ns)
        if self._graph is None:
            self._held.append(returned)
        return us, starved

    def _attempt(self, which: int, probe: bool) -> tuple[float, bool, Any]:
        gpu, start, stop = self._gpu, self._start, self._stop
        gpu.reset_persisting()
        gpu.block(self._block_ns)
        if self._graph is None:
            gpu.flush()
        gpu.record(start)
        returned = self._call(self._buffers[which]) if self._graph is None else self._graph.replay()
        gpu.record(stop)
        starved = gpu.reached(start)
        if probe:
            gpu.probe()
        gpu.finish()
        return gpu.elapsed_us(start, stop) / self._calls, starved, returned

    # --- a graph -----------------------------------------------------------------------------------

    def _captured(self, order: Sequence[int]) -> Answer:
        """Capture a graph of one call for each of ``order``, each behind a flush, and one of the flushes."""
        self._ruin()
        held: list[Any] = []

        def work() -> None:
            for which in order:
                self._gpu.flush()
                held.append(self._call(self._buffers[which]))

        graph = self._capture(work)
        self._calls, self._held = len(order), held
        if self._flushing:
            self._graph = self._flushes = self._capture(lambda: self._flush(len(order)))
            self._flush_us = sorted(self._attempt(0, False)[0] for _ in range(9))[4]
        self._graph = graph
        return {"raised": None}, []

    def _flush(self, times: int) -> None:
        for _ in range(times):
            self._gpu.flush()

    def _capture(self, work: Callable[[], object]) -> Any:
        graph = _graph_type()
        before = self._gpu.stream
        try:
            with _capture(graph):
                self._gpu.stream = _current_stream().cuda_stream
                work()
        finally:
            self._gpu.stream = before
        self._gpu.finish()
        return graph

    # --- rounds for the judge's stopwatch ------------------------------------------------------------

    def _rounds(self, order: Sequence[int], call: bool, most: int) -> Answer:
        """A flush and a call for each of ``order``, all of them enqueued behind one block; then wait.

        The block is long enough for ``most`` rounds, so that it is as long for N rounds as for 2N.
        """
        self._ruin()
        gpu, first = self._gpu, self._start
        gpu.reset_persisting()
        each = self._enqueue_ns + 20_000 if call else 20_000
        gpu.block(min(10 * _MOST_BLOCK_NS, _LEAST_BLOCK_NS + 2 * each * most))
        gpu.record(first)
        returned, started = None, _now_ns()
        for which in order:
            returned = self._round(which, call)
        spent_ns = _now_ns() - started
        covered = not gpu.reached(first)
        if call and not covered:  # it takes longer to enqueue than when warmed up: so does the next block
            self._enqueue_ns = max(self._enqueue_ns, spent_ns // len(order))
        gpu.finish()
        if call and self._graph is None:
            self._held = [returned]
        return {"raised": None, "covered": covered}, []

    def _round(self, which: int, call: bool) -> Any:
        if self._graph is not None:
            return (self._graph if call else self._flushes).replay()
        self._gpu.flush()
        return self._call(self._buffers[which]) if call else None

    # --- outputs -----------------------------------------------------------------------------------

    def _outputs(self, positions: Sequence[int], output_bytes: int) -> Answer:
        """What the calls at ``positions`` of the last batch returned, as the answer to a call has it."""
        calls, parts = [], []
        for position in positions:
            returned = self._held[position]
            outputs = list(returned) if type(returned) in (tuple, list) else [returned]
            described = [describe(output) for output in outputs[:MOST_OUTPUTS]]
            fits = sum(entry.get("bytes", 0) for entry in described) <= output_bytes
            parts += [
                to_bytes(output)
                for output, e in zip(outputs, described, strict=False)
                if fits and "bytes" in e
            ]
            calls.append({"raised": None, "outputs": described, "sent": fits, "launches": 1})
        return {"raised": None, "calls": calls}, parts
