"""``--time`` from the command line to the replay, here and in a container."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from bundler.cli.main import app
from bundler.cli.options import Selection
from bundler.engine.inside import arguments
from tests.small import Small


@pytest.mark.parametrize("command", ["verify", "record"])
def test_the_option_is_there(command: str) -> None:
    assert "--time" in CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).output


def test_it_reaches_the_request_and_the_bundler_inside(tmp_path: Path) -> None:
    loaded = Small(tmp_path).load()
    asked = Selection(None, None, None, None, "0", 1, time=True).request(loaded)
    assert asked.time
    assert arguments(asked)[-1] == "--time"
    assert "--time" not in arguments(Selection(None, None, None, None, "0", 1).request(loaded))
