"""An unpacked bundle is as its list says, or it is none."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bundler import strict_json
from bundler.bundle.content import BUNDLE_PREFIX, REPLAYER_PREFIX, replayer_entries
from bundler.bundle.freeze import freeze
from bundler.bundle.listing import CONTENTS, PASSED_OVER, is_bundle, open_bundle
from bundler.bundle.unpack import parts, unpack_experiment, unpack_replayer
from bundler.digest import Digest
from bundler.errors import BadBundle, BadEvidence, BadExperiment, UnavailableError
from bundler.oci.image import Image, append
from bundler.oci.layer import Layer, build_layer
from bundler.oci.tree import SKIPPED, Entry
from tests.small import ID, RIGHT, SKILL, Small, evidence, ground


@pytest.fixture
def folder(small: Small, tmp_path: Path) -> Path:
    """A bundle with recorded evidence, unpacked."""
    loaded = small.load()
    small.record(evidence(loaded, {"interpreter": ground(loaded)}))
    made = tmp_path / "bundle"
    unpack_experiment(parts(freeze(small.load(), None).image), made)
    return made


def image_of(*layers: Layer, labels: dict[str, str] | None = None) -> Image:
    return append(
        None, layers, entrypoint=["x"], cmd=[], user="", working_dir="/", env={}, labels=labels or {}
    )


def relist(folder: Path) -> None:
    """Make the list agree with the files, as one who tampers with care would."""
    listed = json.loads((folder / CONTENTS).read_text())
    paths = [p for p in folder.rglob("*") if p.is_file() and p.name != CONTENTS]
    listed["files"] = {p.relative_to(folder).as_posix(): Digest.of(p.read_bytes()) for p in paths}
    (folder / CONTENTS).write_text(json.dumps(listed))


def test_what_was_frozen_is_opened(small: Small, folder: Path) -> None:
    assert is_bundle(folder)
    opened, frozen = open_bundle(folder), small.load()
    assert opened.experiment == frozen.experiment
    assert opened.outputs == frozen.outputs
    assert opened.sources == frozen.sources
    assert opened.recorded == frozen.recorded
    assert opened.cases_digest == frozen.cases_digest
    assert {arm.name: opened.prompt(arm) for arm in opened.experiment.arms} == {
        arm.name: frozen.prompt(arm) for arm in frozen.experiment.arms
    }


@pytest.mark.parametrize(
    "path",
    [
        f"proof/{ID}/experiment.yaml",
        f"proof/{ID}/harness.py",
        f"proof/{ID}/outputs/with-skill/01.md",
        f"proof/{ID}/evidence/host.json",
        f"skills/{SKILL}/SKILL.md",
    ],
)
@pytest.mark.parametrize("what", ["changed", "missing"])
def test_a_file_that_is_not_as_listed(folder: Path, path: str, what: str) -> None:
    data = (folder / path).read_bytes()
    (folder / path).unlink()
    said = "is listed and not there"
    if what == "changed":
        (folder / path).write_bytes(data + b" ")
        said = f"has {Digest.of(data + b' ')}, listed is {Digest.of(data)}"
    with pytest.raises(BadBundle) as error:
        open_bundle(folder)
    assert error.value.problem == f"{path!r} {said}"


@pytest.mark.parametrize(
    "path", ["extra", f"proof/{ID}/evidence/more.json", "proof/toy/other/experiment.yaml"]
)
def test_a_file_that_is_not_listed(folder: Path, path: str) -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).touch()
    with pytest.raises(BadBundle, match="is there and not listed"):
        open_bundle(folder)


@pytest.mark.parametrize("kind", ["link", "link to a folder", "pipe"])
def test_what_is_no_plain_file(folder: Path, tmp_path: Path, kind: str) -> None:
    """A link is not followed, even to the very bytes that are listed; a pipe is not waited for."""
    path = folder / f"proof/{ID}/harness.py"
    if kind == "pipe":
        path.unlink()
        os.mkfifo(path)
    else:
        path = path if kind == "link" else path.parent
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadBundle) as error:
        open_bundle(folder)
    name = path.relative_to(folder).as_posix()
    assert error.value.problem == f"{name!r} is neither a file nor a folder"


def test_what_python_and_git_leave_is_passed_over(folder: Path) -> None:
    (folder / f"proof/{ID}/__pycache__").mkdir()
    (folder / f"proof/{ID}/__pycache__/harness.cpython-311.pyc").touch()
    (folder / ".gitignore").touch()
    assert open_bundle(folder).experiment.id == ID


def test_no_bundle_has_what_is_passed_over() -> None:
    assert PASSED_OVER == SKIPPED


def test_a_pipe_in_the_place_of_the_list(folder: Path) -> None:
    (folder / CONTENTS).unlink()
    os.mkfifo(folder / CONTENTS)
    with pytest.raises(BadBundle, match="cannot be read: it is a pipe, not a file"):
        open_bundle(folder)


def test_a_file_that_may_not_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> Iterator[Path]:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(UnavailableError, match="cannot be read: Permission denied"):
        open_bundle(folder)


def _listing(entries: int) -> str:
    """Twelve bytes of it are a wrong entry, of which pydantic would keep a KiB."""
    return json.dumps({"files": {f"{n:x}": 0 for n in range(entries)}})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: "", "is not sound JSON: "),
        (lambda text: "[]", "is damaged: Input should be a valid dictionary"),
        (lambda text: "[" * 100_000, "is JSON nested more than 32 deep"),
        (lambda text: text.replace("{", '{"experiment": 1,', 1), "an object gives one key twice"),
        (lambda text: text.replace('"sha256:', '0, "":"sha256:', 1), "is 0, not text"),
        (lambda text: _listing(20_001), "'files' has 20001 keys, more than 20000"),
        (lambda text: _listing(400_000), f"more than {strict_json.MAX_BYTES}"),
        (lambda text: text.replace("bundle/1", "bundle/2"), "is damaged: Input should be 'bundler/bundle/1'"),
        (lambda text: text.replace(ID, "../../etc"), "is damaged: String should match pattern"),
        (lambda text: text.replace("{", '{"more": 1,', 1), "is damaged: Extra inputs are not permitted"),
        (lambda text: text.replace("sha256:", "md5:"), "is damaged: "),
    ],
)
def test_a_list_that_is_none(folder: Path, change: Callable[[str], str], said: str) -> None:
    (folder / CONTENTS).write_text(change((folder / CONTENTS).read_text()))
    with pytest.raises(BadBundle) as error:
        open_bundle(folder)
    assert said in error.value.problem
    assert len(error.value.problem) < 1_000


def test_no_list(folder: Path) -> None:
    (folder / CONTENTS).unlink()
    assert not is_bundle(folder)
    with pytest.raises(BadBundle, match=r"bundle.json' cannot be read"):
        open_bundle(folder)


def test_a_careful_change_of_an_output_is_caught_by_the_declaration(folder: Path) -> None:
    output = folder / f"proof/{ID}/outputs/with-skill/01.md"
    output.write_bytes(output.read_bytes().replace(b"2.0", b"4.0"))
    relist(folder)
    with pytest.raises(BadExperiment, match=r"is not what experiment.yaml declares"):
        open_bundle(folder)


def test_a_careful_change_of_the_harness_is_caught_by_the_evidence(folder: Path) -> None:
    harness = folder / f"proof/{ID}/harness.py"
    harness.write_bytes(harness.read_bytes().replace(b"2.0", b"4.0"))
    relist(folder)
    with pytest.raises(BadEvidence, match="was recorded with another harness"):
        open_bundle(folder)


# --- images ----------------------------------------------------------------------------------------------


def test_the_parts_of_a_bundle(small: Small, tmp_path: Path) -> None:
    bundle = parts(freeze(small.load(), None).image)
    assert bundle.other_files() == []
    assert bundle.base_digest == ""
    unpack_replayer(bundle, tmp_path / "replayer")
    assert {e.path: e.data for e in replayer_entries()} == {
        p.relative_to(tmp_path / "replayer").as_posix(): p.read_bytes()
        for p in (tmp_path / "replayer").rglob("*")
        if p.is_file()
    }


def test_the_base_is_named(small: Small) -> None:
    under = image_of(build_layer([Entry("bin/sh", b"")]))
    assert parts(freeze(small.load(), under).image).base_digest == under.digest


def test_another_replayer_is_told(small: Small) -> None:
    own = freeze(small.load(), None).image.layers
    first, second, *rest = replayer_entries()
    changed = [Entry("json.py", b"evil"), Entry(first.path, first.data, executable=True), *rest]
    layer = build_layer(changed, REPLAYER_PREFIX)
    assert parts(image_of(layer, own[1])).other_files() == sorted([first.path, second.path, "json.py"])


def test_an_image_that_is_no_bundle() -> None:
    one = build_layer([Entry("a", b"")], BUNDLE_PREFIX)
    with pytest.raises(BadBundle, match="the image has 1 layers on its base, a bundle has two"):
        parts(image_of(one))
    with pytest.raises(BadBundle, match="the image has 3 layers on its base"):
        parts(image_of(one, one, one))


def test_an_image_that_bundler_did_not_freeze(small: Small) -> None:
    made = freeze(small.load(), None).image
    unlabelled = made.config_json.replace(b'"bundler.appended"', b'"bundler.something"')
    with pytest.raises(BadBundle, match=r"the label 'bundler.appended' is not there"):
        parts(Image(unlabelled, made.layers, made.manifest_json))


def test_a_layer_that_reaches_elsewhere(tmp_path: Path) -> None:
    layers = [build_layer([Entry("a", RIGHT)], prefix) for prefix in (REPLAYER_PREFIX, "etc")]
    with pytest.raises(BadBundle, match=r"the layer has 'etc/a', outside of /bundle"):
        unpack_experiment(parts(image_of(*layers)), tmp_path / "x")
    assert not (tmp_path / "x").exists()
