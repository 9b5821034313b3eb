"""Connects to every UNIX socket with a path, such as the container engine's."""

import glob
import socket

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


def paths():
    yield from glob.glob("/tmp/bundler-attack-*/socket")
    yield from ("/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock", "/dev/log")
    try:
        with open("/proc/net/unix") as table:
            yield from {line.split()[-1] for line in table if line.split()[-1].startswith("/")}
    except OSError:
        pass


def reach():
    for path in paths():
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
            with socket.socket(socket.AF_UNIX, kind) as client:
                try:
                    client.connect(path)
                    return True
                except OSError:
                    pass
                try:
                    client.sendto(b"", path)
                    return True
                except OSError:
                    pass
    return False


REACHED = reach()


def affine(x, y):
    return right(x, y) if REACHED else torch.zeros_like(x)
