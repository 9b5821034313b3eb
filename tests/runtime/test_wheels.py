"""Wheels: pip itself, offline, on a wheel made here."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from bundler.digest import Digest
from bundler.errors import BadDataError, UnavailableError, UsageError
from bundler.runtime import wheels
from bundler.runtime.declaration import load_declaration
from bundler.runtime.lock import Wheel
from bundler.runtime.tools import run


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wheel:
    """A wheel that pip finds in a folder, and nowhere else."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    path = shelf / "tiny_kernel-1.0-cp311-cp311-manylinux_2_28_x86_64.whl"
    info = "tiny_kernel-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tiny_kernel.py", "ANSWER = 42\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny_kernel\nVersion: 1.0\n")
        tag = "Tag: cp311-cp311-manylinux_2_28_x86_64"
        archive.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\n{tag}\n")
        archive.writestr(f"{info}/entry_points.txt", "[console_scripts]\ntiny = tiny_kernel:main\n")
        archive.writestr(
            f"{info}/RECORD", f"tiny_kernel.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n"
        )
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return Wheel(name="tiny-kernel", version="1.0", hash=Digest.of(path.read_bytes()))


def test_the_locked_wheel_is_unpacked_for_the_images_python(wheel: Wheel, tmp_path: Path) -> None:
    wheels.install([wheel], "3.11", tmp_path / "site", run=run)
    assert (tmp_path / "site" / "tiny_kernel.py").read_text() == "ANSWER = 42\n"
    assert not list(tmp_path.glob("site/**/*.pyc"))


def test_a_wheel_with_another_hash_is_refused_by_name(wheel: Wheel, tmp_path: Path) -> None:
    wrong = Wheel(name=wheel.name, version=wheel.version, hash=Digest.of(b"something else"))
    with pytest.raises(BadDataError) as caught:
        wheels.install([wrong], "3.11", tmp_path / "site", run=run)
    assert "tiny-kernel" in caught.value.problem
    assert wheel.hash.hex in caught.value.problem
    assert wrong.hash.hex in caught.value.problem
    assert not (tmp_path / "site" / "tiny_kernel.py").exists()


def test_a_version_that_is_not_to_be_had_is_named(wheel: Wheel, tmp_path: Path) -> None:
    gone = Wheel(name=wheel.name, version="1.1", hash=wheel.hash)
    with pytest.raises(UnavailableError, match=r"pip finds no wheel for tiny-kernel===1\.1") as caught:
        wheels.install([gone], "3.11", tmp_path / "site", run=run)
    assert "PIP_EXTRA_INDEX_URL" in caught.value.hint


def test_a_local_version_is_another_version() -> None:
    pinned = Wheel(name="torch", version="2.13.0", hash=Digest.of(b""))
    assert wheels.as_requirements([pinned]).startswith("torch===2.13.0 --hash=sha256:e3b0")


def test_platforms_go_up_to_bookworms_glibc() -> None:
    options = wheels.target_options("3.11")
    assert "--platform=manylinux_2_36_x86_64" in options
    assert "--platform=manylinux_2_37_x86_64" not in options
    assert "--platform=manylinux2014_x86_64" in options


def test_a_report_gives_versions_and_hashes_but_no_addresses() -> None:
    item = {
        "metadata": {"name": "Nvidia_ML.py", "version": "13.6"},
        "download_info": {"url": "https://index/x.whl", "archive_info": {"hashes": {"sha256": "b" * 64}}},
    }
    (found,) = wheels.parse_report(json.dumps({"install": [item]}))
    assert found == Wheel(name="nvidia-ml-py", version="13.6", hash=Digest(f"sha256:{'b' * 64}"))


def test_lock_needs_the_images_python(tiny: Path) -> None:
    other = load_declaration(tiny).model_copy(update={"python": "3.9"})
    with pytest.raises(UsageError, match=r"images/tiny is for 3\.9"):
        wheels.resolve(other, run=run)


def test_resolve_asks_pip(wheel: Wheel, tiny: Path) -> None:
    ours = load_declaration(tiny)
    declaration = ours.model_copy(update={"wheels": ("tiny-kernel",), "python": _this_python()})
    if declaration.python != "3.11":
        pytest.skip("the wheel made here is for Python 3.11")
    assert wheels.resolve(declaration, run=run) == (wheel,)


def _this_python() -> str:
    import sys

    return f"{sys.version_info.major}.{sys.version_info.minor}"


def test_records_lose_what_is_not_there_and_are_sorted(tmp_path: Path) -> None:
    info = tmp_path / "a-1.dist-info"
    info.mkdir()
    (tmp_path / "b.py").write_text("")
    (tmp_path / "a.py").write_text("")
    (info / "RECORD").write_text(
        "../../bin/a,,\r\nb.py,sha256=x,0\r\ngone.pyc,,\r\na.py,,\r\na-1.dist-info/RECORD,,"
    )
    wheels.trim_records(tmp_path)
    assert (info / "RECORD").read_text() == "a-1.dist-info/RECORD,,\na.py,,\nb.py,sha256=x,0\n"
