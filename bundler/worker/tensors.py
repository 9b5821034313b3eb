"""Tensors from their description on the wire, and back to bytes.

A description (all sizes in elements)::

    {"name": "x", "dtype": "float32", "shape": [2, 3], "strides": [3, 1], "offset": 0, "storage": 6,
     "gap": "7f7fffff"          bytes of one element, hexadecimal, little endian: what fills the storage
     "data": [at, bytes]        where the payload has the logical elements, row-major
     "points": [[index, hex]]   instead of data: the elements that differ from ``gap``}

The gap is what a kernel reads when it leaves its view. ``points`` keep inputs of more than 2^31
elements off the wire.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

DTYPES: dict[str, torch.dtype] = {
    name: getattr(torch, name)
    for name in (
        "float64",
        "float32",
        "float16",
        "bfloat16",
        "float8_e4m3fn",
        "float8_e5m2",
        "int64",
        "int32",
        "int16",
        "int8",
        "uint8",
        "bool",
    )
}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}

# The candidate shares this process and may replace torch's functions; the ones that carry its output
# out are looked up before it is loaded.
_empty = torch.empty
_tensor_type = torch.Tensor


def dtype_name(dtype: object) -> str:
    """The wire's name of a torch dtype, or torch's own spelling of one that the wire does not know."""
    return _NAMES.get(dtype, str(dtype)) if isinstance(dtype, torch.dtype) else repr(dtype)[:80]


@dataclass
class Inputs:
    """One argument's storage and the view of it that the candidate is given."""

    spec: dict[str, Any]
    storage: torch.Tensor
    view: torch.Tensor

    @classmethod
    def allocate(cls, spec: dict[str, Any], device: str) -> Inputs:
        """The buffers of ``spec`` on ``device``, not yet filled."""
        dtype = DTYPES[spec["dtype"]]
        if device == "cpu" and _is_zero(spec["gap"]):
            # calloc'd pages cost nothing until they are touched, which lets inputs of many GiB stand in.
            zeros = np.zeros(spec["storage"] * dtype.itemsize, dtype=np.uint8)
            storage = torch.from_numpy(zeros).view(dtype)
        else:
            storage = _empty(spec["storage"], dtype=dtype, device=device)
        view = torch.as_strided(storage, spec["shape"], spec["strides"], spec["offset"])
        return cls(spec, storage, view)

    def fill(self, spec: dict[str, Any], payload: memoryview) -> None:
        """Put the values of ``spec`` into the same buffers."""
        gap = bytes.fromhex(spec["gap"])
        if not (_is_zero(spec["gap"]) and self.storage.device.type == "cpu" and "points" in spec):
            _fill_bits(self.storage, gap)
        if "points" in spec:
            for index, bits in spec["points"]:
                place = self.spec["offset"] + _place(index, spec["shape"], spec["strides"])
                _fill_bits(self.storage[place : place + 1], bytes.fromhex(bits))
            return
        at, count = spec["data"]
        if count:
            dense = _from_bytes(payload[at : at + count], self.view.dtype).reshape(spec["shape"])
            self.view.copy_(dense)

    def checksum(self) -> tuple[int, ...]:
        """Sums over the storage's bits that change with almost any change of it: a claim, not a proof."""
        bits = self.storage.view(torch.uint8)
        whole = bits[: bits.numel() // 4 * 4].view(torch.int32)
        step = 1 << 28
        parts = [whole[at : at + step] for at in range(0, whole.numel(), step)]
        tail = int(bits[bits.numel() // 4 * 4 :].sum(dtype=torch.int64))
        return (*(int(part.sum(dtype=torch.int64)) for part in parts), tail)


def _is_zero(bits: str) -> bool:
    return not bits.strip("0")


def _place(index: int, shape: list[int], strides: list[int]) -> int:
    place = 0
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        index, at = divmod(index, size)
        place += at * stride
    return place


def _from_bytes(data: memoryview, dtype: torch.dtype) -> torch.Tensor:
    return torch.frombuffer(bytearray(data), dtype=torch.uint8).view(dtype)


_CARRIERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def _fill_bits(tensor: torch.Tensor, element: bytes) -> None:
    """Fill a dense tensor with one element's bits, whatever its dtype, NaNs kept as they are."""
    carrier = _CARRIERS[len(element)]
    signed = int.from_bytes(element, "little", signed=carrier is not torch.uint8)
    tensor.view(carrier).fill_(signed)


POISON = {
    torch.float64: "dead5eedfeedfff7",
    torch.float32: "5eedfe7f",
    torch.float16: "ed7d",
    torch.bfloat16: "ed7f",
    torch.float8_e4m3fn: "7f",
    torch.float8_e5m2: "7d",
    torch.bool: "01",
}
"""One element of memory that nothing was written to: NaN where the dtype has one."""


def poison(tensor: torch.Tensor) -> torch.Tensor:
    """Overwrite fresh memory, so that whatever a kernel fails to write is seen."""
    if tensor.numel() == 0 or not _is_dense(tensor):
        return tensor
    bits = POISON.get(tensor.dtype) or "a5" * tensor.element_size()
    if tensor.dtype in DTYPES.values():
        flat = torch.as_strided(tensor, (tensor.numel(),), (1,))
        _fill_bits(flat, bytes.fromhex(bits))
    return tensor


def _is_dense(tensor: torch.Tensor) -> bool:
    """Whether the elements fill one stretch of memory, in whatever order."""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def describe(value: object) -> dict[str, Any]:
    """What a candidate returned, as far as it can be told without running its code."""
    if type(value) is not _tensor_type:
        return {"type": f"{type(value).__module__}.{type(value).__qualname__}"[:200]}
    return {
        "type": "torch.Tensor",
        "dtype": dtype_name(value.dtype),
        "shape": list(value.shape),
        "strides": list(value.stride()),
        "device": value.device.type,
        "bytes": value.numel() * value.element_size(),
    }


def to_bytes(value: torch.Tensor) -> bytes:
    """A tensor's logical elements, row-major."""
    dense = value.detach().contiguous().reshape(-1)
    if dense.numel() == 0:
        return b""
    return dense.view(torch.uint8).cpu().numpy().tobytes()
