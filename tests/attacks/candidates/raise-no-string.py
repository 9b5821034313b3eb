"""Raises an exception whose text is a str subclass that does what it likes."""

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


class Text(str):
    def __getitem__(self, key):
        return Text("y" * (64 << 20))

    def __len__(self):
        return 3


class Odd(Exception):
    def __str__(self):
        return Text("\ud800 odd")


def affine(x, y):
    raise Odd
