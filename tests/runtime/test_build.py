"""From declaration and lock to an image, with tools that write a tiny Debian and one wheel."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from bundler.errors import UnavailableError
from bundler.oci.blob import open_stream
from bundler.oci.image import Image
from bundler.oci.layout import read_layout
from bundler.runtime.build import Built, build_runtime, lock_runtime
from bundler.runtime.lock import load_lock

from .conftest import FakeTools


def _build(tiny: Path, out: Path, tools: FakeTools, *, accept_moved: bool = False) -> Built:
    return build_runtime(tiny, out, say=lambda line: None, accept_moved=accept_moved, run=tools)


def _names(image: Image, layer: int) -> list[str]:
    with (
        open_stream(image.layers[layer].blob) as stream,
        tarfile.open(fileobj=stream, mode="r|gz") as archive,
    ):
        return [info.name for info in archive]


def _listed(image: Image) -> dict[str, object]:
    with open_stream(image.layers[2].blob) as stream, tarfile.open(fileobj=stream, mode="r|gz") as archive:
        for info in archive:
            if info.name == "usr/share/bundler/runtime.json":
                found: dict[str, object] = json.loads(archive.extractfile(info).read())  # type: ignore[union-attr]
                return found
    raise AssertionError("no runtime.json")


def test_three_layers_without_what_is_dropped(tiny: Path, tmp_path: Path, tools: FakeTools) -> None:
    built = _build(tiny, tmp_path / "out" / "tiny", tools)
    image = read_layout(tmp_path / "out" / "tiny")
    assert image.digest == built.digest
    assert _names(image, 0) == [
        "usr/bin/python3",
        "usr/share/doc/libc6",
        "usr/share/doc/libc6/copyright",
        "var/lib/dpkg/status",
    ]
    site = "usr/local/lib/python3.11/dist-packages"
    assert _names(image, 1) == [
        f"{site}/numpy-2.4.6.dist-info",
        f"{site}/numpy-2.4.6.dist-info/RECORD",
        f"{site}/numpy.py",
    ]
    assert image.config.user == "65534:65534"
    assert image.config.env == ("HOME=/tmp",)
    assert list((tmp_path / "out").iterdir()) == [tmp_path / "out" / "tiny"]


def test_two_builds_are_one_image(tiny: Path, tmp_path: Path, tools: FakeTools) -> None:
    first = _build(tiny, tmp_path / "1", tools)
    tools.mtime = 1_900_000_000
    assert _build(tiny, tmp_path / "2", tools).digest == first.digest


def test_a_build_takes_the_place_of_the_last_one(tiny: Path, tmp_path: Path, tools: FakeTools) -> None:
    _build(tiny, tmp_path / "out", tools)
    tools.packages["libc6"] = "2.36-10"
    _build(tiny, tmp_path / "out", tools, accept_moved=True)
    assert len(list((tmp_path / "out" / "blobs" / "sha256").iterdir())) == 5


def test_a_moved_package_fails_the_build_and_leaves_nothing(
    tiny: Path, tmp_path: Path, tools: FakeTools
) -> None:
    tools.packages["libc6"] = "2.36-10"
    with pytest.raises(UnavailableError, match=r"libc6: locked 2\.36-9, found 2\.36-10"):
        _build(tiny, tmp_path / "out" / "tiny", tools)
    assert list((tmp_path / "out").iterdir()) == []


def test_accepted_moves_are_recorded_and_leave_the_wheels_layer_alone(
    tiny: Path, tmp_path: Path, tools: FakeTools
) -> None:
    _build(tiny, tmp_path / "1", tools)
    tools.packages |= {"libc6": "2.36-10", "libnew1": "1"}
    _build(tiny, tmp_path / "2", tools, accept_moved=True)
    before, after = read_layout(tmp_path / "1"), read_layout(tmp_path / "2")
    told = "libc6: locked 2.36-9, found 2.36-10; libnew1: locked nowhere, found 1"
    assert after.config.labels["bundler.runtime.moved"] == told
    assert "bundler.runtime.moved" not in before.config.labels
    assert _listed(after)["moved"] == {
        "libc6": {"locked": "2.36-9", "found": "2.36-10"},
        "libnew1": {"locked": None, "found": "1"},
    }
    assert after.layers[1] == before.layers[1]


def test_the_list_in_the_image_says_what_is_installed(tiny: Path, tmp_path: Path, tools: FakeTools) -> None:
    _build(tiny, tmp_path / "out", tools)
    listed = _listed(read_layout(tmp_path / "out"))
    assert listed["python"] == "3.11.2"
    assert listed["wheels"] == {"numpy": {"version": "2.4.6", "hash": f"sha256:{'a' * 64}"}}
    assert listed["debian"] == {"suite": "bookworm", "packages": tools.packages}
    assert {"why": "caches", "paths": ["var/cache/*", "*.pyc"]} in listed["dropped"]  # type: ignore[operator]


def test_the_build_asks_for_the_locked_versions(tiny: Path, tmp_path: Path, tools: FakeTools) -> None:
    _build(tiny, tmp_path / "out", tools)
    assert "Package: libc6\nPin: version 2.36-9\n" in tools.preferences


def test_lock_writes_what_debian_has_now(
    tiny: Path, tools: FakeTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheels = load_lock(tiny).wheels
    monkeypatch.setattr("bundler.runtime.wheels.resolve", lambda declaration, run: wheels)
    tools.packages["libc6"] = "2.36-10"
    lock_runtime(tiny, say=lambda line: None, run=tools)
    assert load_lock(tiny).debian == tools.packages
    assert "Package: libc6" not in tools.preferences


def test_a_suite_with_another_python_is_refused(tiny: Path, tmp_path: Path, tools: FakeTools) -> None:
    del tools.packages["python3.11"]
    with pytest.raises(UnavailableError, match=r"brought no python3\.11"):
        _build(tiny, tmp_path / "out", tools, accept_moved=True)
