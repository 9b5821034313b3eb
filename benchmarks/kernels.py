"""What the timers are compared on, the maximum of each row in four sizes, and what each says of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl


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


NOTHING = "nothing"
"""What a timer says that has no doubt."""


@dataclass(frozen=True)
class Said:
    """The medians of some repetitions in µs, and what was said beside them."""

    medians: tuple[float, ...]
    words: str = ""
