"""A resource that is missing skips a test, and fails it where the resource is required."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
TESTS = """
import pytest

@pytest.mark.browser
def test_needs(): pass

@pytest.mark.torch
def test_skips_itself(): pytest.skip("for a reason of its own")

@pytest.mark.torch
@pytest.mark.xfail(strict=True)
def test_expected(): assert False

def test_needs_nothing(): pytest.skip("free to")
"""


def _run(folder: Path, *arguments: str, require: str = "") -> str:
    (folder / "conftest.py").write_bytes((REPOSITORY / "tests/conftest.py").read_bytes())
    (folder / "test_it.py").write_text(TESTS)
    (folder / "torch.py").touch()
    (folder / "triton.py").touch()
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-rsf",
        "-c",
        str(REPOSITORY / "pyproject.toml"),
        *arguments,
        ".",
    ]
    env = {"PATH": "", "PYTHONPATH": f"{folder}:{REPOSITORY}", "BUNDLER_REQUIRE": require}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_a_missing_resource_skips(tmp_path: Path) -> None:
    shown = _run(tmp_path)
    assert "no headless browser" in shown
    assert "3 skipped, 1 xfailed" in shown


@pytest.mark.parametrize("by", ["option", "environment"])
def test_a_required_resource_that_is_missing_fails(tmp_path: Path, by: str) -> None:
    shown = _run(
        tmp_path, *(["--require=browser"] if by == "option" else []), require="browser" * (by != "option")
    )
    assert "browser is required, and the test was skipped: Skipped: no headless browser" in shown
    assert "2 skipped, 1 xfailed, 1 error" in shown


def test_no_skip_of_a_test_whose_resource_is_required(tmp_path: Path) -> None:
    shown = _run(tmp_path, "--require", "torch")
    assert "torch is required, and the test was skipped: Skipped: for a reason of its own" in shown
    assert "1 failed, 2 skipped, 1 xfailed" in shown


def test_an_unknown_resource(tmp_path: Path) -> None:
    assert "--require: 'dokcer' is none of docker, gpu" in _run(tmp_path, "--require=dokcer")
