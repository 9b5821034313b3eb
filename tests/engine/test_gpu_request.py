"""When Docker is asked for a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import docker
import pytest

from bundler.engine import docker as engine
from bundler.engine import gpu_nodes


class Client:
    """As much of Docker's client as tells what the engine has."""

    def __init__(self, runtimes: dict[str, Any] | None) -> None:
        self._runtimes = runtimes

    def info(self) -> dict[str, Any]:
        return {"Runtimes": self._runtimes, "CDISpecDirs": ["/etc/cdi", "/var/run/cdi"]}


@pytest.mark.parametrize(
    ("runtimes", "node", "asked"),
    [
        ({"runc": {}}, False, False),
        (None, False, False),
        ({"runc": {}, "nvidia": {"path": "nvidia-container-runtime"}}, False, True),
        ({"runc": {}}, True, True),
    ],
)
def test_has_gpu(
    runtimes: dict[str, Any] | None, node: bool, asked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if node:
        (tmp_path / "nvidiactl").touch()
    monkeypatch.setattr(gpu_nodes, "GPU_NODES", (tmp_path / "nvidiactl", tmp_path / "dxg"))
    client = cast("docker.DockerClient", Client(runtimes))
    assert engine.Docker(client).has_gpu() is asked
