"""What a machine writes of a runtime: ``runtime.lock.yaml``, every package by version or hash.

It names no package index: a wheel is its sha256, wherever pip finds it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import model_validator

from bundler.digest import Digest
from bundler.errors import UnavailableError
from bundler.runtime.declaration import Frozen, parse_model

FILE_NAME = "runtime.lock.yaml"


class Wheel(Frozen):
    """One wheel: the version that pip is asked for, and the bytes that it must bring."""

    name: str
    version: str
    hash: Digest


class Lock(Frozen):
    """All that an image is made of."""

    debian: dict[str, str]
    """Package to version: every one in the root filesystem, asked for or not."""
    wheels: tuple[Wheel, ...]

    @model_validator(mode="after")
    def _no_wheel_twice(self) -> Lock:
        names = [wheel.name for wheel in self.wheels]
        if len(set(names)) != len(names):
            raise ValueError("a wheel is listed twice")
        return self


def load_lock(folder: Path) -> Lock:
    """The lock in ``folder``. Raises UnavailableError when there is none yet, else as ``parse_model``."""
    path = folder / FILE_NAME
    if not path.is_file():
        hint = f"write it with `python -m bundler.runtime lock {folder.name}`"
        raise UnavailableError(f"{path} is not there", hint=hint)
    return parse_model(Lock, path)


def save_lock(lock: Lock, folder: Path) -> Path:
    """Write ``lock`` to ``folder``: sorted, so that a new lock differs only where a package does."""
    path = folder / FILE_NAME
    head = f"# Written by `python -m bundler.runtime lock {folder.name}`. Do not edit.\n"
    path.write_text(head + dump(as_data(lock)), encoding="utf-8", newline="\n")
    return path


def as_data(lock: Lock) -> dict[str, Any]:
    """``lock`` as plain values in the one order that is written."""
    wheels = sorted(lock.wheels, key=lambda wheel: wheel.name)
    return {
        "debian": dict(sorted(lock.debian.items())),
        "wheels": [
            {"name": wheel.name, "version": wheel.version, "hash": str(wheel.hash)} for wheel in wheels
        ],
    }


def dump(data: Any) -> str:
    """YAML with the keys as they come and no line folded."""
    text: str = yaml.safe_dump(data, sort_keys=False, width=1000)
    return text
