"""Every foreseeable fault has its exit code, says the next step, and shows no traceback."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from bundler import __version__
from bundler.bundle.freeze import freeze
from bundler.cli import main
from bundler.cli.options import architecture
from bundler.errors import BadExperiment, BundlerError, ExitCode
from bundler.oci.archive import write_archive
from tests.small import ID, Small, evidence, ground


@dataclass
class Ended:
    code: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """``bundler ARGUMENTS`` as the console script runs it, in this process."""
    monkeypatch.delenv("BUNDLER_BUNDLE", raising=False)

    def run(*arguments: str | Path) -> Ended:
        monkeypatch.setattr(sys, "argv", ["bundler", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main.main()
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Ended(int(ended.value.code or 0), out, err)

    return run


# --- codes -----------------------------------------------------------------------------------------------


def test_codes_are_told_apart() -> None:
    assert len(set(ExitCode)) == len(ExitCode) == 9
    kinds = [
        BundlerError.__subclasses__(),
        *(kind.__subclasses__() for kind in BundlerError.__subclasses__()),
    ]
    codes = {kind.__name__: int(kind.exit_code) for kinds_ in kinds for kind in kinds_}
    assert codes == {
        "UsageError": 2,
        "BadDataError": 3,
        "UnavailableError": 6,
        "BadExperiment": 3,
        "BadBundle": 3,
        "BadEvidence": 3,
        "BadSkill": 3,
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["verify", "--nonsense"], "No such option: --nonsense"),
        (["verify", "--ground", "moon"], "→ use one of: device, interpreter, compile"),
        (["verify", "--jobs", "-1"], "'--jobs'"),
        (["verify", "--engine", "podman"], "'--engine'"),
        (["freeze"], "Missing argument 'folder'. proof/<category>/<kernel>\n"),
        (["check"], "Missing argument 'folders'. proof/<category>/<kernel>, or a folder above."),
        (["schema", "moon"], "'moon'"),
        (["verify"], "error: no target was named"),
        (["show"], "error: no target was named"),
        (["extract", "x"], "error: no target was named"),
        (["verify", "./nowhere"], "error: './nowhere' does not exist"),
        (["verify", "nowhere.tar"], "error: 'nowhere.tar' does not exist"),
        (["verify", "a b"], "error: 'a b' does not exist"),
        (["verify", "--engine", "host", "name:tag"], "'name:tag' is no file or folder here"),
        (
            ["show", "name:tag"],
            "error: 'name:tag' is an image's name, and the Python package docker is not installed",
        ),
        (
            ["extract", "x", "--from", "name:tag"],
            "error: 'name:tag' is an image's name, and the Python package",
        ),
        (
            ["report", "name:tag"],
            "error: 'name:tag' is an image's name, and the Python package docker is not installed",
        ),
        (["record", "proof", "../up"], "error: '../up' is no name"),
        (["verify", "--ground", "compiled"], "there is no ground 'compiled'\n  → did you mean compile?"),
        (["verify", "--ground", "*"], "there is no ground '*'"),
        (["verify", "--ground", "device:sm_90"], "there is no ground 'device:sm_90'"),
        (["verify", "--ground", "compile:"], "--ground compile:'' is not an architecture"),
        (["verify", "--ground", "compile:sm_90a"], "without the letter: --ground compile:sm_90\n"),
    ],
)
def test_usage(run: Run, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str) -> None:
    monkeypatch.setitem(sys.modules, "bundler.engine.docker", None)
    ended = run(*arguments)
    assert ended.code == (6 if "name:tag" in arguments else 2)
    assert said in ended.err
    assert ended.out == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--seed", "x"], "'x' is no seed"),
        (["--seed", "-1"], "'-1' is no seed"),
        (["--seed", str(2**63)], "is no seed"),
        (["--candidate", "with-skill/99"], "there is no candidate 'with-skill/99'"),
        (["--candidate", "with-skil/1"], "→ did you mean with-skill/01, without-skill/01?"),
        (["--candidate", "nothing-*"], "there is no candidate 'nothing-*'"),
        (["--candidate", "with-skil/*"], "→ did you mean with-skill/*, without-skill/*?"),
        (["--case", "n=7"], "there is no case 'n=7'\n  → did you mean n=1"),
        (["--case", "512"], "there is no case '512'\n  → use one of: n=1, n=100"),
        (["--ground", "compile:sm_87"], "sm_87 is not in the table of architectures"),
        (["--arch", "87"], "sm_87 is not in the table of architectures"),
        (["--arch", "sm_87"], "sm_87 is not in the table of architectures"),
        (
            ["--arch", "sm_90a"],
            "'sm_90a' is not an architecture that bundler compiles for: 75, 80, 86",
        ),
        (["--arch", "120f"], "is named without the letter: --arch 120"),
        (["--arch", "hopper"], "name it as 90, sm_90 or 9.0"),
        (["--arch", ""], "name it as 90, sm_90 or 9.0"),
    ],
)
def test_a_selection_that_does_not_fit(run: Run, small: Small, options: list[str], said: str) -> None:
    ended = run("verify", small.write(), *options)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert "\n  → " in ended.err


@pytest.mark.parametrize("text", ["86", "sm_86", "SM_86", "8.6"])
def test_an_architecture_by_each_of_its_names(text: str) -> None:
    assert architecture(text) == 86
    assert architecture({"86": "120", "8.6": "12.0"}.get(text, "sm_120")) == 120


def test_freeze_wants_one_of_two(run: Run, small: Small, tmp_path: Path) -> None:
    ended = run("freeze", small.write(), "-o", tmp_path / "x.tar", "--bare", "--base", "cpu")
    assert ended.code == 2
    assert "--bare and --base contradict each other" in ended.err


def test_bad_data(run: Run, small: Small, tmp_path: Path) -> None:
    small.write()
    (small.folder / "base_task.md").write_bytes(b"other\n")
    for command in (["verify"], ["show"], ["freeze", "--bare", "-o", str(tmp_path / "x.tar")]):
        ended = run(*command, small.folder)
        assert (ended.code, ended.out) == (3, ""), command
        assert "is not what experiment.yaml declares" in ended.err
    assert not (tmp_path / "x.tar").exists()


@pytest.mark.parametrize("data", [b"", b"not a tar", bytes(10240), b"\x1f\x8b" + bytes(100)])
def test_a_file_that_is_no_bundle(run: Run, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.tar").write_bytes(data)
    for command in ("verify", "show"):
        ended = run(command, tmp_path / "x.tar")
        assert (ended.code, ended.out) == (3, "")


def test_a_folder_that_is_no_experiment(run: Run, tmp_path: Path) -> None:
    ended = run("verify", tmp_path)
    assert ended.code == 2
    assert "is no experiment: it has no experiment.yaml" in ended.err


def test_a_runtime_that_is_not_built(run: Run, small: Small, tmp_path: Path) -> None:
    small.put("images/cpu/runtime.yaml", b"")
    ended = run("freeze", small.write(), "-o", tmp_path / "x.tar")
    assert ended.code == 6
    assert "the runtime 'cpu' is not built" in ended.err


def test_an_output_that_cannot_be_written(run: Run, small: Small) -> None:
    for output in ("/proc/x.tar", "/dev/null/x.tar"):
        ended = run("freeze", small.write(), "--bare", "-o", output)
        assert (ended.code, ended.out) == (6, ""), output
        assert "\n  → " in ended.err


def test_a_folder_that_is_no_bundle_is_left_alone(run: Run, small: Small, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes").write_text("keep")
    ended = run("freeze", small.write(), "--bare", "-o", tmp_path / "mine")
    assert (ended.code, ended.out) == (2, "")
    assert "\n  → " in ended.err
    assert (tmp_path / "mine/notes").read_text() == "keep"


def test_a_folder_that_is_not_there_yet(run: Run, small: Small, tmp_path: Path) -> None:
    ended = run("freeze", small.write(), "--bare", "-o", tmp_path / "none/x.tar")
    assert ended.code == 6
    assert "make that folder first" in ended.err


@pytest.mark.parametrize("output", ["/proc/x.json", "/etc"])
def test_evidence_that_cannot_be_kept_costs_no_replay(
    run: Run, small: Small, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    monkeypatch.setattr("bundler.engine.verify.verified", lambda *_: pytest.fail("the replay was started"))
    ended = run("verify", small.write(), "--engine", "host", "--json", output)
    assert (ended.code, ended.out) == (6, "")
    assert f"'{output}' cannot be written" in ended.err


def test_no_temporary_folder(run: Run, small: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("freeze", small.write(), "--bare", "-o", tmp_path / "x.tar")
    for refused, said in (
        (
            PermissionError(errno.EACCES, "Permission denied", "/a/folder"),
            "'/a/folder' was refused: Permission",
        ),
        (
            FileNotFoundError(errno.ENOENT, "No usable temporary directory found"),
            "No usable temporary directory",
        ),
    ):

        def refuse(*_: object, refused: OSError = refused, **__: object) -> str:
            raise refused

        monkeypatch.setattr(tempfile, "gettempdir", refuse)
        ended = run("show", tmp_path / "x.tar")
        assert ended.code == 6
        assert f"error: {said}" in ended.err
        assert "TMPDIR" in ended.err


def test_hostile_text_in_an_error(run: Run, small: Small) -> None:
    small.declared["base_task"]["path"] = "x\x1b[31m\u202e\nREPRODUCED"
    small.put(f"proof/{ID}/experiment.yaml", b"")
    ended = run("show", small.write())
    assert ended.code == 3
    assert [c for c in ended.err if c != "\n" and not c.isprintable()] == []
    assert not any(line.startswith("REPRODUCED") for line in ended.err.splitlines())


def test_a_strangers_lines_stay_within_the_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise BadExperiment("the harness failed: x\n\nREPRODUCED: all\n\terror: y", hint="read it")

    monkeypatch.setattr("bundler.engine.target.parse", refuse)
    ended = run("verify", "x")
    assert ended.code == 3
    first, *more = ended.err.splitlines()
    assert first == "error: the harness failed: x"
    assert [line for line in more if not line.startswith("  ")] == []
    assert more[-1] == "  → read it"


def test_a_name_that_is_not_utf8(run: Run) -> None:
    ended = run("show", os.fsdecode(b"./\xff"))
    assert ended.code == 2
    assert r"'./\udcff' does not exist" in ended.err


# --- what works ------------------------------------------------------------------------------------------


def test_version_and_help(run: Run) -> None:
    assert run("--version") == Ended(0, f"{__version__}\n", "")
    assert run("--help").code == 0


def test_freeze_show_extract(run: Run, small: Small, tmp_path: Path) -> None:
    loaded = small.load()
    small.record(evidence(loaded, {"interpreter": ground(loaded)}))
    ended = run("freeze", small.write(), "--bare", "-o", tmp_path / "x.tar")
    assert ended.code == 0
    assert ended.out == f"{freeze(small.load(), None).image.digest}  {tmp_path / 'x.tar'}\n"
    for target in (small.folder, tmp_path / "x.tar"):
        shown = run("show", target)
        assert shown.code == 0
        assert "recorded evidence/host.json: 2026-11-30T12:00:00+00:00, interpreter" in shown.out
        assert "outputs/with-skill/01.md" in shown.out
    out = tmp_path / "out"
    assert run("extract", out, "--from", tmp_path / "x.tar") == Ended(0, f"{out}\n", "")
    assert (out / "candidates/with-skill/01.py").read_bytes() == loaded.sources["with-skill/01"]
    assert run("show", out / "proof" / ID).code == 0
    again = run("extract", out, "--from", tmp_path / "x.tar")
    assert again.code == 2
    assert "is not empty" in again.err


@pytest.mark.parametrize("place", ["file", "/proc/x"])
def test_extract_where_nothing_can_be_written(run: Run, small: Small, tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    ended = run("extract", tmp_path / place, "--from", small.write())
    assert ended.code == 6
    assert "cannot be written" in ended.err


def test_rebase(run: Run, small: Small, tmp_path: Path) -> None:
    run("freeze", small.write(), "--bare", "-o", tmp_path / "bare.tar")
    ended = run("rebase", tmp_path / "bare.tar", "--base", tmp_path / "bare.tar", "-o", tmp_path / "x.tar")
    assert ended.code == 0
    ended = run("rebase", tmp_path / "bare.tar", "--base", "nowhere", "-o", tmp_path / "y.tar")
    assert ended.code == 2


def test_show_forges_nothing(run: Run, small: Small) -> None:
    small.arm("with-skill")["skill"]["version"] = "[red]\x1b[31m"
    small.declared["title"] = "[green]\x1b[32m[bold]\u202e"
    shown = run("show", small.write())
    assert shown.code == 0
    assert [c for c in shown.out if c != "\n" and not c.isprintable()] == []
    assert r"[green]\x1b[32m[bold]\u202e" in shown.out
    assert "[red]" in shown.out


def test_an_archive_with_another_tag(run: Run, small: Small, tmp_path: Path) -> None:
    ended = run("freeze", small.write(), "--bare", "-o", tmp_path / "x.tar", "--tag", "Not A Tag")
    assert ended.code == 2
    write_archive(freeze(small.load(), None).image, tmp_path / "x.tar", reference="other:1")
    assert run("show", tmp_path / "x.tar").code == 0
