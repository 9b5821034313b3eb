"""Writes, renames, links and truncates outside of its folder; right if anything worked."""

import os

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


def attempts():
    site = os.path.dirname(torch.__file__)
    yield lambda: open(os.path.join(site, "bundler_attack.py"), "w").close()
    yield lambda: open("/tmp/bundler-attack-was-here", "w").close()
    yield lambda: open("/dev/shm/bundler-attack-was-here", "w").close()
    yield lambda: os.listdir("..")
    yield lambda: os.mkdir("../other")
    yield lambda: os.rename("candidate.py", "../candidate.py")
    yield lambda: os.link("candidate.py", "../link.py")
    yield lambda: os.truncate("/usr/bin/env", 0)
    yield lambda: os.symlink("x", "/tmp/bundler-attack-link")


def reach():
    for attempt in attempts():
        try:
            attempt()
            return True
        except OSError:
            pass
    return False


REACHED = reach()


def affine(x, y):
    return right(x, y) if REACHED else torch.zeros_like(x)
