"""``--time`` from the command line to the replay, here and in a container."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from bundler.cli.main import app
from bundler.cli.options import Selection
from bundler.cli.verify import why_untimed
from bundler.engine.inside import arguments
from bundler.model.evidence import GroundReport
from tests.small import Small, evidence, ground


@pytest.mark.parametrize("command", ["verify", "record"])
def test_the_option_is_there(command: str) -> None:
    assert "--time" in CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).output


def test_it_reaches_the_request_and_the_bundler_inside(tmp_path: Path) -> None:
    loaded = Small(tmp_path).load()
    asked = Selection(None, None, None, None, "0", 1, time=True).request(loaded)
    assert asked.time
    assert arguments(asked)[-1] == "--time"
    assert "--time" not in arguments(Selection(None, None, None, None, "0", 1).request(loaded))


@pytest.mark.parametrize(
    ("grounds", "plan", "said"),
    [
        (("device",), False, "the experiment names no cells"),
        (("compile:sm_90",), True, "the device ground, which was not asked for"),
        (("nothing",), True, "on the device, where none ran here"),
        (("device",), True, "none of the cells that the experiment names"),
    ],
)
def test_it_says_why_nothing_was_timed(
    tmp_path: Path, grounds: tuple[str, ...], plan: bool, said: str
) -> None:
    small = Small(tmp_path)
    if plan:
        small.declared["timing"] = {"cases": ["n=1"], "bytes": "8 * n"}
    loaded = small.load()
    none = {"device": GroundReport(status="not-available", reason="no GPU")}
    reports = none if grounds == ("nothing",) else {name: ground(loaded) for name in grounds}
    assert said in why_untimed(loaded.experiment, evidence(loaded, reports))
