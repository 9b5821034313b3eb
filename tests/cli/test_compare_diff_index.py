"""compare, diff, index and completion as they are called."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from bundler.bundle.freeze import freeze
from bundler.cli import main
from bundler.experiment.load import Loaded
from bundler.judge.across_hosts import AcrossHosts
from bundler.model.evidence import evidence_json
from bundler.model.outcome import Failed, Outcome, Phase
from bundler.oci.archive import write_archive
from bundler.report.index import Index
from tests.small import HARNESS, ID, PASSED, UNCOMPILABLE, WRONG, Small, answer, evidence, ground

ROOT = Path(__file__).parents[2]


@dataclass
class Ended:
    code: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """``bundler ARGUMENTS`` as the console script runs it, in this process."""

    def run(*arguments: str | Path) -> Ended:
        monkeypatch.setattr(sys, "argv", ["bundler", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main.main()
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Ended(int(ended.value.code or 0), out, err)

    return run


def seen(loaded: Loaded, outcome: Outcome = PASSED, seconds: float = 1.5) -> bytes:
    grounds = {"interpreter": ground(loaded, {"with-skill/01": outcome})}
    return evidence_json(evidence(loaded, grounds, seconds=seconds))


# --- compare ---------------------------------------------------------------------------------------------


def test_compare(run: Run, small: Small, tmp_path: Path) -> None:
    loaded = small.load()
    (tmp_path / "a.json").write_bytes(seen(loaded))
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(seen(loaded, UNCOMPILABLE)))
    ended = run("compare", tmp_path / "a.json", tmp_path / "b.json.gz")
    assert ended.code == 1
    assert "DIFFER: 2 cells; 6 agree" in ended.out
    (tmp_path / "again.json").write_bytes(seen(loaded, seconds=2.5))
    assert run("compare", tmp_path / "a.json", tmp_path / "again.json").code == 0
    ended = run(
        "compare", tmp_path / "a.json", tmp_path / "b.json.gz", "--json", "--experiment", small.folder
    )
    across = AcrossHosts.model_validate_json(ended.out)
    assert (ended.code, [len(g.cells) for g in across.grounds]) == (1, [2])


def test_compare_takes_whatever_has_evidence(run: Run, small: Small, tmp_path: Path) -> None:
    small.record(seen(small.load()))
    write_archive(freeze(small.load(), None).image, tmp_path / "x.tar", reference="x:1")
    small.put(f"proof/{ID}/evidence/host.json", seen(small.load(), seconds=2.5))
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/a.json").write_bytes(seen(small.load(), seconds=3.5))
    ended = run("compare", small.folder, tmp_path / "kept", tmp_path / "x.tar")
    assert ended.code == 0, ended.err
    assert f"{tmp_path / 'x.tar'}:evidence/host.json" in "".join(ended.out.split())


@pytest.mark.parametrize("again", ["itself", "copy", "link", "packed", "laid out anew", "in a bundle"])
def test_one_replay_is_not_two_hosts(run: Run, small: Small, tmp_path: Path, again: str) -> None:
    data = seen(small.load())
    first = other = tmp_path / "a.json"
    first.write_bytes(data)
    if again == "copy":
        other = tmp_path / "b.json"
        other.write_bytes(data)
    elif again == "link":
        other = tmp_path / "b.json"
        other.symlink_to(first)
    elif again == "packed":
        other = tmp_path / "b.json.gz"
        other.write_bytes(gzip.compress(data))
    elif again == "laid out anew":
        other = tmp_path / "b.json"
        other.write_text(json.dumps(json.loads(data)))
    elif again == "in a bundle":
        small.record(data)
        write_archive(freeze(small.load(), None).image, tmp_path / "x.tar", reference="x:1")
        other = tmp_path / "x.tar"
    ended = run("compare", first, other)
    assert (ended.code, ended.out) == (2, "")
    assert "named twice" in ended.err if again == "itself" else "hold the same evidence" in ended.err
    assert "→ leave one out, or name another host's: bundler verify TARGET --json" in ended.err
    if other.suffix != ".tar":
        ended = run("report", first, other, "--experiment", small.write())
        assert (ended.code, ended.out) == (2, "")


def test_json_is_ascii(run: Run, small: Small, tmp_path: Path) -> None:
    """A stranger's text can turn no line around, nor forge one, on a terminal."""
    loaded = small.load()
    hostile = Failed(phase=Phase.RUN, error="\u202e\x1b[31m\x9b")
    (tmp_path / "a.json").write_bytes(seen(loaded))
    (tmp_path / "b.json").write_bytes(seen(loaded, hostile))
    out = run("compare", tmp_path / "a.json", tmp_path / "b.json", "--json").out
    assert r"\u202e\u001b[31m\u009b" in out
    assert out.replace("\n", "").isascii()
    assert out.replace("\n", "").isprintable()


def test_compare_nothing(run: Run, small: Small, tmp_path: Path) -> None:
    loaded = small.load()
    (tmp_path / "a.json").write_bytes(seen(loaded))
    device = evidence_json(evidence(loaded, {"device": ground(loaded)}))
    (tmp_path / "b.json").write_bytes(device)
    assert run("compare", tmp_path / "a.json", tmp_path / "b.json").code == 4


def test_compare_refuses(run: Run, small: Small, tmp_path: Path) -> None:
    one = small.load()
    (tmp_path / "a.json").write_bytes(seen(one))
    small.file("harness.py", HARNESS.replace(b"2.0", b"3.0"))
    other = small.load()
    (tmp_path / "b.json").write_bytes(seen(other))
    ended = run("compare", tmp_path / "a.json", tmp_path / "b.json")
    assert (ended.code, ended.out) == (3, "")
    assert "the harness is another" in ended.err
    (tmp_path / "again.json").write_bytes(seen(one, seconds=2.5))
    ended = run("compare", tmp_path / "a.json", tmp_path / "again.json", "--experiment", small.folder)
    assert (ended.code, ended.out) == (3, "")
    assert "was recorded with another harness" in ended.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a.json"], "1 evidence, and a comparison needs two"),
        (["a.json", "absent.json"], "'absent.json' cannot be read: No such file or directory"),
        (["a.json", "empty"], "'empty' has no evidence in it"),
        ([], "Missing argument"),
    ],
)
def test_compare_usage(
    run: Run, small: Small, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    small.put("a.json", seen(small.load()))
    (small.root / "empty").mkdir()
    monkeypatch.chdir(small.root)
    ended = run("compare", *arguments)
    assert ended.code == 2
    assert said in ended.err


# --- diff ------------------------------------------------------------------------------------------------


@pytest.fixture
def two(small: Small, tmp_path: Path) -> tuple[Path, Path]:
    """A bundle, and the folder with another kernel since."""
    write_archive(freeze(small.load(), None).image, tmp_path / "x.tar", reference="x:1")
    small.arm("with-skill")["outputs"] = [small.file("outputs/with-skill/01.md", answer(WRONG))]
    return tmp_path / "x.tar", small.write()


def test_diff(run: Run, two: tuple[Path, Path]) -> None:
    ended = run("diff", *two)
    assert ended.code == 1
    assert "output      with-skill/01 changed, with another kernel" in ended.out
    assert "base image and replayer not compared" in ended.out
    assert ended.out.endswith("DIFFERENT: 1 change; --full shows the texts\n")
    full = run("diff", *two, "--full")
    assert "    +    tl.store(out_ptr + at, 3.0 *" in full.out
    (change,) = json.loads(run("diff", *two, "--json").out)
    assert change["part"] == "output"


def test_diff_same(run: Run, two: tuple[Path, Path]) -> None:
    for same in two:
        ended = run("diff", same, same)
        assert (ended.code, ended.out.splitlines()[-1]) == (0, "SAME")
    assert run("diff", two[0], two[0], "--json").out == "[]\n"


def test_an_image_name_without_docker(
    run: Run, two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "bundler.engine.docker", None)
    for command in ("compare", "diff"):
        ended = run(command, two[0], "some-image:1")
        assert (ended.code, ended.out) == (6, "")
        assert (
            "'some-image:1' is an image's name, and the Python package docker is not installed" in ended.err
        )


# --- index -----------------------------------------------------------------------------------------------


def test_index(run: Run, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "skills", tmp_path / "skills")
    ended = run("index", "--root", tmp_path, "--check")
    assert ended.code == 1
    assert "is out of date: bundler index" in ended.err
    assert run("index", "--root", tmp_path).code == 0
    assert run("index", "--root", tmp_path, "--check") == Ended(0, "", "")
    found = Index.model_validate_json(run("index", "--root", tmp_path, "--json").out)
    assert len(found.skills) == 12


@pytest.mark.parametrize("kind", ["endless", "pipe", "folder", "nowhere", "elsewhere", "large"])
def test_index_reads_no_kept_evidence_that_is_no_file(run: Run, tmp_path: Path, kind: str) -> None:
    shutil.copytree(ROOT / "skills/triton", tmp_path / "skills/triton")
    path = tmp_path / "docs/reverifications/x.json"
    path.parent.mkdir(parents=True)
    (tmp_path / "evidence.json").write_text("{}")
    links = {"endless": "/dev/zero", "nowhere": "none.json", "elsewhere": tmp_path / "evidence.json"}
    if kind in links:
        path.symlink_to(links[kind])
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        with path.open("wb") as stream:
            stream.truncate(1 << 40)
    ended = run("index", "--root", tmp_path)
    assert ended.code == 3
    assert repr(str(path)) in ended.err


def test_index_without_skills(run: Run, tmp_path: Path) -> None:
    ended = run("index", "--root", tmp_path)
    assert ended.code == 2
    assert "has no skills/" in ended.err


# --- colours ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variables", "coloured"), [({"FORCE_COLOR": "1"}, True), ({"NO_COLOR": "1"}, False)]
)
def test_colours(
    run: Run,
    two: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    coloured: bool,
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    out = run("diff", *two).out
    assert ("\x1b[31m" in out or "\x1b[1;31m" in out) is coloured
