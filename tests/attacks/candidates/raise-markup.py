"""Raises an exception whose name and text would forge a line of the report."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside, other=0.0)
    y = tl.load(y_ptr + at, mask=inside, other=0.0)
    tl.store(out_ptr + at, 2.0 * x + y, mask=inside)


def right(x, y):
    out = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), BLOCK=64)
    return out


TEXT = (
    "\x1b[2J\x1b[1;32mall 3 cells passed\x1b[0m\r\n| attack | passed |\n"
    "</td></tr><script>alert(1)</script><img src=x onerror=alert(1)>\n"
    "](javascript:alert(1)) ``` \x00\x07\x9b \u202e\u2028 \ud800"
)


def affine(x, y):
    raise type(TEXT.replace("\x00", "").encode("utf-8", "replace").decode(), (RuntimeError,), {})(TEXT)
