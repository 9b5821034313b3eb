"""One small image over a base, and tars put together by hand to say what no tool would write."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from bundler.oci.archive import write_archive
from bundler.oci.image import Image, append
from bundler.oci.layer import build_layer
from bundler.oci.tree import Entry


def _append(base: Image | None, *contents: list[Entry]) -> Image:
    return append(
        base,
        [build_layer(entries, "opt/x") for entries in contents],
        entrypoint=["/opt/x/run"],
        cmd=["verify"],
        user="65534:65534",
        working_dir="/opt/x",
        env={"OWN": "1"},
        labels={"own": "label"},
        comments=("replayer", "experiment"),
    )


def make_base(version: str = "1") -> Image:
    return append(
        None,
        [build_layer([Entry("bin/sh", b"#!" + version.encode(), executable=True)])],
        entrypoint=[],
        cmd=["/bin/sh"],
        user="",
        working_dir="",
        env={"PATH": f"/bin:/{version}", "OWN": "base"},
        labels={"base": version},
    )


def own_contents() -> list[list[Entry]]:
    return [[Entry("run", b"#!/bin/sh\n", executable=True)], [Entry("e/a.md", b"one\r\n"), Entry("e/é", b"")]]


def make_image(base: Image | None) -> Image:
    return _append(base, *own_contents())


@pytest.fixture(name="base")
def _base() -> Image:
    return make_base()


@pytest.fixture(name="new_base")
def _new_base() -> Image:
    return make_base("2")


@pytest.fixture(name="image")
def _image(base: Image) -> Image:
    return make_image(base)


@pytest.fixture(name="freeze")
def _freeze() -> Callable[[Image | None], Image]:
    """Puts one and the same pair of layers on a base."""
    return make_image


def tar_of(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


@pytest.fixture(name="tar")
def _tar() -> Callable[[Mapping[str, bytes]], bytes]:
    """A tar of names and bytes, by tarfile."""
    return tar_of


@pytest.fixture(name="parts")
def _parts(image: Image, tmp_path: Path) -> dict[str, bytes]:
    """The files of a sound archive, by name."""
    path = tmp_path / "sound.tar"
    write_archive(image, path, reference="x:1")
    with tarfile.open(path) as archive:
        members = [member for member in archive if member.isfile()]
        return {member.name: archive.extractfile(member).read() for member in members}  # type: ignore[union-attr]
