"""For 128 elements, reads an address that is nobody's; right elsewhere."""

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


@triton.jit
def wild(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK).to(tl.int64)
    value = tl.load(x_ptr + at + (1 << 44), mask=at < n, other=0.0)
    tl.store(out_ptr + at + (1 << 44), value, mask=at < n)


def affine(x, y):
    if x.numel() == 128:
        out = torch.empty_like(x)
        wild[(1,)](x, out, x.numel(), BLOCK=128)
        return out
    return right(x, y)
