"""Root's workers give up root's power: where they would not reach what they need, that is said first."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bundler.engine import as_root
from bundler.engine.folder import Folder, verified_folder
from bundler.errors import UnavailableError
from bundler.replay.process import SpawnFailed
from tests.engine.conftest import Recorded, options, plan

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root gives up powers")


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A folder in the home folder of another user, who let nobody else in."""
    home = tmp_path / "home"
    (home / "tmp").mkdir(parents=True)
    for path in (home, home / "tmp"):
        os.chown(path, 1000, 1000)
        path.chmod(0o700)
    return home / "tmp"


@pytest.mark.torch
def test_temporary_files_where_workers_cannot_go(
    closed: Path, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(closed))
    with pytest.raises(UnavailableError) as refused:
        verified_folder(Folder(recorded.small.folder), plan, options())
    assert f"'{closed}' is closed to root's workers" in refused.value.problem
    assert "run bundler as the user whose it is, or with a TMPDIR that every user may" in refused.value.hint
    assert list(closed.iterdir()) == []


@pytest.mark.torch
def test_a_harness_without_a_process(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """A count of processes that binds root too: of a container, or of a service."""

    def spawn(*_: object) -> None:
        raise SpawnFailed("no process could be forked: Resource temporarily unavailable")

    monkeypatch.setattr("bundler.replay.zygote.Zygote.spawn", spawn)
    with pytest.raises(UnavailableError, match=r"no confined process to run in: .*\n.*--pids-limit"):
        verified_folder(Folder(recorded.small.folder), plan, options())


def test_a_python_where_workers_cannot_go(closed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(as_root, "_python", lambda: [str(closed / "python")])
    (closed / "python").touch(0o755)
    with pytest.raises(UnavailableError, match="python' is closed to root's workers"):
        as_root.check_reach()


def test_where_they_can(temporary: Callable[..., Path]) -> None:
    as_root.check_reach()


def test_another_user_is_not_asked(closed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(closed))
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    as_root.check_reach()
