"""The two ways of keeping a replayer's signals inside, and a kernel that leaves it to the second."""

from __future__ import annotations

import platform

import pytest

from bundler.engine import apart, confined
from bundler.replay import warden
from bundler.worker import landlock
from bundler.worker.system_calls import MACHINES

LANDLOCK, NAMESPACE = "landlock", "namespace"
WARDEN_BEFORE_SCOPES = (
    "-c",
    "from bundler.worker import landlock; landlock.version = lambda: 1\n"
    "from bundler.replay import warden; warden.main()",
    warden.MODULE,
)
"""As on Linux 5.13: with the rights of Landlock's first version, without a scope for signals."""


def _can_be_apart() -> bool:
    try:
        apart.command()
    except apart.NotApart:
        return False
    return True


FILTERED = platform.machine() in MACHINES
WAYS = [
    pytest.param(
        LANDLOCK,
        marks=pytest.mark.skipif(
            not FILTERED or landlock.version() < landlock.SCOPES_VERSION,
            reason="this kernel's Landlock cannot",
        ),
    ),
    pytest.param(
        NAMESPACE,
        marks=pytest.mark.skipif(
            not FILTERED or landlock.version() < 1 or not _can_be_apart(),
            reason="no namespace can be made here",
        ),
    ),
]


def leave_to_a_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have askers and wardens take this kernel for one of before Landlock's scopes."""
    monkeypatch.setattr(warden, "lacks_scopes", lambda: "an old kernel")
    monkeypatch.setattr(confined, "_WARDEN", WARDEN_BEFORE_SCOPES)
