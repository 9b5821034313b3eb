"""The browser of a module's tests, and the accessibility checker that runs in it."""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Iterator

import pytest

from tests.report.browser import Browser, browser


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """axe-core's source, from npm."""
    folder = tmp_path_factory.mktemp("axe")
    try:
        subprocess.run(
            ["npm", "pack", "axe-core@4"], cwd=folder, capture_output=True, check=True, timeout=120
        )
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"npm gave no axe-core: {error}")
    (archive,) = folder.glob("axe-core-*.tgz")
    with tarfile.open(archive) as tar:
        member = tar.extractfile("package/axe.min.js")
        assert member
        return member.read().decode()
