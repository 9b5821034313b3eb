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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from bundler.worker import faults

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
    untouched: bool = False
    """Whether the storage is zeros that nothing was written to yet."""

    @classmethod
    def allocate(cls, spec: dict[str, Any], device: str) -> Inputs:
        """The buffers of ``spec`` on ``device``, not yet filled."""
        dtype = DTYPES[spec["dtype"]]
        untouched = device == "cpu" and _is_zero(spec["gap"])
        if untouched:
            # calloc'd pages cost nothing until they are touched, which lets inputs of many GiB stand in.
            zeros = np.zeros(spec["storage"], dtype=f"i{dtype.itemsize}")
            storage = torch.from_numpy(zeros).view(dtype)
        else:
            storage = _empty(spec["storage"], dtype=dtype, device=device)
        view = torch.as_strided(storage, spec["shape"], spec["strides"], spec["offset"])
        return cls(spec, storage, view, untouched)

    def fill(self, spec: dict[str, Any], payload: memoryview) -> None:
        """Put the values of ``spec`` into the same buffers.

        The view stays the same object, as a caller's would, unless the candidate changed its shape in place.
        """
        if not self._has_its_form():
            self.view = torch.as_strided(self.storage, spec["shape"], spec["strides"], spec["offset"])
        gap = bytes.fromhex(spec["gap"])
        if not (self.untouched and _is_zero(spec["gap"]) and "points" in spec):
            _fill_bits(self.storage, gap)
        self.untouched = False
        if "points" in spec:
            for index, bits in spec["points"]:
                place = self.spec["offset"] + _place(index, spec["shape"], spec["strides"])
                _fill_bits(self.storage[place : place + 1], bytes.fromhex(bits))
            return
        at, count = spec["data"]
        if count:
            dense = _from_bytes(payload[at : at + count], self.view.dtype).reshape(spec["shape"])
            # Along a stride of 0 every entry is the first one's memory.
            once = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in spec["strides"])
            self.view[once].copy_(dense[once])

    def _has_its_form(self) -> bool:
        view, spec = self.view, self.spec
        at = self.storage.data_ptr() + spec["offset"] * self.storage.element_size()
        form = (list(view.shape), list(view.stride()), view.dtype, view.data_ptr())
        return form == (spec["shape"], spec["strides"], self.storage.dtype, at)

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
    torch.float64: "dead5eedfeedf77f",
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


def fill_all(arguments: Sequence[Any], specs: Sequence[dict[str, Any]], payload: memoryview) -> None:
    """Give those arguments that are tensors the values of a set."""
    for argument, spec in zip(arguments, specs, strict=True):
        if isinstance(argument, Inputs):
            argument.fill(spec, payload)


MOST_OUTPUTS = 17
"""One more than an experiment can ask for, so that too many are seen: as in judge.claims."""


def describe(value: Any) -> dict[str, Any]:
    """What a candidate returned, as far as it can be told without running its code."""
    if type(value) is not _tensor_type:
        return {"type": _type_name(type(value))}
    if value.layout is not torch.strided or value.is_quantized or value.is_nested or value.is_meta:
        kind = "meta" if value.is_meta else "nested" if value.is_nested else dtype_name(value.dtype)
        return {"type": f"torch.Tensor of layout {value.layout}, {kind}"[:200]}
    return {
        "type": "torch.Tensor",
        "dtype": dtype_name(value.dtype),
        "shape": list(value.shape),
        "strides": list(value.stride()),
        "device": value.device.type,
        "bytes": value.numel() * value.element_size(),
    }


_module_of = type.__dict__["__module__"].__get__
_qualname_of = type.__dict__["__qualname__"].__get__


def _type_name(kind: type) -> str:
    """The class's name without asking its metaclass, which may be the candidate's."""
    try:
        return faults.clean(f"{_module_of(kind)}.{_qualname_of(kind)}", 200)
    except BaseException:  # noqa: BLE001 (a class's __module__ can be any object)
        return "a type that hides its name"


def to_bytes(value: torch.Tensor) -> bytes:
    """A tensor's logical elements, row-major. Waits for the current stream and for no other."""
    dense = value.detach().resolve_neg().contiguous()
    if dense.numel() == 0:
        return b""
    # A single element counts as contiguous whatever its strides, and cannot be viewed as bytes with them.
    dense = torch.as_strided(dense, (dense.numel(),), (1,))
    return bytes(dense.view(torch.uint8).cpu().numpy().tobytes())
