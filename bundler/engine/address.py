"""Where Docker is looked for, and whether it may be meant to be there."""

from __future__ import annotations

import os
from pathlib import Path

SOCKET = Path("/var/run/docker.sock")
"""Where an engine of this machine listens, where DOCKER_HOST says nothing else."""


def docker_address() -> str:
    """That of the engine which docker's client asks."""
    return os.environ.get("DOCKER_HOST") or f"unix://{SOCKET}"


def docker_is_expected() -> bool:
    """Whether somebody set Docker up for this machine, so that its silence is worth a word."""
    return bool(os.environ.get("DOCKER_HOST")) or SOCKET.exists()
