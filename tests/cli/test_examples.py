"""The examples that ``--help`` shows: each on its line, and none that the command line would refuse."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from bundler.cli.examples import EXAMPLES, epilog
from bundler.cli.main import COMMANDS, app

ROOT = Path(__file__).parents[2]
LINES = [line for lines in EXAMPLES.values() for line in lines]


@pytest.mark.parametrize("command", EXAMPLES)
@pytest.mark.parametrize("columns", ["40", "80"])
def test_each_has_a_line_of_its_own(command: str, columns: str) -> None:
    ended = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": columns})
    assert ended.exit_code == 0
    printed = [line.strip() for line in ended.output.splitlines()]
    assert len(EXAMPLES[command]) >= 2
    assert printed[-len(EXAMPLES[command]) - 1 :] == ["Examples:", *EXAMPLES[command]]


@pytest.mark.parametrize("line", LINES)
def test_the_command_line_takes_it(line: str) -> None:
    """Parsed by the command that it names, and not run."""
    program, name, *arguments = shlex.split(line)
    assert program == "bundler"
    assert line in EXAMPLES[name]
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    with command.make_context(name, arguments) as context:
        assert context.args == []


def _in_pages() -> list[str]:
    """What the pages that a newcomer reads first tell to type."""
    pages = (ROOT / name for name in ("README.md", "docs/verifying.md", "docs/runtimes.md"))
    lines = (
        line.strip().removeprefix(".venv/bin/") for page in pages for line in page.read_text().splitlines()
    )
    return [line for line in lines if line.startswith("bundler ")]


@pytest.mark.parametrize("line", _in_pages())
def test_the_command_line_takes_what_the_pages_tell(line: str) -> None:
    """Parsed by the command that it names, and not run."""
    _, name, *arguments = shlex.split(line, comments=True)
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    with command.make_context(name, arguments) as context:
        assert context.args == []


def _anchors(page: Path) -> list[str]:
    """As GitHub names a page's headings."""
    heads = re.findall(r"(?m)^#+ (.*)$", page.read_text())
    return [re.sub(r"[^a-z0-9 -]", "", head.lower()).replace(" ", "-") for head in heads]


def test_the_pages_lead_to_pages_that_are_there() -> None:
    for page in (ROOT / "README.md", ROOT / "docs/verifying.md", ROOT / "docs/runtimes.md"):
        text = page.read_text()
        for name, part in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", text):
            there = page.parent / name if name else page
            assert there.exists(), (page, name)
            assert not part or part in _anchors(there), (page, name, part)


def test_a_command_without_examples() -> None:
    assert epilog("completion") is None


def test_the_list_of_commands_is_whole_at_80_columns() -> None:
    listed = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "80"}).output.partition("Commands:")[2]
    assert len(listed.split("\n  ")) > len(COMMANDS)
    assert "..." not in listed
    assert max(map(len, listed.splitlines())) <= 80
