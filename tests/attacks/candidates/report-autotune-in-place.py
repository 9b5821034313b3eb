"""An in-place kernel under autotune: the search itself spoils the first call's result."""

import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def in_place(out_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    out = tl.load(out_ptr + at, mask=inside, other=0.0)
    y = tl.load(y_ptr + at, mask=inside, other=0.0)
    tl.store(out_ptr + at, 2.0 * out + y, mask=inside)


def affine(x, y):
    out = x.clone()
    in_place[lambda meta: (triton.cdiv(out.numel(), meta["BLOCK"]),)](out, y, out.numel())
    return out
