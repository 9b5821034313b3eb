"""The list of what an image holds, as it was installed: ``/usr/share/bundler/runtime.json`` in it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bundler.errors import UnavailableError
from bundler.runtime.debian import Moved
from bundler.runtime.declaration import Declaration
from bundler.runtime.lock import Lock

FOLDER = "usr/share/bundler"
FILE_NAME = "runtime.json"
NAME_LABEL = "bundler.runtime"
MOVED_LABEL = "bundler.runtime.moved"
"""Present only where a package is not the locked one."""


def python_version(declaration: Declaration, packages: dict[str, str]) -> str:
    """The full version of the image's Python. Raises UnavailableError when Debian's is another."""
    package = f"python{declaration.python}"
    if package not in packages:
        problem = f"{declaration.debian.suite} brought no {package}, which images/{declaration.name} declares"
        raise UnavailableError(problem, hint="declare the Python that the suite has")
    return packages[package].partition("-")[0]


def manifest_json(declaration: Declaration, installed: Lock, moved: Sequence[Moved]) -> bytes:
    """For people and programs: one key a line, sorted where order means nothing.

    Of what is dropped it has the rules and no counts: logs and caches differ from build to build.
    """
    content: dict[str, Any] = {
        "name": declaration.name,
        "title": declaration.title,
        "python": python_version(declaration, installed.debian),
        "wheels": {wheel.name: {"version": wheel.version, "hash": wheel.hash} for wheel in installed.wheels},
        "debian": {"suite": declaration.debian.suite, "packages": installed.debian},
        "moved": {one.name: {"locked": one.locked, "found": one.found} for one in moved},
        "dropped": [{"why": rule.why, "paths": list(rule.paths)} for rule in declaration.drop],
        "kept": list(declaration.keep),
    }
    return (json.dumps(content, indent=1, ensure_ascii=True) + "\n").encode()


def labels(declaration: Declaration, moved: Sequence[Moved]) -> dict[str, str]:
    """The image's labels: what it is, and whether it is what was locked."""
    found = {NAME_LABEL: declaration.name, "org.opencontainers.image.title": declaration.title}
    if moved:
        found[MOVED_LABEL] = "; ".join(str(one) for one in moved)
    return found
