"""Members and the tar that they give, and which of them are dropped."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from pathlib import Path

from bundler.oci.tar import MODIFIED_S
from bundler.runtime.declaration import Declaration, Drop, load_declaration
from bundler.runtime.drops import Dropped, apply_drops, sum_up
from bundler.runtime.members import Member, read_folder, read_tar, write_tar

LONG = "usr/lib/" + "/".join(["a-folder-with-a-long-name"] * 6) + "/file.h"


def _tree(folder: Path, mtime: int, *, umask: int, names: list[str]) -> Path:
    before = os.umask(umask)
    try:
        for name in names:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name)
            os.utime(path, (mtime, mtime))
        (folder / "b" / "run").chmod(0o700 if umask else 0o755)
        (folder / "link").symlink_to("b/run")
    finally:
        os.umask(before)
    return folder


def test_a_folder_gives_the_same_tar_whatever_its_times_modes_and_order(tmp_path: Path) -> None:
    names = ["a.txt", "b/run", "c/ü.txt", LONG]
    one = _tree(tmp_path / "one", 1, umask=0o022, names=names)
    two = _tree(tmp_path / "two", 2_000_000_000, umask=0o077, names=names[::-1])
    write_tar(read_folder(one, "opt/x"), tmp_path / "1.tar")
    write_tar(read_folder(two, "opt/x"), tmp_path / "2.tar")
    data = (tmp_path / "1.tar").read_bytes()
    assert data == (tmp_path / "2.tar").read_bytes()
    # The same on every Python, or bases built by two people differ.
    golden = "70f9b5b04ba67b3a155c6f0090656ba1e393447a12f348d51f766d7c549c1129"
    assert hashlib.sha256(data).hexdigest() == golden


def test_a_tar_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    folder = _tree(tmp_path / "tree", 5, umask=0o022, names=["a.txt", "b/run", LONG])
    write_tar(read_folder(folder, "opt/x"), tmp_path / "1.tar")
    with tarfile.open(tmp_path / "1.tar") as archive:
        assert archive.getmember("opt/x/b/run").mode == 0o755
        assert archive.getmember("opt/x/link").linkname == "b/run"
        assert archive.extractfile(f"opt/x/{LONG}").read().decode() == LONG  # type: ignore[union-attr]
        assert {info.mtime for info in archive} == {MODIFIED_S}
        write_tar(read_tar(archive), tmp_path / "2.tar")
    assert (tmp_path / "1.tar").read_bytes() == (tmp_path / "2.tar").read_bytes()


def _info(name: str, kind: bytes, *, mode: int = 0o644, size: int = 0, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.size, info.linkname = kind, mode, size, link
    info.uid, info.gid, info.uname = 7, 42, "somebody"
    return info


def test_a_root_filesystem_loses_setuid_hard_links_and_devices(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "in.tar", "w") as archive:
        archive.addfile(_info("./", tarfile.DIRTYPE))
        archive.addfile(_info("./tmp", tarfile.DIRTYPE, mode=0o1777))
        archive.addfile(_info("./usr/bin/su", tarfile.REGTYPE, mode=0o4755, size=2), io.BytesIO(b"su"))
        archive.addfile(_info("./usr/bin/alias", tarfile.LNKTYPE, mode=0o4755, link="./usr/bin/su"))
        archive.addfile(_info("./dev/null", tarfile.CHRTYPE))
    with tarfile.open(tmp_path / "in.tar") as archive:
        write_tar(read_tar(archive), tmp_path / "out.tar")
    with tarfile.open(tmp_path / "out.tar") as archive:
        found = {info.name: (info.type, info.mode, info.uid, info.gid, info.uname) for info in archive}
        assert found == {
            "tmp": (tarfile.DIRTYPE, 0o1777, 7, 42, ""),
            "usr/bin/alias": (tarfile.REGTYPE, 0o755, 7, 42, ""),
            "usr/bin/su": (tarfile.REGTYPE, 0o755, 7, 42, ""),
        }
        assert archive.extractfile("usr/bin/alias").read() == b"su"  # type: ignore[union-attr]


def _declaration(tiny: Path, drop: dict[str, list[str]], keep: list[str]) -> Declaration:
    rules = tuple(Drop(why=why, paths=tuple(paths)) for why, paths in drop.items())
    return load_declaration(tiny).model_copy(update={"drop": rules, "keep": tuple(keep)})


def _members(*paths: str) -> list[Member]:
    return [
        Member(
            path.rstrip("/"),
            tarfile.DIRTYPE if path.endswith("/") else tarfile.REGTYPE,
            0o644,
            0 if path.endswith("/") else 10,
        )
        for path in paths
    ]


def test_a_pattern_takes_a_folder_with_all_in_it_and_no_more(tiny: Path) -> None:
    declaration = _declaration(tiny, {"tests": ["*/dist-packages/torch/test"], "static": ["*.a"]}, [])
    members = _members(
        "usr/dist-packages/torch/test/",
        "usr/dist-packages/torch/test/x.py",
        "usr/dist-packages/torch/testing/y.py",
        "usr/lib/libc.a",
        "usr/lib/libc.a.txt",
        "dist-packages/torch/test",
    )
    staying, going = apply_drops(members, declaration)
    assert [member.path for member in staying] == [
        "usr/dist-packages/torch/testing/y.py",
        "usr/lib/libc.a.txt",
        "dist-packages/torch/test",
    ]
    assert sum_up(declaration, going) == (Dropped("tests", 2, 10), Dropped("static", 1, 10))


def test_a_kept_file_brings_its_folders_back(tiny: Path) -> None:
    declaration = _declaration(tiny, {"docs": ["usr/share/doc/*"]}, ["usr/share/doc/*/copyright"])
    members = _members(
        "usr/share/doc/",
        "usr/share/doc/a/",
        "usr/share/doc/a/copyright",
        "usr/share/doc/b/",
        "usr/share/doc/b/NEWS",
    )
    staying, _ = apply_drops(members, declaration)
    assert sorted(member.path for member in staying) == [
        "usr/share/doc",
        "usr/share/doc/a",
        "usr/share/doc/a/copyright",
    ]


def test_no_rules_drop_nothing_and_an_idle_rule_shows_zeros(tiny: Path) -> None:
    members = _members("a", "b")
    assert apply_drops(members, _declaration(tiny, {}, [])) == (members, [])
    idle = _declaration(tiny, {"nothing": ["no/such/*"]}, [])
    assert sum_up(idle, apply_drops(members, idle)[1]) == (Dropped("nothing", 0, 0),)
