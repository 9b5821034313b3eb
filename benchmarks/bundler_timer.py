"""The first of the four ways to time a kernel: bundler's timer in this process, and bundler's rules.

A real run has fresh processes and a stopwatch as well.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import numpy as np

from benchmarks.kernels import NOTHING, Kernel, Said
from bundler.host import Sampler
from bundler.model.host import Gpu, Read
from bundler.model.timing import MAX_SAMPLES, ClockProbe, HostSample, ProcessTiming, TimedCell
from bundler.timing.judge import judge_timing
from bundler.timing.peaks import FLUSH_L2
from bundler.timing.samples import LAUNCH_BOUND_US
from bundler.timing.statistics import enough
from bundler.worker.tensors import Inputs
from bundler.worker.timer import Timer


def by_bundler(each: Kernel, repeat: int, gpu: Gpu) -> Said:
    """A median for each repetition, and the names of the rules that object."""
    reading = gpu.fields["l2_bytes"]
    assert isinstance(reading, Read)
    flush_bytes = int(FLUSH_L2 * int(str(reading.value)))
    timer = _timer(each, flush_bytes)
    processes = [_process(timer, gpu) for _ in range(repeat)]
    cell = TimedCell(
        candidate="benchmark/kernel", case=each.name, cache="cold", call_bytes=each.bytes, sets=2,
        flush_bytes=flush_bytes, bytes=float(each.bytes), processes=tuple(processes),
    )  # fmt: skip
    verdict = judge_timing(cell, gpu)
    assert verdict is not None
    # No fresh processes, no stopwatch and no outputs here, so nothing is to be said about these.
    names = [r.name for r in verdict.reasons if r.rule not in ("T15", "T16", "T17", "T22", "T23")]
    return Said(tuple(float(np.median(p.samples_us)) for p in processes), ", ".join(names) or NOTHING)


def _timer(each: Kernel, flush_bytes: int) -> Timer:
    """Two sets of buffers; a graph of calls where launching would dominate, as in a real run."""
    spec = {
        "kind": "tensor", "name": "x", "dtype": "float32", "shape": [each.rows, each.cols],
        "strides": [each.cols, 1], "offset": 0, "storage": each.rows * each.cols, "gap": "0000803f",
        "points": [],
    }  # fmt: skip
    timer = Timer(
        lambda arguments: each(arguments[0].view), lambda specs: [Inputs.allocate(s, "cuda") for s in specs]
    )
    setup = {"action": "setup", "sets": [[spec], [spec]], "flush_bytes": flush_bytes}
    timer.answer(setup, memoryview(b""))
    if float(np.median(_sampled(timer, 8)[0])) <= LAUNCH_BOUND_US:
        timer.answer({"action": "capture", "order": [0, 1] * 10}, memoryview(b""))
    return timer


def _sampled(timer: Timer, count: int) -> tuple[list[float], dict[str, Any]]:
    answer, _ = timer.answer({"action": "sample", "order": [i % 2 for i in range(count)]}, memoryview(b""))
    if answer["raised"]:
        sys.exit(f"the timer: {answer['raised']}")
    return answer["us"], answer


def _process(timer: Timer, gpu: Gpu) -> ProcessTiming:
    us: list[float] = []
    clocks: list[ClockProbe] = []
    starved, seconds = 0, 0.0
    with Sampler(gpu, own=(os.getpid(),)) as sampler:
        host = []
        while not enough(us, seconds) and seconds < 1.5:
            began = time.monotonic()
            more, answer = _sampled(timer, 20)
            seconds += time.monotonic() - began
            us += more
            starved += answer["starved"]
            clocks += [ClockProbe(cycles=c, ns=ns) for c, ns in answer["clocks"]]
            host.append(HostSample(phase="during", fields=sampler.sample(), lists_own=True))
    return ProcessTiming(
        samples_us=tuple(us[:MAX_SAMPLES]), starved=starved, seconds=seconds, converged=enough(us, seconds),
        clocks=tuple(clocks[:50]), persisting_reset=True, host=tuple(host[:20]), checked=1,
    )  # fmt: skip
