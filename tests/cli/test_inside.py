"""The commands of a bundle's container: pointed at the bundle itself, in a folder, and at nothing else."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bundler.bundle.freeze import freeze
from bundler.bundle.unpack import parts, unpack_experiment
from bundler.cli import inside
from bundler.oci.archive import write_archive
from bundler.oci.layout import write_layout
from tests.small import ID, Small

ONLY = "inside a container only the bundle itself can be verified and shown"


@pytest.fixture
def bundle(small: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The bundle in whose container this is."""
    unpack_experiment(parts(freeze(small.load(), None).image), tmp_path / "bundle")
    monkeypatch.setenv("BUNDLER_BUNDLE", str(tmp_path / "bundle"))
    return tmp_path / "bundle"


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Exit code, stdout and stderr of a command."""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["bundler", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            inside.main()
        return int(ended.value.code or 0), *capsys.readouterr()

    return run


Run = Callable[..., tuple[int, str, str]]


def test_show_and_extract_take_the_bundle_itself(run: Run, bundle: Path, tmp_path: Path) -> None:
    for named in ([], [bundle]):
        code, out, _ = run("show", "--json", *named)
        assert (code, json.loads(out)["experiment"]) == (0, ID)
        assert json.loads(out)["base"] == "a base without a name"
    assert run("extract", tmp_path / "out")[0] == 0
    assert (tmp_path / "out/candidates/with-skill/01.py").is_file()


def test_verify_takes_the_bundle_itself(run: Run, bundle: Path) -> None:
    code, _, err = run("verify", "--candidate", "with-skill/99")
    assert (code, "there is no candidate 'with-skill/99'" in err) == (2, True)


@pytest.mark.parametrize("what", ["tar", "layout", "image:1", "./nowhere"])
def test_nothing_else_is_read(run: Run, bundle: Path, small: Small, tmp_path: Path, what: str) -> None:
    image = freeze(small.load(), None).image
    write_archive(image, tmp_path / "tar", reference="x:1")
    write_layout(image, tmp_path / "layout")
    target = str(tmp_path / what) if what in ("tar", "layout") else what
    for command in (["verify", target], ["show", target], ["extract", tmp_path / "out", "--from", target]):
        code, out, err = run(*command)
        assert (code, out) == (2, "")
        assert f"error: {target!r} is no folder: {ONLY}" in err
        assert "a bundler outside takes tars and images" in err


def test_no_engine(run: Run, bundle: Path) -> None:
    code, out, err = run("verify", "--engine", "docker")
    assert (code, out) == (2, "")
    assert f"error: --engine docker: {ONLY}" in err


def test_no_other_replayer(run: Run, bundle: Path) -> None:
    code, _, err = run("verify", "--own-replayer")
    assert (code, "which has no replayer" in err) == (2, True)


def test_a_folder_that_is_no_bundle(run: Run, bundle: Path, tmp_path: Path) -> None:
    code, _, err = run("verify", tmp_path)
    assert (code, "is no experiment" in err) == (2, True)


def test_a_name_that_cannot_be_looked_at(run: Run, bundle: Path) -> None:
    code, _, err = run("verify", "x" * 300)
    assert (code, "cannot be looked at" in err) == (2, True)
