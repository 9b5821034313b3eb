"""The device files of a GPU: whether there is one to ask for."""

from __future__ import annotations

from pathlib import Path

GPU_NODES = (Path("/dev/nvidiactl"), Path("/dev/dxg"))
"""What NVIDIA's driver makes on Linux, and under WSL2."""


def has_gpu_nodes() -> bool:
    """Whether this machine has any of them."""
    return any(map(Path.exists, GPU_NODES))
