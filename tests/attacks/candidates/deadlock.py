"""For 128 elements, one program waits for a lock that nobody opens; right elsewhere."""

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
def waiting(lock_ptr, out_ptr):
    while tl.atomic_cas(lock_ptr, 1, 1) != 1:
        pass
    tl.store(out_ptr, 1.0)


def affine(x, y):
    if x.numel() == 128:
        out = torch.empty_like(x)
        waiting[(2,)](torch.zeros(1, dtype=torch.int32, device=x.device), out)
        return out
    return right(x, y)
