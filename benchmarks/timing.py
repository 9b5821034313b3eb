"""The timer against triton.testing.do_bench, NVBench's Python package and CUPTI's. Needs a GPU.

    python -m benchmarks.timing [--repeat 10] [--only bundler do_bench nvbench cupti] [--when quiet loaded]

The same kernels: medians, how far repetitions are apart, and what each says while another process loads the
device. NVBench needs ``cuda-bench``, CUPTI ``cupti-python``; where one is missing its rows say so.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from benchmarks.bundler_timer import by_bundler
from benchmarks.common import show
from benchmarks.kernels import KERNELS, Kernel, Said
from benchmarks.other_timers import by_cupti, by_do_bench, by_nvbench, in_own_process
from bundler.host import probe_host
from bundler.model.host import Gpu

By = Callable[[Kernel, int, Gpu], Said]
WAYS: dict[str, By] = {
    "bundler": by_bundler, "do_bench": by_do_bench, "nvbench": by_nvbench, "cupti": by_cupti,
}  # fmt: skip
_WORDS = 72
"""Letters of what a timer says that fit beside the numbers."""
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


def main() -> None:
    """Print one table for a quiet device, one for a loaded one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--only", nargs="*", choices=WAYS, default=list(WAYS))
    parser.add_argument("--when", nargs="*", choices=("quiet", "loaded"), default=("quiet", "loaded"))
    parser.add_argument("--own", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.own:
        return in_own_process(*options.own)
    gpu = probe_host().cuda_device()
    if gpu is None:
        sys.exit("no GPU")
    chosen = {name: WAYS[name] for name in options.only}
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
            words = textwrap.shorten(said.words, _WORDS, placeholder=" …")
            rows.append((f"{each.name}: {name}", f"{median:,.2f}", f"{apart:.3f}", f"{beside:.2f}", words))
    against = "to the quiet device" if before else f"to {next(iter(ways))}"
    columns = ("kernel: timer", "median µs", f"max/min of {repeat}", f"ratio {against}", "what it says")
    show(title, columns, rows)
    return found


if __name__ == "__main__":
    main()
