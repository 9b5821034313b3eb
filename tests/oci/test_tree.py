from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from bundler.errors import BadExperiment
from bundler.oci import tree
from bundler.oci.tree import Entry, read_tree


def test_keeps_bytes_and_the_owners_execute_bit(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "crlf").write_bytes(b"a\r\nb\n\xff")
    (tmp_path / "a.sh").write_bytes(b"#!")
    (tmp_path / "a.sh").chmod(0o4700)
    (tmp_path / "c").write_bytes(b"")
    (tmp_path / "c").chmod(0o611)
    (tmp_path / "empty").mkdir()
    assert read_tree(tmp_path) == [
        Entry("a.sh", b"#!", executable=True),
        Entry("b/crlf", b"a\r\nb\n\xff"),
        Entry("c", b""),
    ]


def test_sorted_by_whole_paths_not_folder_by_folder(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("b/f", "b-x", "b.md"):
        (tmp_path / name).write_bytes(b"")
    assert [entry.path for entry in read_tree(tmp_path)] == ["b-x", "b.md", "b/f"]


def test_skips_caches_and_what_is_gits(tmp_path: Path) -> None:
    for name in ("__pycache__/m.pyc", ".git/config", ".gitignore", "sub/.gitattributes", "sub/kept"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    assert [entry.path for entry in read_tree(tmp_path)] == ["sub/kept"]


def test_a_link_inside_is_stored_as_its_content(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_bytes(b"x")
    (tmp_path / "file").symlink_to("d/f")
    (tmp_path / "folder").symlink_to("d")
    assert [(entry.path, entry.data) for entry in read_tree(tmp_path)] == [
        ("d/f", b"x"),
        ("file", b"x"),
        ("folder/f", b"x"),
    ]


def test_within_says_how_far_up_a_link_may_reach(tmp_path: Path) -> None:
    (tmp_path / "shared").write_bytes(b"s")
    folder = tmp_path / "experiment"
    folder.mkdir()
    (folder / "link").symlink_to("../shared")
    assert read_tree(folder, within=tmp_path) == [Entry("link", b"s")]
    with pytest.raises(BadExperiment, match="'link': the link leaves the folder"):
        read_tree(folder)


def test_a_folder_whose_name_starts_alike_is_outside(tmp_path: Path) -> None:
    (tmp_path / "ab").mkdir()
    (tmp_path / "ab" / "f").write_bytes(b"")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "link").symlink_to("../ab/f")
    with pytest.raises(BadExperiment, match="leaves the folder"):
        read_tree(tmp_path / "a")


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


@pytest.mark.parametrize(
    ("make", "part_of_message"),
    [
        (lambda path: path.symlink_to("missing"), "leads nowhere"),
        (lambda path: path.symlink_to(path.name), "leads nowhere"),
        (lambda path: path.symlink_to("."), "leads back"),
        (lambda path: path.symlink_to("/etc/hostname"), "leaves the folder"),
        (lambda path: path.symlink_to("/"), "leaves the folder"),
        (os.mkfifo, "a pipe"),
        (_socket, "a socket"),
    ],
)
def test_refuses_what_is_no_file(tmp_path: Path, make: Callable[[Path], None], part_of_message: str) -> None:
    (tmp_path / "sub").mkdir()
    make(tmp_path / "sub" / "odd")
    with pytest.raises(BadExperiment, match=part_of_message) as caught:
        read_tree(tmp_path)
    assert "'sub/odd'" in caught.value.problem


@pytest.mark.parametrize("name", [b"\xff", b"a\nb", b".wh.x", b"._x", b"x~", b".DS_Store", b"e\xcc\x81"])
def test_refuses_names(tmp_path: Path, name: bytes) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_bytes(b"")
    with pytest.raises(BadExperiment):
        read_tree(tmp_path)


def test_refuses_a_litter_folder_by_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "._x").mkdir()
    with pytest.raises(BadExperiment, match=r"'\._x'"):
        read_tree(tmp_path)


def test_refuses_names_that_differ_in_case_only(tmp_path: Path) -> None:
    for name in ("Readme", "README"):
        (tmp_path / name).write_bytes(b"")
    if len(list(tmp_path.iterdir())) == 1:
        pytest.skip("this file system keeps only one of them")
    with pytest.raises(BadExperiment, match="only in case"):
        read_tree(tmp_path)


def test_refuses_a_folder_that_links_make_endless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "MAX_FILES", 100)
    (tmp_path / "0").mkdir()
    (tmp_path / "0" / "f").write_bytes(b"")
    for level in range(1, 12):  # 2^11 files, and three links in each folder
        folder = tmp_path / str(level)
        folder.mkdir()
        for name in ("a", "b"):
            (folder / name).symlink_to(f"../{level - 1}")
    with pytest.raises(BadExperiment, match="more than 100 files"):
        read_tree(tmp_path)


def test_refuses_more_bytes_than_a_layer_should_have(tmp_path: Path) -> None:
    with (tmp_path / "big").open("wb") as stream:
        stream.truncate(tree.MAX_BYTES + 1)
    with pytest.raises(BadExperiment, match=r"'big': .*512 MiB"):
        read_tree(tmp_path)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadExperiment, match="is not a folder"):
        read_tree(tmp_path / "none")
