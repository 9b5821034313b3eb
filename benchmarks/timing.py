"""The timer against triton.testing.do_bench, NVBench's Python package and CUPTI's. Needs a GPU.

    python -m benchmarks.timing [--repeat 10] [--only bundler do_bench nvbench cupti] [--when quiet loaded]

The same kernels: medians, how far repetitions are apart, and what each says while another process loads the
device. NVBench needs ``cuda-bench``, CUPTI ``cupti-python``; where one is missing its rows say so.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl
import triton.testing

from benchmarks.common import show
from bundler.host import Sampler, probe_host
from bundler.model.host import Gpu, Read
from bundler.model.timing import ClockProbe, HostSample, ProcessTiming, TimedCell
from bundler.timing.judge import judge_timing
from bundler.timing.statistics import enough
from bundler.worker.tensors import Inputs
from bundler.worker.timer import Timer

WAYS = ("bundler", "do_bench", "nvbench", "cupti")
_LOAD = """\
import torch
a = torch.randn(4096, 4096, device="cuda")
torch.cuda.synchronize()
print("ready", flush=True)
while True:
    for _ in range(20):
        a @ a
    torch.cuda.synchronize()
"""


@triton.jit  # type: ignore[untyped-decorator]
def kernel(x_ptr, out_ptr, cols, passes, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    """The maximum of each row, ``passes`` times over."""
    row = tl.program_id(0).to(tl.int64)
    best = tl.full((BLOCK,), float("-inf"), tl.float32)
    for _ in range(0, passes):
        for start in range(0, cols, BLOCK):
            at = start + tl.arange(0, BLOCK)
            best = tl.maximum(best, tl.load(x_ptr + row * cols + at, mask=at < cols, other=float("-inf")))
    tl.store(out_ptr + row, tl.max(best, axis=0))


@dataclass(frozen=True)
class Kernel:
    """One of the four."""

    name: str
    rows: int
    cols: int
    passes: int = 1

    def __call__(self, x: Any) -> Any:
        out = torch.empty(self.rows, device="cuda")
        kernel[(self.rows,)](x, out, self.cols, self.passes, BLOCK=1024)
        return out

    @property
    def bytes(self) -> int:
        """Of the input."""
        return 4 * self.rows * self.cols


KERNELS = (
    Kernel("in the L2", 2048, 4096),
    Kernel("over 10x the L2", 16384, 16384),
    Kernel("about 5 µs", 512, 1024),
    Kernel("about 50 ms", 16384, 16384, 180),
)


@dataclass(frozen=True)
class Said:
    """The medians of some repetitions in µs, and what was said beside them."""

    medians: tuple[float, ...]
    words: str = ""


def by_bundler(each: Kernel, repeat: int, gpu: Gpu) -> Said:
    """The worker's timer in this process, and the rules; a real run has fresh processes and a stopwatch."""
    reading = gpu.fields["l2_bytes"]
    assert isinstance(reading, Read)
    l2 = int(str(reading.value))
    spec = {
        "kind": "tensor", "name": "x", "dtype": "float32", "shape": [each.rows, each.cols],
        "strides": [each.cols, 1], "offset": 0, "storage": each.rows * each.cols, "gap": "0000803f",
        "points": [],
    }  # fmt: skip
    timer = Timer(
        lambda arguments: each(arguments[0].view), lambda specs: [Inputs.allocate(s, "cuda") for s in specs]
    )
    timer.answer({"action": "setup", "sets": [[spec], [spec]], "flush_bytes": 2 * l2}, memoryview(b""))
    if float(np.median(_sampled(timer, 8)[0])) <= 10:
        timer.answer({"action": "capture", "order": [0, 1] * 10}, memoryview(b""))
    processes = [_process(timer, gpu) for _ in range(repeat)]
    cell = TimedCell(
        candidate="benchmark/kernel", case=each.name, cache="cold", call_bytes=each.bytes, sets=2,
        flush_bytes=2 * l2, bytes=float(each.bytes), processes=tuple(processes),
    )  # fmt: skip
    verdict = judge_timing(cell, gpu)
    assert verdict is not None
    # No fresh processes, no stopwatch and no outputs here, so nothing is to be said about these.
    names = [r.name for r in verdict.reasons if r.rule not in ("T15", "T16", "T17", "T22", "T23")]
    return Said(tuple(float(np.median(p.samples_us)) for p in processes), ", ".join(names) or "nothing")


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
        samples_us=tuple(us[:4000]), starved=starved, seconds=seconds, converged=enough(us, seconds),
        clocks=tuple(clocks[:50]), persisting_reset=True, host=tuple(host[:20]), checked=1,
    )  # fmt: skip


def by_do_bench(each: Kernel, repeat: int, gpu: Gpu) -> Said:
    """Triton's own benchmark, with its defaults: one number."""
    x = torch.ones(each.rows, each.cols, device="cuda")
    medians = [
        1000 * float(triton.testing.do_bench(lambda: each(x), return_mode="median")) for _ in range(repeat)
    ]
    return Said(tuple(medians), "nothing")


def by_nvbench(each: Kernel, repeat: int, gpu: Gpu) -> Said:
    """NVBench's cold measurement in a process of its own, with its defaults; what it logged as a warning."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "nvbench.json"
        ended = _own_process("nvbench", each, repeat, path)
        if ended.returncode or not path.exists():
            return _no_numbers(ended)
        from cuda.bench.results import BenchmarkResult  # noqa: PLC0415

        found = BenchmarkResult.from_json(path)
        medians = [
            1e6 * float(np.median(state.samples))
            for bench in found.values()
            for state in bench
            if state.samples
        ]
    warned = re.findall(r"Warn[^\n]*|throttled[^\n]*", ended.stdout)
    return Said(tuple(medians), f"{len(warned)} warnings: {warned[0][:90]}" if warned else "nothing")


def by_cupti(each: Kernel, repeat: int, gpu: Gpu) -> Said:
    """CUPTI's record of the kernel, end less start, behind a flush of 256 MiB, in a process of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "cupti.json"
        ended = _own_process("cupti", each, repeat, path)
        if ended.returncode or not path.exists():
            return _no_numbers(ended)
        found = json.loads(path.read_text())
    lost = f"{found['lost']} of {found['calls']} calls not recorded" if found["lost"] else "nothing"
    return Said(tuple(found["medians"]), lost)


def _own_process(way: str, each: Kernel, repeat: int, path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.timing", "--own", way, KERNELS.index(each), repeat, path]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)


def _no_numbers(ended: subprocess.CompletedProcess[str]) -> Said:
    last = (ended.stderr or ended.stdout).strip().splitlines()[-1:] or ["it printed nothing"]
    return Said((), f"ended with {ended.returncode}: {last[0][:160]}")


def _cupti(each: Kernel, repeat: int, path: str) -> None:
    from cupti import cupti  # noqa: PLC0415

    ns: list[int] = []

    def completed(activities: Sequence[Any]) -> None:
        ns.extend(found.end - found.start for found in activities if found.name == "kernel")

    cupti.activity_register_callbacks(lambda: (8 << 20, 0), completed)
    cupti.activity_enable(cupti.ActivityKind.CONCURRENT_KERNEL)
    x = torch.ones(each.rows, each.cols, device="cuda")
    flush = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    calls = 10 if each.passes > 1 else 100
    medians, lost = [], 0
    for _ in range(repeat + 1):  # the first is a warm-up
        ns.clear()
        for _ in range(calls):
            flush.zero_()
            each(x)
        torch.cuda.synchronize()
        cupti.activity_flush_all(1)
        lost += calls - len(ns)
        medians.append(float(np.median(ns)) / 1000 if ns else float("nan"))
    Path(path).write_text(json.dumps({"medians": medians[1:], "lost": lost, "calls": calls * (repeat + 1)}))


def _nvbench(each: Kernel, repeat: int, path: str) -> None:
    """Every repetition is a value of an axis."""
    from cuda import bench  # noqa: PLC0415

    def measured(state: Any) -> None:
        stream = torch.cuda.ExternalStream(state.get_stream().addressof())
        with torch.cuda.stream(stream):
            x = torch.ones(each.rows, each.cols, device="cuda")
            each(x)

        def launch(now: Any) -> None:
            with torch.cuda.stream(torch.cuda.ExternalStream(now.get_stream().addressof())):
                each(x)

        state.exec(launch, batched=False)

    bench.register(measured).add_int64_axis("repetition", list(range(repeat)))
    # By default it may take 15 s for each; beside another process its noise may never settle.
    bench.run_all_benchmarks([sys.argv[0], "--timeout", "3", "--jsonbin", path])


@contextlib.contextmanager
def _load() -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-c", _LOAD], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield
    finally:
        process.kill()
        process.communicate()


By = Callable[[Kernel, int, Gpu], Said]


def main() -> None:
    """Print one table for a quiet device, one for a loaded one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--only", nargs="*", choices=WAYS, default=WAYS)
    parser.add_argument("--when", nargs="*", choices=("quiet", "loaded"), default=("quiet", "loaded"))
    parser.add_argument("--own", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.own:
        way, index, repeat, path = options.own
        return {"nvbench": _nvbench, "cupti": _cupti}[way](KERNELS[int(index)], int(repeat), path)
    gpu = probe_host().cuda_device()
    if gpu is None:
        sys.exit("no GPU")
    ways: dict[str, By] = dict(zip(WAYS, (by_bundler, by_do_bench, by_nvbench, by_cupti), strict=True))
    chosen = {name: ways[name] for name in options.only}
    quiet: dict[Key, float] = {}
    if "quiet" in options.when:
        quiet = _table("A quiet device", chosen, options.repeat, gpu, {})
    if "loaded" in options.when:
        with _load():
            _table("Another process loads the device", chosen, min(3, options.repeat), gpu, quiet)
    return None


Key = tuple[str, str]


def _table(
    title: str, ways: dict[str, By], repeat: int, gpu: Gpu, before: dict[Key, float]
) -> dict[Key, float]:
    rows: list[Sequence[str]] = []
    found: dict[Key, float] = {}
    for each in KERNELS:
        for name, by in ways.items():
            said = by(each, repeat, gpu)
            key = (each.name, name)
            found[key] = median = float(np.median(said.medians)) if said.medians else float("nan")
            apart = max(said.medians) / min(said.medians) if said.medians else float("nan")
            beside = median / (before.get(key) or found[each.name, next(iter(ways))])
            print(f"{each.name}: {name}: {median:,.2f} µs, {said.words}", file=sys.stderr, flush=True)
            rows.append(
                (f"{each.name}: {name}", f"{median:,.2f}", f"{apart:.3f}", f"{beside:.2f}", said.words[:60])
            )
    against = "to the quiet device" if before else f"to {next(iter(ways))}"
    columns = ("kernel: timer", "median µs", f"max/min of {repeat}", f"ratio {against}", "what it says")
    show(title, columns, rows)
    return found


if __name__ == "__main__":
    main()
