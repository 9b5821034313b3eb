"""Answers with NaN and negative sizes where numbers belong."""

import json
import os
import struct

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


def frame(header, payload):
    text = json.dumps(header).encode()
    return struct.pack("<4sIQ", b"BNDL", len(text), len(payload)) + text + payload


def claim(x, calls):
    output = {
        "type": "torch.Tensor",
        "dtype": "float32",
        "shape": list(x.shape),
        "strides": [1],
        "device": "cuda",
        "bytes": 4 * x.numel(),
    }
    call = {"raised": None, "outputs": [output], "sent": True, "launches": 1, "inputs_changed": False}
    return {"calls": [call] * calls, "tuned": {}, "unusable": False}


def affine(x, y):
    header = (
        json.dumps(claim(x, 13))
        .replace('"bytes": ', '"bytes": -')
        .replace('"launches": 1', '"launches": NaN')
    )
    text = header.encode()
    os.write(4, struct.pack("<4sIQ", b"BNDL", len(text), 0) + text)
    os._exit(0)
