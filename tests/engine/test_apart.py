"""A namespace for a replayer that Landlock alone does not keep apart, and where none can be made."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from bundler.engine import apart, confined
from bundler.engine.process import Places
from bundler.engine.target import Archive
from bundler.engine.verify import verified
from bundler.oci.tree import Entry
from bundler.replay import warden
from bundler.replay.request import Request
from bundler.worker import landlock
from tests.engine.conftest import ONE, options, other_version
from tests.engine.ways import NAMESPACE, WAYS

HAS_NAMESPACE = pytest.mark.parametrize("way", WAYS[1:])
SEEN = """
import os
print(os.getpid(), os.readlink("/proc/self"), sorted(p for p in os.listdir("/proc") if p.isdigit()) == ["1"],
      [line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]])
"""


@HAS_NAMESPACE
def test_what_it_sees(way: str) -> None:
    assert way == NAMESPACE
    said = subprocess.check_output([*apart.command(), sys.executable, "-c", SEEN], text=True)
    assert said == "1 1 True ['lo']\n"


@HAS_NAMESPACE
def test_it_ends_with_what_made_it(way: str, tmp_path: Path) -> None:
    """By SIGKILL too."""
    program = (
        f"import time; open({str(tmp_path / 'started')!r}, 'w'); print('x', flush=True); time.sleep(600)"
    )
    process = subprocess.Popen([*apart.command(), sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"x\n"
    process.kill()
    assert process.stdout.read() == b""  # nobody holds it any more
    process.wait()
    process.stdout.close()


def _unshare(folder: Path, script: str) -> None:
    (folder / "unshare").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "unshare").chmod(0o755)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (None, "there is no unshare (of util-linux) here to make a namespace with"),
        ("echo unshare: unshare failed: Operation not permitted >&2; exit 1",
         "no namespace can be made: unshare: unshare failed: Operation not permitted"),
        ("exit 3", "no namespace can be made: unshare ended with 3"),
        ("sleep 60", "timed out after 0.5 seconds"),
    ],
    ids=["missing", "refused", "silent", "stuck"],
)  # fmt: skip
def test_why_there_is_none(
    script: str | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "_TRY_S", 0.5)
    if script is not None:
        _unshare(tmp_path, script)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin" if script else str(tmp_path))
    with pytest.raises(apart.NotApart) as refused:
        apart.command()
    assert said in str(refused.value)


@pytest.mark.parametrize("entry", ["", ".", "bin"])
def test_an_unshare_of_the_current_folder_is_none(
    entry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / entry
    folder.mkdir(exist_ok=True)
    _unshare(folder, f"touch {tmp_path}/ran; exit 1")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", entry)
    with pytest.raises(apart.NotApart, match="there is no unshare"):
        apart.command()
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(("version", "needed"), [(0, False), (1, True), (5, True), (6, False), (7, False)])
def test_which_kernels_take_one(version: int, needed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any Landlock a namespace would not help: nothing keeps the files."""
    monkeypatch.setattr(landlock, "version", lambda: version)
    assert bool(warden.lacks_scopes()) == needed


@pytest.mark.slow
@pytest.mark.torch
def test_without_one_the_installed_replayer_judges(
    archive: Callable[[Sequence[Entry]], Archive], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = "this kernel's Landlock has version 4, and 6 is needed"
    monkeypatch.setattr(warden, "lacks_scopes", lambda: reason)
    _unshare(tmp_path, "echo unshare: mount /proc failed: Permission denied >&2; exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with verified(archive(other_version()), lambda _: ONE, options()) as replayed:
        assert replayed.evidence.subject.replayer_from == "installed"
    said = f"signals: {reason}, or a namespace: no namespace can be made: unshare: mount /proc failed"
    assert said in replayed.notes[-1]
    assert "--own-replayer runs it unconfined" in replayed.notes[-1]


def test_a_namespace_that_fails_in_the_end_is_no_fault_of_the_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = _places(tmp_path)
    _unshare(tmp_path, 'for last; do :; done; [ "$last" = true ] || exit 7')
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(warden, "lacks_scopes", lambda: "an old kernel")
    with (
        pytest.raises(confined.NotConfined, match="what was to confine it ended with 7 before it began"),
        confined.confined(Request(device=False), places) as started,
    ):
        os.waitid(os.P_PID, started.process.pid, os.WEXITED | os.WNOWAIT)


def _places(folder: Path) -> Places:
    places = Places(folder / "s/replayer", folder / "b/bundle", folder / "s/work")
    for each in (places.replayer, places.experiment, places.temporary):
        each.mkdir(parents=True)
    return places


def test_the_order_says_that_it_is_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = _places(tmp_path)
    for reason in ("", "an old kernel"):
        monkeypatch.setattr(warden, "lacks_scopes", lambda reason=reason: reason)
        assert confined._order(Request(device=False), places).confinement["apart"] == bool(reason)


def test_a_warden_without_a_namespace_is_not_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it takes to hear that it is to end: what it holds would go on without it."""
    monkeypatch.setattr(confined, "_GONE_S", 0.1)
    process = subprocess.Popen(["sh", "-c", "sleep 1; exit 5"])
    confined._wait(process, in_namespace=False)
    assert process.returncode == 5


def test_a_namespace_that_does_not_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confined, "_GONE_S", 0.2)
    process = subprocess.Popen(["sleep", "600"])
    begun = time.monotonic()
    confined._wait(process, in_namespace=True)
    assert process.returncode == -9
    assert time.monotonic() - begun < 60
