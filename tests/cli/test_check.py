"""``bundler new`` and ``bundler check`` as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bundler.cli.main import app
from bundler.errors import ExitCode, UsageError
from tests.small import ID, SKILL, Small

ROOT = Path(__file__).parents[2]
SOUND = ROOT / "proof/portability/row-max"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_a_sound_experiment_passes() -> None:
    result = run("check", SOUND)
    assert result.exit_code == ExitCode.OK
    assert result.stdout.splitlines() == [
        str(SOUND),
        "  warning  plan: there is no plan, so no one can tell whether the experiment was done as planned",
        "           → write plan: what was said before the outputs were made, and where",
        "1 experiment, 0 errors, 1 warning",
    ]


def test_json(small: Small) -> None:
    folder = small.write()
    result = run("check", folder, SOUND, folder, "--json")
    assert result.exit_code == ExitCode.BAD_DATA
    told = json.loads(result.stdout)
    toy, row_max = told["experiments"]
    assert told["errors"] == 3
    assert (toy["experiment"], row_max["experiment"]) == (ID, "portability/row-max")
    rules = [(finding["severity"], finding["rule"]) for finding in toy["findings"]]
    assert rules == [
        ("error", "skill"),
        ("error", "controls"),
        ("error", "hardware"),
        ("warning", "plan"),
        ("warning", "no-evidence"),
        ("warning", "no-evidence"),
        ("warning", "no-evidence"),
    ]
    assert row_max["deviations"] == []


def test_declare_warns_of_what_may_not_be_as_it_came(small: Small) -> None:
    answer = small.file("outputs/with-skill/01.md", b"```python\r\nx = 1\r\n```\r\n")
    small.arm("with-skill")["outputs"] = [answer]
    result = run("declare", small.write())
    assert (result.exit_code, result.stdout) == (ExitCode.OK, "every digest is declared as it is\n")
    assert result.stderr.startswith("warning: outputs/with-skill/01.md has CRLF line ends")
    assert "\n  → compare it with the answer as it came" in result.stderr


def test_every_error_is_printed_and_counted(small: Small) -> None:
    small.file("outputs/with-skill/02.md", b"")
    result = run("check", small.write().parents[1])
    assert result.exit_code == ExitCode.BAD_DATA
    assert "  error    unlisted-output: 'outputs/with-skill/02.md' is there and not declared" in result.stdout
    assert result.stdout.splitlines()[-1] == "1 experiment, 4 errors, 4 warnings"


def test_a_noted_deviation_is_shown_with_what_it_bears_on(small: Small) -> None:
    small.declared["plan"] = {"hardware": ["Tesla T4"], "runs": 4}
    small.declared["deviations"] = [
        {"field": "runs", "note": "Two were\nenough.", "load_bearing": ["comparison", "timing"]}
    ]
    lines = run("check", small.write()).stdout.splitlines()
    at = lines.index("  noted    runs: planned 4, found 2; bears on comparison, timing")
    assert lines[at + 1] == "           Two were⏎enough."


def test_what_an_author_wrote_forges_no_line(small: Small) -> None:
    small.declared["plan"] = {
        "hardware": ["Tesla T4"],
        "models": ["a\x1b[2J\n1 experiment, 0 errors\x1b[2J"],
        "reference": "b\x1b[2J",
    }
    small.declared["deviations"] = [{"field": "reference", "note": "c\x1b[2J", "load_bearing": "none"}]
    out = run("check", small.write()).stdout
    assert "planned b\\x1b[2J" in out
    assert "\x1b" not in out
    assert "\n1 experiment, 0 errors" not in out


def test_a_folder_without_an_experiment(small: Small) -> None:
    result = run("check", small.root / "skills")
    assert isinstance(result.exception, UsageError)


def test_new_then_check(small: Small) -> None:
    small.put(f"skills/{SKILL}/SKILL.md", b"---\nname: doubling\nversion: 0.1.0\n---\n")
    result = run("new", "toy/row-max", "--skill", SKILL, "--root", small.root, "--runs", "1")
    assert result.exit_code == ExitCode.OK
    folder = small.root / "proof/toy/row-max"
    assert f"bundler check {folder}" in result.stdout
    checked = run("check", folder)
    assert checked.exit_code == ExitCode.BAD_DATA
    errors = [line for line in checked.stdout.splitlines() if line.startswith("  error")]
    assert all(line.startswith("  error    todo: ") for line in errors)
    assert checked.stdout.count("fill it in; only the author can") == 1, "a hint that repeats is said once"
    again = run("new", "toy/row-max", "--skill", SKILL, "--root", small.root)
    assert isinstance(again.exception, UsageError)


@pytest.mark.parametrize("runs", ["0", "100"])
def test_runs_have_bounds(small: Small, runs: str) -> None:
    result = run("new", "toy/row-max", "--skill", SKILL, "--root", small.root, "--runs", runs)
    assert result.exit_code == ExitCode.USAGE


def test_freeze_says_that_check_finds_errors(small: Small) -> None:
    """It freezes what loads, so that an author can try it; a reviewer would be told by check alone."""
    folder = small.write()
    frozen = run("freeze", folder, "-o", small.root / "x.oci.tar", "--bare")
    assert frozen.exit_code == ExitCode.OK
    errors = sum(line.startswith("  error ") for line in run("check", folder).stdout.splitlines())
    assert errors > 0
    assert f"below the minimum bar: {errors} errors" in frozen.stderr
    assert f"bundler check {folder}" in frozen.stderr


def test_a_line_that_is_too_long_goes_on_further_in() -> None:
    result = CliRunner().invoke(app, ["check", str(SOUND)], env={"COLUMNS": "80"})
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[2] == "      was done as planned"
