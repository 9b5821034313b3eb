"""Resources that a test may need: without one it is skipped, or fails where the resource is required.

``--require=docker,torch`` or ``BUNDLER_REQUIRE=docker,torch`` names what has to be there: every skip of a
test with that marker, for whatever reason, is then a failure.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from tests.small import Small

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome-headless-shell")


def _answers(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=30, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _torch() -> bool:
    return all(importlib.util.find_spec(name) for name in ("torch", "triton"))


_PROBES: dict[str, tuple[Callable[[], bool], str]] = {
    "docker": (lambda: _answers("docker", "version"), "no Docker engine answers"),
    "gpu": (lambda: _answers("nvidia-smi", "-L"), "no NVIDIA GPU"),
    "torch": (_torch, "torch or triton is not installed"),
    "browser": (lambda: any(map(shutil.which, BROWSERS)), "no headless browser"),
}


@functools.cache
def _there(resource: str) -> bool:
    return _PROBES[resource][0]()


def pytest_addoption(parser: pytest.Parser) -> None:
    known = ",".join(_PROBES)
    parser.addoption("--require", default="", help=f"resources whose lack is a failure, of {known}")


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell has its background jobs ignore Ctrl-C, and what a test interrupts would inherit that.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if unknown := _required(config) - _PROBES.keys():
        raise pytest.UsageError(f"--require: {min(unknown)!r} is none of {', '.join(_PROBES)}")


def _required(config: pytest.Config) -> set[str]:
    named = f"{config.getoption('--require')},{os.environ.get('BUNDLER_REQUIRE', '')}"
    return {name.strip() for name in named.split(",") if name.strip()}


def _needs(item: pytest.Item) -> list[str]:
    return [name for name in _PROBES if item.get_closest_marker(name)]


def pytest_runtest_setup(item: pytest.Item) -> None:
    for name in _needs(item):
        if not _there(name):
            pytest.skip(_PROBES[name][1])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    required = _required(item.config).intersection(_needs(item))
    if report.skipped and not hasattr(report, "wasxfail") and required:
        report.outcome = "failed"
        report.longrepr = f"{min(required)} is required, and the test was skipped: {_reason(report)}"
    return report


def _reason(report: pytest.TestReport) -> str:
    return str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)


@pytest.fixture(autouse=True)
def _no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the user's terminal nor the test runner's decides how wide output is."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def small(tmp_path: Path) -> Small:
    """A small experiment, not yet written."""
    return Small(tmp_path / "checkout")
