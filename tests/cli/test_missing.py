"""What a command line names and is not there, or is of another kind: exit code 2, in the same words."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bundler.bundle.freeze import freeze
from bundler.cli import main
from bundler.oci.archive import write_archive
from tests.small import ID, Small, evidence, ground

COMMANDS = {
    "check": ["check", "{}"],
    "declare": ["declare", "{}"],
    "freeze": ["freeze", "{}", "--bare", "-o", "made.tar"],
    "record": ["record", "{}", "host"],
    "rebase": ["rebase", "{}", "--base", "x.tar", "-o", "made.tar"],
    "verify": ["verify", "{}"],
    "show": ["show", "{}"],
    "extract": ["extract", "out", "--from", "{}"],
    "report": ["report", "{}"],
    "report of": ["report", "a.json", "--experiment", "{}"],
    "pages": ["report", "--pages", "{}"],
    "compare": ["compare", "{}", "a.json"],
    "compare of": ["compare", "a.json", "b.json", "--experiment", "{}"],
    "diff": ["diff", "x.tar", "{}"],
    "diff from": ["diff", "{}", "x.tar"],
}
OF_BASE = {"freeze on": ["freeze", f"proof/{ID}", "--base", "{}", "-o", "made.tar"]}
OF_EVIDENCE = {
    "report it": ["report", "{}", "--experiment", f"proof/{ID}"],
    "compare it": ["compare", "{}", "a.json"],
}
Run = Callable[[str, str], tuple[int, str]]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of a small experiment."""
    folder = tmp_path_factory.mktemp("frozen")
    path = folder / "x.tar"
    write_archive(freeze(Small(folder / "checkout").load(), None).image, path, reference="x:1")
    return path


@pytest.fixture
def run(
    archive: Path, small: Small, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str, str], tuple[int, str]]:
    """A command with something in its braces, in a folder with a bundle and evidence; its code and stderr."""
    loaded = small.load()
    (small.root / "x.tar").hardlink_to(archive)
    for name in ("a", "b"):
        seen = evidence(loaded, {"interpreter": ground(loaded)}, seconds=ord(name))
        (small.root / f"{name}.json").write_text(seen.model_dump_json(by_alias=True))
    (small.root / "empty").mkdir()
    (small.root / "file").touch()
    monkeypatch.chdir(small.root)
    monkeypatch.setitem(sys.modules, "bundler.engine.docker", None)

    def run(command: str, named: str) -> tuple[int, str]:
        monkeypatch.setattr(
            sys, "argv", ["bundler", *(a.format(named) for a in (COMMANDS | OF_EVIDENCE | OF_BASE)[command])]
        )
        with pytest.raises(SystemExit) as ended:
            main.main()
        out, err = capsys.readouterr()
        assert out == ""
        assert not Path("made.tar").exists()
        assert not Path("out").exists()
        return int(ended.value.code or 0), err

    return run


@pytest.mark.parametrize("named", ["./gone", "../gone/x", "gone.tar", f"{ID}/gone.tar", "proof/toy/gone"])
@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_there(run: Run, command: str, named: str) -> None:
    code, err = run(command, named)
    problem, hint = err.splitlines()
    assert (code, problem) == (2, f"error: {shown(command, named)!r} does not exist")
    assert hint.startswith("  → name ")


def shown(command: str, named: str) -> str:
    """Some commands take a path alone, and show it as that."""
    paths = ("check", "declare", "freeze", "record", "rebase", "pages", "compare of")
    return str(Path(named)) if command in paths else named


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_with_nothing_in_it(run: Run, command: str) -> None:
    code, err = run(command, "empty")
    problem, hint = err.splitlines()
    said = {
        "rebase": "is no OCI layout: it has no oci-layout",
        "check": "holds no experiment.yaml",
        "compare": "has no evidence in it",
    }
    assert code == 2
    assert problem == f"error: 'empty' {said.get(command, 'is no experiment: it has no experiment.yaml')}"
    assert hint.startswith("  → name ")


@pytest.mark.parametrize("command", ["declare", "freeze", "record", "pages", "compare of"])
def test_a_file_for_a_folder(run: Run, command: str) -> None:
    code, err = run(command, "file")
    assert (code, err.splitlines()[0]) == (2, "error: 'file' is no folder")


@pytest.mark.parametrize("command", ["verify", "show", "extract", "report", "rebase", "diff"])
def test_what_is_there_and_damaged_is_bad_data(run: Run, command: str) -> None:
    code, err = run(command, "file")
    assert (code, err.splitlines()[0]) == (
        3,
        "error: 'file' ends too early: the end of the archive is missing",
    )


@pytest.mark.parametrize("command", ["verify", "show", "extract", "report", "compare", "diff"])
@pytest.mark.parametrize("named", ["gone", "gone:1", "proof/toy:1"])
def test_what_may_be_an_image_is_for_an_engine_to_say(run: Run, command: str, named: str) -> None:
    code, err = run(command, named)
    assert code == 6
    assert f"error: {named!r} is an image's name, and " in err


@pytest.mark.parametrize("command", OF_EVIDENCE)
def test_evidence_that_is_not_there(run: Run, command: str) -> None:
    code, err = run(command, "gone.json")
    assert code == 2
    assert "error: 'gone.json' cannot be read: No such file or directory\n  → name a file that" in err


@pytest.mark.parametrize("command", ["verify", "show", "extract", "report", "rebase", "diff", "freeze on"])
@pytest.mark.parametrize(("named", "what"), [("pipe", "pipe"), ("/dev/zero", "device")])
def test_a_pipe_or_a_device_for_a_tar(run: Run, command: str, named: str, what: str) -> None:
    """A plain open would wait for ever on the one, and read for ever from the other."""
    os.mkfifo("pipe")
    code, err = run(command, named)
    if command == "freeze on":
        assert (code, f"error: {named!r} is no base" in err) == (2, True)
    else:
        assert (code, err.splitlines()[0]) == (2, f"error: {named!r}: it is a {what}, not a file")


def _huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 34)


@pytest.mark.parametrize("command", OF_EVIDENCE)
@pytest.mark.parametrize(
    ("make", "code", "said"),
    [
        (os.mkfifo, 2, "'x.json' cannot be read: it is a pipe, not a file"),
        (os.mkdir, 2, "'x.json' cannot be read: it is a folder, not a file"),
        (lambda path: path.symlink_to("/dev/zero"), 2, "'x.json' cannot be read: it is a device, not a file"),
        (Path.touch, 3, "x.json is empty"),
        (_huge, 3, "x.json is over 16 MiB"),
    ],
)
def test_what_is_no_evidence(
    run: Run, command: str, make: Callable[[Path], object], code: int, said: str
) -> None:
    make(Path("x.json"))
    found, err = run(command, "x.json")
    assert (found, err.splitlines()[0]) == (code, f"error: {said}")
