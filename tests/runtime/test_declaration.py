"""Declarations and locks: what is read, what is refused, what is written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bundler.digest import Digest
from bundler.errors import BadDataError, UnavailableError
from bundler.runtime.declaration import load_declaration
from bundler.runtime.lock import Lock, Wheel, load_lock, save_lock

IMAGES = Path(__file__).parents[2] / "images"
WHEEL = Wheel(name="numpy", version="2.4.6", hash=Digest.of(b"numpy"))


def _change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_declaration_is_read(tiny: Path) -> None:
    declaration = load_declaration(tiny)
    assert declaration.debian.packages == ("python3",)
    assert declaration.site == "usr/local/lib/python3.11/dist-packages"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("title:", "titel:", "titel"),
        ("65534:65534", "root", "user"),
        ("65534:65534", "0:0", "user"),
        ("[var/cache/*", "[/var/cache/*", "drop.0.paths.0"),
        ("[python3]", '["python3; reboot"]', "debian.packages.0"),
        ("name: tiny", "name: other", "'other'"),
        ("env: {", "env: {{", "not YAML"),
    ],
)
def test_a_mistake_names_file_and_key(tiny: Path, old: str, new: str, told: str) -> None:
    _change(tiny / "runtime.yaml", old, new)
    with pytest.raises(BadDataError, match=re.escape(told)) as caught:
        load_declaration(tiny)
    assert "runtime.yaml" in caught.value.problem


def test_no_lock_says_how_to_write_one(tiny: Path) -> None:
    (tiny / "runtime.lock.yaml").unlink()
    with pytest.raises(UnavailableError) as caught:
        load_lock(tiny)
    assert "python -m bundler.runtime lock tiny" in caught.value.hint


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (f"sha256:{'a' * 64}", f"sha256:{'a' * 63}", "wheels.0.hash"),
        (f"sha256:{'a' * 64}", f"md5:{'a' * 32}", "wheels.0.hash"),
        ("version: 2.4.6, ", "", "wheels.0.version"),
        (
            "wheels: [",
            f"wheels: [{{name: numpy, version: '1', hash: sha256:{'b' * 64}}}, ",
            "listed twice",
        ),
    ],
)
def test_a_lock_that_does_not_pin_is_refused(tiny: Path, old: str, new: str, told: str) -> None:
    _change(tiny / "runtime.lock.yaml", old, new)
    with pytest.raises(BadDataError, match=re.escape(told)):
        load_lock(tiny)


def test_a_lock_is_written_sorted_and_read_back(tiny: Path) -> None:
    other = Wheel(name="attrs", version="26.1.0", hash=Digest.of(b"attrs"))
    one = Lock(debian={"zlib1g": "1:1.2.13", "bash": "5.2"}, wheels=(WHEEL, other))
    two = Lock(debian={"bash": "5.2", "zlib1g": "1:1.2.13"}, wheels=(other, WHEEL))
    first = save_lock(one, tiny).read_bytes()
    assert save_lock(two, tiny).read_bytes() == first
    assert load_lock(tiny) == Lock(debian=two.debian, wheels=two.wheels)


@pytest.mark.parametrize("name", ["cpu", "cuda13"])
def test_what_is_shipped_is_pinned_and_names_no_index_or_machine(name: str) -> None:
    declaration, lock = load_declaration(IMAGES / name), load_lock(IMAGES / name)
    versions = {wheel.name: wheel.version for wheel in lock.wheels}
    assert versions["torch"] == {"cpu": "2.13.0+cpu", "cuda13": "2.13.0"}[name]
    assert versions["triton"] == "3.7.1"
    assert {"numpy", "nvidia-ml-py", "pydantic", "pyyaml", "rich", "typer"} <= versions.keys()
    assert set(declaration.debian.packages) <= lock.debian.keys()
    assert not set(declaration.debian.avoid) & lock.debian.keys()
    text = (IMAGES / name / "runtime.lock.yaml").read_text(encoding="utf-8")
    assert not re.search(r"https?:|file:|/opt/|/home/|/tmp/", text)


@pytest.mark.parametrize("name", ["cpu", "cuda13"])
def test_each_drop_says_why(name: str) -> None:
    reasons = [rule.why for rule in load_declaration(IMAGES / name).drop]
    assert all(len(why) > 20 for why in reasons)
    assert len(set(reasons)) == len(reasons)
