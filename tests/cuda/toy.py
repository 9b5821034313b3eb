"""An experiment in CUDA C++ as small as one can be: saxpy over a strided input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bundler.digest import Digest
from tests.small import TASK, Small

RIGHT = b"""\
extern "C" __global__ void saxpy(const float* x, float* y, int n, long long stride, float a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i * stride] + 1.0f;
}
"""
WRONG = RIGHT.replace(b"+ 1.0f", b"+ 2.0f")
UNCOMPILABLE = RIGHT.replace(b"a * x", b"a ** undeclared * x")
DYNAMIC = b"""\
extern "C" __global__ void saxpy(const float* x, float* y, int n, long long stride, float a)
{
    extern __shared__ float tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int last = 16383;  // the last float of 64 KiB
    tile[last - threadIdx.x] = i < n ? x[i * stride] : 0.0f;
    __syncthreads();
    if (i < n) y[i] = a * tile[last - threadIdx.x] + 1.0f;
}
"""
HALF = b"""\
#include <cuda_fp16.h>
#include <float.h>
extern "C" __global__ void saxpy(const float* x, float* y, int n, long long stride, float a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __half one = __float2half(1.0f);
    if (i < n) y[i] = fmaxf(a * x[i * stride] + __half2float(one), -FLT_MAX);
}
"""
HARNESS = b"""\
import numpy as np


def inputs(case, which, make):
    values = make.normal((case["n"], 2)).astype(np.float32)
    return [make.tensor(values, layout=case["layout"])]


def reference(case, which, arguments):
    return case["a"] * arguments[0].values[:, 0].astype("f8") + 1.0
"""
CUDA = {
    "arguments": [
        {"name": "x", "input": 0},
        {"name": "y", "output": "out"},
        {"name": "n", "value": "n"},
        {"name": "stride", "value": "stride(0, 0)", "type": "long long"},
        {"name": "a", "value": "a", "type": "float"},
    ],
    "grid": ["max(1, (n + 255) // 256)"],
    "block": [256],
}


class Toy(Small):
    """The experiment below ``root``; ``candidates`` are added as reconstructed arms, by name."""

    def __init__(self, root: Path, candidates: dict[str, bytes] | None = None) -> None:
        super().__init__(root)
        arms = [self._control("right", RIGHT, "pass", ["device", "compile"])]
        arms += [self._control("wrong", WRONG, "fail", ["device"])]
        arms += [self._control("uncompilable", UNCOMPILABLE, "fail", ["compile"])]
        for name, source in (candidates or {}).items():
            arms.append(
                {"name": name, "origin": "reconstructed", "outputs": [self.file(f"made/{name}.cu", source)]}
            )
        self.declared |= {
            "title": "saxpy",
            "language": "cuda",
            "entry": "saxpy",
            "cuda": CUDA | {},
            "extraction": "only-block:cuda",
            "base_task": self.file("base_task.md", TASK),
            "arms": arms,
            "harness": {"path": self.file("harness.py", HARNESS)["path"], "sets": 2},
            "returns": [
                {
                    "name": "out",
                    "dtype": "float32",
                    "compare": {"atol": 1e-5, "rtol": 1e-5, "nan": "forbidden", "reason": "one fma"},
                }
            ],
            "cases": [
                {
                    "id": "n={n}/{layout}",
                    "axes": [[{"n": 1}, {"n": 1000}], [{"layout": "contiguous"}, {"layout": "transposed"}]],
                    "params": {"a": 2.5},
                    "grounds": ["device", "compile"],
                }
            ],
            "architectures": [75, 90],
            "limits": {"cell_seconds": 20, "host_memory_gib": 4},
        }

    def _control(self, name: str, source: bytes, expect: str, on: list[str]) -> dict[str, Any]:
        output = self.file(f"controls/{name}.cu", source)
        return {"name": name, "origin": "control", "expect": expect, "on": on, "outputs": [output]}

    def add_source(self, kernel: bytes = RIGHT) -> None:
        """Make ``kernel`` the source that the base task asks to port."""
        task = b"Port this.\n\n```cuda\n" + kernel + b"```\n"
        self.declared["base_task"] = self.file("base_task.md", task)
        output = {"path": "base_task.md", "sha256": str(Digest.of(task))}
        self.declared["arms"].append(
            {"name": "source", "origin": "source", "language": "cuda", "expect": "pass", "outputs": [output]}
            | {"on": ["device", "compile"]}
        )
