"""A shell's script, and what bundler answers when the script asks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STARTER = f"""#!{sys.executable}
import sys

sys.argv[0] = "bundler"
from bundler.cli.main import main

main()
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """With ``bundler`` on the path, as pip installs it."""
    starter = tmp_path / "bundler"
    starter.write_text(STARTER)
    starter.chmod(0o755)
    return {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


def run(*command: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("line", "last", "wanted"),
    [
        ("bundler comp", 1, {"compare", "completion"}),
        ("bundler diff --", 2, {"--full", "--json", "--help"}),
        ("bundler schema ", 2, {"experiment", "evidence", "skill"}),
    ],
)
def test_bash(environment: dict[str, str], line: str, last: int, wanted: set[str]) -> None:
    """The script, evaluated by bash, fills in what bash would offer."""
    words = " ".join(f"'{word}'" for word in line.split(" "))
    script = f"""
        eval "$(bundler completion bash)" || exit 1
        COMP_WORDS=({words}); COMP_CWORD={last}
        _bundler_completion bundler
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    ended = run("bash", "-c", script, env=environment)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert set(ended.stdout.split()) == wanted


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_script_asks_the_same_way(environment: dict[str, str], shell: str) -> None:
    ended = run("bundler", "completion", shell, env=environment)
    assert ended.returncode == 0
    assert f"_BUNDLER_COMPLETE=complete_{shell}" in ended.stdout


def test_an_answer_ends_with_0(environment: dict[str, str]) -> None:
    asking = {"_BUNDLER_COMPLETE": "complete_bash", "COMP_WORDS": "bundler ver", "COMP_CWORD": "1"}
    ended = run("bundler", env=environment | asking)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "verify\n", "")


def test_another_shell(environment: dict[str, str]) -> None:
    ended = run("bundler", "completion", "tcsh", env=environment)
    assert ended.returncode == 2
