"""The command prints what the package found and says it by its exit code."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from bundler.cli.skills import app as skills

REPOSITORY = Path(__file__).parents[2]
PLACE = "skills/cuda/avoid-warp-divergence"


@pytest.fixture
def app() -> typer.Typer:
    parent = typer.Typer()
    parent.add_typer(skills, name="skills")
    return parent


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    shutil.copytree(REPOSITORY / PLACE, tmp_path / PLACE)
    guidance = tmp_path / PLACE / "SKILL.md"
    guidance.write_text(guidance.read_text().replace("## Purpose", "## Aim"))
    return tmp_path


def test_a_good_skill(app: typer.Typer) -> None:
    result = CliRunner().invoke(app, ["skills", "check", "--root", str(REPOSITORY), str(REPOSITORY / PLACE)])
    assert (result.exit_code, result.output) == (0, "1 skills checked, 0 problems\n")


def test_a_broken_skill(app: typer.Typer, broken: Path) -> None:
    result = CliRunner().invoke(app, ["skills", "check", "--root", str(broken)])
    assert result.exit_code == 3
    assert f"{PLACE}/SKILL.md:9 section-unknown '## Aim' is no section\n  → " in result.output
    assert result.output.endswith("1 skills checked, 2 problems\n")


def test_json_has_the_number_of_skills_and_each_problem_s_rule_and_line(
    app: typer.Typer, broken: Path
) -> None:
    result = CliRunner().invoke(app, ["skills", "check", "--root", str(broken), "--json"])
    assert result.exit_code == 3
    data = json.loads(result.output)
    assert data["skills"] == 1
    assert [(problem["rule"], problem["line"]) for problem in data["problems"]] == [
        ("section-unknown", 9),
        ("section-missing", None),
    ]
