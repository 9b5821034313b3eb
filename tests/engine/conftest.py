"""A small bundle with evidence that this machine recorded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from bundler.experiment.load import Loaded
from bundler.replay.replay import replay
from bundler.replay.request import Request, Watch
from tests.small import Small

REQUEST = Request(device=False, interpreter=True, architectures=(90,), jobs=2)


def plan(loaded: Loaded) -> Request:
    """What every test of this folder asks for."""
    return REQUEST


@dataclass(frozen=True)
class Recorded:
    """The experiment's builder and what it loads as."""

    small: Small
    loaded: Loaded


@pytest.fixture(scope="package")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """One experiment, replayed once; tests leave it as it is."""
    small = Small(tmp_path_factory.mktemp("recorded"))
    small.record(replay(small.load(), REQUEST, Watch()))
    return Recorded(small, small.load())


@pytest.fixture
def checkout(recorded: Recorded, tmp_path: Path) -> Small:
    """A copy of it, to be changed."""
    copy = Small(tmp_path / "copy")
    copy.record((recorded.small.folder / "evidence/host.json").read_bytes())
    return copy
