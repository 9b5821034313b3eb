"""What torch hands out uninitialised holds poison, so that nobody is right by what lay there before."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from bundler.worker.tensors import poison


class PoisonFresh(TorchFunctionMode):  # type: ignore[misc]
    """Fill memory that torch hands out uninitialised; with ``on_cpu`` also move it off the GPU."""

    _FRESH = frozenset(
        {
            torch.empty,
            torch.empty_like,
            torch.empty_strided,
            torch.Tensor.new_empty,
            torch.Tensor.new_empty_strided,
        }
    )

    _STAYS = frozenset({torch.Tensor.cuda, torch.Tensor.pin_memory})
    """Where there is no GPU, a tensor is where these would bring it."""

    def __init__(self, *, on_cpu: bool) -> None:
        super().__init__()
        self._on_cpu = on_cpu

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if self._on_cpu and func in self._STAYS:
            return args[0]
        if self._on_cpu:
            args, kwargs = _off_the_gpu(func, args, kwargs)
        result = func(*args, **kwargs)
        if func in self._FRESH and isinstance(result, torch.Tensor):
            poison(result)
        return result


def _is_cuda(value: object) -> bool:
    return (isinstance(value, torch.device) and value.type == "cuda") or (
        isinstance(value, str) and value.split(":")[0] == "cuda"
    )


def _off_the_gpu(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if "device" in kwargs:
        kwargs["device"] = "cpu"
    kwargs.pop("pin_memory", None)
    by_index = func is torch.Tensor.to  # to(0) is a device there, and nowhere else
    return tuple("cpu" if _is_cuda(arg) or (by_index and type(arg) is int) else arg for arg in args), kwargs
