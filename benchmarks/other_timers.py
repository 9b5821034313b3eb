"""The other three ways to time a kernel: triton.testing.do_bench, NVBench's Python package, CUPTI's.

NVBench and CUPTI run in a process of their own: ``python -m benchmarks.timing --own`` is its command.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import triton.testing

from benchmarks.kernels import KERNELS, NOTHING, Kernel, Said
from bundler.model.host import Gpu


def by_do_bench(each: Kernel, repeat: int, gpu: Gpu) -> Said:
    """Triton's own benchmark, with its defaults: one number."""
    x = torch.ones(each.rows, each.cols, device="cuda")
    medians = [
        1000 * float(triton.testing.do_bench(lambda: each(x), return_mode="median")) for _ in range(repeat)
    ]
    return Said(tuple(medians), NOTHING)


def by_nvbench(each: Kernel, repeat: int, gpu: Gpu) -> Said:
    """NVBench's cold measurement in a process of its own, with its defaults; what it logged as a warning."""
    with _own_process("nvbench", each, repeat) as (ended, path):
        if ended.returncode or not path.exists():
            return _no_numbers(ended)
        from cuda.bench.results import BenchmarkResult  # noqa: PLC0415

        found = BenchmarkResult.from_json(path)
        states = [state for bench in found.values() for state in bench if state.samples]
        medians = [1e6 * float(np.median(state.samples)) for state in states]
    return Said(tuple(medians), warnings_in(ended.stdout))


def warnings_in(log: str) -> str:
    """How many warnings NVBench logged, and the first one's first sentence without its figures."""
    warned = re.findall(r"Warn:\s*([^\n]*)|(throttled[^\n]*)", log)
    if not warned:
        return NOTHING
    first = re.sub(r"\s*\([^)]*\)", "", re.split(r"\.\s", "".join(warned[0]))[0])
    return f"{len(warned)} warning{'s' * (len(warned) > 1)}: {first}"


def by_cupti(each: Kernel, repeat: int, gpu: Gpu) -> Said:
    """CUPTI's record of the kernel, end less start, behind a flush of 256 MiB, in a process of its own."""
    with _own_process("cupti", each, repeat) as (ended, path):
        if ended.returncode or not path.exists():
            return _no_numbers(ended)
        found = json.loads(path.read_text())
    lost = f"{found['lost']} of {found['calls']} calls not recorded" if found["lost"] else NOTHING
    return Said(tuple(found["medians"]), lost)


Ended = tuple[subprocess.CompletedProcess[str], Path]


@contextlib.contextmanager
def _own_process(way: str, each: Kernel, repeat: int) -> Iterator[Ended]:
    """The process once it has ended, and the file that it may have written."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / f"{way}.json"
        words = [sys.executable, "-m", "benchmarks.timing", "--own", way, KERNELS.index(each), repeat, path]
        yield subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False), path


def _no_numbers(ended: subprocess.CompletedProcess[str]) -> Said:
    last = (ended.stderr or ended.stdout).strip().splitlines()[-1:] or ["it printed nothing"]
    return Said((), f"ended with {ended.returncode}: {last[0][:160]}")


def in_own_process(way: str, index: str, repeat: str, path: str) -> None:
    """What ``--own`` asks for: the medians of a kernel, into the file."""
    measure = {"nvbench": _nvbench, "cupti": _cupti}[way]
    measure(KERNELS[int(index)], int(repeat), path)


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
