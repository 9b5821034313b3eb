"""Where a command writes: one rule for every option, one clean error, nothing left half written."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bundler import files
from bundler.bundle.freeze import freeze
from bundler.cli import main
from bundler.oci.archive import write_archive
from tests.small import ID, Small, evidence, ground

OF = f"proof/{ID}"
FILES = {
    "verify": ["verify", OF, "--engine", "host", "--json", "{}"],
    "markdown": ["report", OF, "--markdown", "{}"],
    "html": ["report", OF, "--html", "{}"],
    "freeze": ["freeze", OF, "--bare", "-o", "{}"],
    "rebase": ["rebase", "x.tar", "--base", "x.tar", "-o", "{}"],
}
FOLDERS = {
    "plots": ["report", OF, "--plots", "{}"],
    "freeze": ["freeze", OF, "--bare", "-o", "{}/"],
    "rebase": ["rebase", "x.tar", "--base", "x.tar", "-o", "{}/"],
    "extract": ["extract", "{}", "--from", OF],
}
Run = Callable[[list[str], str], tuple[int, str]]


@pytest.fixture
def run(small: Small, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """A command with a name in its braces, beside an experiment and a bundle; its code and stderr."""
    loaded = small.load()
    small.record(evidence(loaded, {"interpreter": ground(loaded)}))
    write_archive(freeze(small.load(), None).image, small.root / "x.tar", reference="x:1")
    monkeypatch.chdir(small.root)

    def run(arguments: list[str], named: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["bundler", *(a.format(named) for a in arguments)])
        with pytest.raises(SystemExit) as ended:
            main.main()
        return int(ended.value.code or 0), capsys.readouterr().err

    return run


def _all() -> set[Path]:
    return set(Path().rglob("*"))


def _refused(run: Run, arguments: list[str], named: str, why: str) -> None:
    before = _all()
    code, err = run(arguments, named)
    problem, hint = err.splitlines()
    assert (code, problem.startswith(f"error: '{named}")) == (6, True)
    assert problem.endswith(f"' cannot be written: {why}")
    assert hint.startswith("  → ")
    assert _all() == before


@pytest.mark.parametrize("command", [*FILES.values(), *FOLDERS.values()], ids=[*FILES, *FOLDERS])
def test_a_folder_that_is_not_there_is_not_made(run: Run, command: list[str]) -> None:
    _refused(run, command, "gone/folder/x", "No such file or directory")


@pytest.mark.parametrize("command", FILES.values(), ids=FILES)
def test_a_folder_of_that_name(run: Run, command: list[str]) -> None:
    Path("out").mkdir()
    if "-o" in command:  # an empty folder becomes an OCI layout
        Path("out/x").touch()
        assert run(command, "out")[0] == 2
    else:
        _refused(run, command, "out", "it is a folder, not a file")


@pytest.mark.parametrize("command", FILES.values(), ids=FILES)
def test_no_device_is_replaced(run: Run, command: list[str]) -> None:
    os.mkfifo("pipe")
    _refused(run, command, "pipe", "it is a pipe, not a file")


@pytest.mark.parametrize("command", [*FILES.values(), *FOLDERS.values()], ids=[*FILES, *FOLDERS])
def test_a_file_for_the_folder_above(run: Run, command: list[str]) -> None:
    Path("file").touch()
    _refused(run, command, "file/x", "Not a directory")


@pytest.mark.parametrize("command", FOLDERS.values(), ids=FOLDERS)
def test_a_full_disk_leaves_no_folder(run: Run, command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written before the disk was full goes again."""
    refuse = _full_after(2)
    for name in ("os.fsync", "shutil.copyfile"):
        monkeypatch.setattr(name, refuse)
    _refused(run, command, "out", "No space left on device")


def _full_after(calls: int) -> Callable[..., None]:
    made: list[object] = []

    def refuse(*arguments: object) -> None:
        made.append(arguments)
        if len(made) > calls:
            raise OSError(28, "No space left on device")

    return refuse


def test_record_looks_before_it_judges(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(folder: Path) -> None:
        raise files.cannot_write(folder, PermissionError(13, "Permission denied"))

    monkeypatch.setattr("bundler.cli.record.check_folder_writable", refuse)
    monkeypatch.setattr("bundler.cli.record.replay", None)
    _refused(run, ["record", OF, "host"], f"{OF}/evidence", "Permission denied")
