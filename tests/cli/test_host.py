"""``bundler host``: what could not be read is said in words."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from bundler.cli import host as command
from bundler.model.host import Host, Unread


@pytest.mark.parametrize(
    ("code", "said"),
    [("No such file or directory", "not available: No such file or directory"), ("", "not available ")],
)
def test_a_field_that_is_missing(monkeypatch: pytest.MonkeyPatch, code: str, said: str) -> None:
    missing = Unread(status="not_available", code=code, call="/sys/board")
    monkeypatch.setattr(command, "probe_host", lambda: Host(system={"board": missing}, software={}))
    out = CliRunner().invoke(command.app, [], env={"COLUMNS": "120"}).output
    assert said in out
    assert "not_available" not in out
