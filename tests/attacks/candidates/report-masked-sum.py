"""Right, but adds up what it loads under a mask without saying what the other lanes hold."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside)
    y = tl.load(y_ptr + at, mask=inside)
    total = tl.sum(tl.where(inside, x, 0.0), 0)
    tl.store(out_ptr + at, tl.where(total < 0, 2.0 * x + y, y + 2.0 * x), mask=inside)


def affine(x, y):
    out = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), BLOCK=64)
    return out
