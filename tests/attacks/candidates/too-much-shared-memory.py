"""Asks for more shared memory than a block can have."""

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
def wide(x_ptr, out_ptr, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows = tl.arange(0, ROWS)[:, None]
    a = tl.load(x_ptr + rows * COLS + tl.arange(0, COLS)[None, :])
    tl.store(out_ptr + rows * ROWS + tl.arange(0, ROWS)[None, :], tl.dot(a, a.trans()))


def affine(x, y):
    big = torch.zeros(128 * 1024, dtype=torch.float16, device=x.device)
    wide[(1,)](big, torch.empty(128 * 128, device=x.device), ROWS=128, COLS=1024, num_warps=8)
    return right(x, y)
