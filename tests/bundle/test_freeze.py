"""The same experiment in, the same digest out; little is added to a base."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bundler.bundle.content import replayer_entries
from bundler.bundle.freeze import ENTRYPOINT, find_base, freeze, put_on, write
from bundler.cli.main import app_of
from bundler.engine.target import Archive, parse
from bundler.errors import BadExperiment, UnavailableError, UsageError
from bundler.experiment.load import load
from bundler.names import MAX_FILES
from bundler.oci.archive import write_archive
from bundler.oci.archive_reader import read_archive
from bundler.oci.image import Image, append
from bundler.oci.layer import build_layer
from bundler.oci.layout import read_layout, write_layout
from bundler.oci.tree import Entry
from bundler.oci.unpack import LIMIT_ENTRIES, read_layer_entries
from tests.small import ID, Small

ROOT = Path(__file__).parents[2]
ROW_MAX = ROOT / "proof/portability/row-max"
MOST_ADDED = 1 << 20


def base(version: str = "1") -> Image:
    return append(
        None,
        [build_layer([Entry("usr/bin/python3", version.encode(), executable=True)])],
        entrypoint=[],
        cmd=["python3"],
        user="",
        working_dir="/",
        env={"PATH": f"/usr/bin:/{version}"},
        labels={"base": version},
    )


def test_twice_is_the_same(small: Small) -> None:
    loaded = small.load()
    assert freeze(loaded, None).image == freeze(loaded, None).image
    assert freeze(loaded, base()).image.digest == freeze(small.load(), base()).image.digest


def test_what_it_depends_on(small: Small) -> None:
    first = freeze(small.load(), base()).image.digest
    assert freeze(small.load(), base("2")).image.digest != first
    small.declared["title"] = "Another"
    assert freeze(small.load(), base()).image.digest != first


def test_how_it_is_run(small: Small) -> None:
    config = freeze(small.load(), base()).image.config
    assert config.entrypoint == ENTRYPOINT
    assert config.cmd == ("verify",)
    assert config.user == "65534:65534"
    assert "BUNDLER_BUNDLE=/bundle" in config.env
    assert "PATH=/usr/bin:/1" in config.env
    assert config.labels["bundler.experiment"] == ID


def test_folder_times_modes_and_what_is_gits_do_not_count(small: Small, tmp_path: Path) -> None:
    first = freeze(small.load(), None).image.digest
    copy = tmp_path / "else where" / "é"
    shutil.copytree(small.root, copy)
    for path in copy.rglob("*"):
        os.utime(path, (1, 1.5))
        path.chmod(0o700 if path.is_dir() else 0o600)
    (copy / "proof" / ID / ".gitignore").write_text("*")
    (copy / "proof" / ID / "__pycache__").mkdir()
    (copy / "proof" / ID / "__pycache__" / "harness.pyc").write_text("x")
    (copy / "proof" / ID / "empty").mkdir()
    assert freeze(load(copy / "proof" / ID), None).image.digest == first


def test_umask_locale_zone_and_hash_seed_do_not_count(small: Small, tmp_path: Path) -> None:
    small.write()
    out = tmp_path / "out.tar"
    tars = []
    for umask, extra in (
        (0o022, {}),
        (0o077, {"LC_ALL": "C", "TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "7"}),
    ):
        command = [sys.executable, "-m", "bundler", "freeze", f"proof/{ID}", "-o", str(out), "--bare"]
        env = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]} | extra
        subprocess.run(command, cwd=small.root, env=env, umask=umask, check=True, capture_output=True)
        tars.append(out.read_bytes())
    assert tars[0] == tars[1]


def test_bare_and_rebased_is_as_if_frozen_on_the_base(small: Small, tmp_path: Path) -> None:
    loaded = small.load()
    write_archive(freeze(loaded, None).image, tmp_path / "bare.tar", reference="x:1")
    bare = read_archive(tmp_path / "bare.tar")
    assert put_on(bare, base()) == freeze(loaded, base())
    assert put_on(freeze(loaded, base("2")).image, base()).image == freeze(loaded, base()).image
    assert put_on(freeze(loaded, base()).image, None).image == bare


def test_the_replayer_is_python_alone() -> None:
    paths = [entry.path for entry in replayer_entries()]
    assert "__main__.py" in paths
    assert "bundler/worker/zygote.py" in paths
    assert [path for path in paths if not path.endswith(".py") or "__pycache__" in path] == []
    assert [entry.path for entry in replayer_entries() if entry.executable] == []


def test_row_max_adds_little() -> None:
    frozen = freeze(load(ROW_MAX), base())
    assert frozen.added_bytes == sum(layer.size for layer in frozen.image.layers[1:])
    assert frozen.added_bytes < MOST_ADDED


# --- written ---------------------------------------------------------------------------------------------


@pytest.fixture
def stored(tmp_path: Path) -> Image:
    """A base in an own store."""
    write_layout(base(), tmp_path / "build/images/cpu")
    return find_base("cpu", tmp_path)


def test_a_folder_holds_what_the_tar_would_and_shares_the_base(
    small: Small, stored: Image, tmp_path: Path
) -> None:
    image = freeze(small.load(), stored).image
    for reference in ("x:1", "x:2"):  # the second time in place of the first
        write(image, tmp_path / "out", reference=reference, thin=False, folder=True)
    write(image, tmp_path / "x.tar", reference="x:2", thin=False, folder=False)
    assert read_layout(tmp_path / "out") == read_archive(tmp_path / "x.tar") == image
    assert parse(str(tmp_path / "out")) == Archive(tmp_path / "out")
    under = Path("blobs/sha256", stored.layers[0].digest.hex)
    assert (tmp_path / "out" / under).samefile(tmp_path / "build/images/cpu" / under)
    with tarfile.open(tmp_path / "x.tar") as tar:
        index = tar.extractfile("index.json")
        assert index is not None
        assert (tmp_path / "out/index.json").read_bytes() == index.read()


def test_a_folder_holds_the_last_bundle_alone(small: Small, stored: Image, tmp_path: Path) -> None:
    write(freeze(small.load(), stored).image, tmp_path / "out", reference="x:1", thin=False, folder=True)
    small.declared["title"] = "Another"
    image = freeze(small.load(), stored).image
    write(image, tmp_path / "out", reference="x:1", thin=False, folder=True)
    blobs = {path.name for path in (tmp_path / "out/blobs/sha256").iterdir()}
    layers = {layer.digest.hex for layer in image.layers}
    assert blobs == {image.digest.hex, image.config_digest.hex, *layers}


def test_a_folder_that_holds_something_else_is_left_alone(small: Small, tmp_path: Path) -> None:
    image = freeze(small.load(), None).image
    write_layout(base(), tmp_path / "base")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/a.txt").touch()
    for name in ("base", "notes"):
        with pytest.raises(UsageError, match="is there, and no bundle"):
            write(image, tmp_path / name, reference="x:1", thin=False, folder=True)
    with pytest.raises(UsageError, match="--thin is for a tar"):
        write(image, tmp_path / "new", reference="x:1", thin=True, folder=True)
    assert not (tmp_path / "new").exists()


def test_the_command_line_knows_a_folder_by_its_slash(small: Small, tmp_path: Path) -> None:
    folder = small.write()
    for output in ("out/", "out", "x.tar"):
        command = ["freeze", str(folder), "-o", f"{tmp_path}/{output}", "--bare"]
        assert CliRunner().invoke(app_of("freeze"), command).exit_code == 0
    assert (tmp_path / "x.tar").is_file()
    under = ["--base", str(tmp_path / "base"), "-o", str(tmp_path / "moved.tar")]
    write_layout(base(), tmp_path / "base")
    assert CliRunner().invoke(app_of("rebase"), ["rebase", f"{tmp_path}/out", *under]).exit_code == 0
    assert read_archive(tmp_path / "moved.tar") == freeze(load(folder), base()).image


# --- bases -----------------------------------------------------------------------------------------------


def test_a_base_by_any_name(tmp_path: Path) -> None:
    write_layout(base(), tmp_path / "build/images/cpu")
    write_archive(base(), tmp_path / "base.tar", reference="cpu:1")
    assert find_base("cpu", tmp_path) == base()
    assert find_base(str(tmp_path / "build/images/cpu"), Path("/")) == base()
    assert find_base(str(tmp_path / "base.tar"), Path("/")) == base()


def test_a_runtime_that_is_not_built(tmp_path: Path) -> None:
    (tmp_path / "images/cpu").mkdir(parents=True)
    (tmp_path / "images/cpu/runtime.yaml").touch()
    with pytest.raises(UnavailableError) as error:
        find_base("cpu", tmp_path)
    assert "the runtime 'cpu' is not built" in error.value.problem
    assert "make images RUNTIMES=cpu" in error.value.hint


def test_no_base_of_that_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'rocm' is no base"):
        find_base("rocm", tmp_path)


def test_no_more_is_frozen_than_is_unpacked_again(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    few = functools.partial(read_layer_entries, limit_entries=5)
    monkeypatch.setattr("bundler.bundle.freeze.read_layer_entries", few)
    with pytest.raises(BadExperiment, match=r"a bundle that cannot be opened: .* more than 5 members"):
        freeze(small.load(), None)


def test_one_number_of_files_throughout() -> None:
    """Of a folder that is frozen, of the list, of a layer that is unpacked, of a container that is read."""
    assert LIMIT_ENTRIES == MAX_FILES
    written = [p.name for p in (ROOT / "bundler").rglob("*.py") if "= 20_000\n" in p.read_text()]
    assert sorted(written) == ["extraction.py", "names.py"]  # the other is of lines
