"""A runtime small enough to build in a test, and tools that write what the real ones would."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from bundler.runtime.tools import Finished

DECLARATION = """
name: tiny
title: a runtime for tests
python: "3.11"
debian: {suite: bookworm, architecture: amd64, packages: [python3], avoid: [usrmerge]}
wheels: [numpy]
user: "65534:65534"
env: {HOME: /tmp}
drop:
  - {why: caches, paths: [var/cache/*, "*.pyc"]}
  - {why: documentation, paths: [usr/share/doc/*]}
  - {why: names of pip's own run, paths: ["*.dist-info/INSTALLER"]}
keep: [usr/share/doc/*/copyright]
"""
LOCK = f"""
debian: {{libc6: 2.36-9, python3.11: 3.11.2-6}}
wheels: [{{name: numpy, version: 2.4.6, hash: sha256:{"a" * 64}}}]
"""


class FakeTools:
    """``Run`` for mmdebstrap and pip; ``packages`` are what Debian offers today."""

    def __init__(self) -> None:
        self.packages = {"libc6": "2.36-9", "python3.11": "3.11.2-6"}
        self.mtime = 1
        self.preferences = ""

    def __call__(self, command: Sequence[str], *, env: Mapping[str, str]) -> Finished:
        if command[0] == "mmdebstrap":
            upload = next(part for part in command if part.startswith("--setup-hook=upload "))
            self.preferences = Path(upload.split()[1]).read_text(encoding="utf-8")
            self._rootfs(Path(command[command.index("bookworm") + 1]))
        else:
            self._site(Path(command[command.index("--target") + 1]))
        return Finished(0, "", "")

    def _rootfs(self, path: Path) -> None:
        status = "\n".join(
            f"Package: {name}\nStatus: install ok installed\nVersion: {version}\n"
            for name, version in self.packages.items()
        )
        files = {
            "./var/lib/dpkg/status": status.encode(),
            "./usr/bin/python3": b"python",
            "./var/cache/ldconfig/aux-cache": str(self.mtime).encode(),
            "./usr/share/doc/libc6/copyright": b"LGPL",
            "./usr/share/doc/libc6/changelog": b"long",
        }
        with tarfile.open(path, "w") as archive:
            archive.addfile(folder("./"))
            archive.addfile(folder("./usr/share/doc/libc6"))
            for name, data in files.items():
                archive.addfile(file(name, data, mtime=self.mtime), io.BytesIO(data))

    def _site(self, folder: Path) -> None:
        info = folder / "numpy-2.4.6.dist-info"
        info.mkdir(parents=True)
        (folder / "numpy.py").write_text("x = 1\n")
        (folder / "numpy.pyc").write_text(str(self.mtime))
        (info / "INSTALLER").write_text("pip")
        rows = ["numpy.pyc,,", "numpy.py,sha256=x,6", "numpy-2.4.6.dist-info/INSTALLER,,", "../../bin/f2py,,"]
        if self.mtime > 1:
            rows.reverse()
        (info / "RECORD").write_text("\r\n".join([*rows, "numpy-2.4.6.dist-info/RECORD,,"]))


def file(name: str, data: bytes, *, mode: int = 0o644, mtime: int = 1) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = len(data), mode, mtime
    return info


def folder(name: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.mode = tarfile.DIRTYPE, 0o755
    return info


@pytest.fixture
def tools() -> FakeTools:
    return FakeTools()


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """``images/tiny``, declared and locked."""
    path = tmp_path / "images" / "tiny"
    path.mkdir(parents=True)
    (path / "runtime.yaml").write_text(DECLARATION, encoding="utf-8")
    (path / "runtime.lock.yaml").write_text(LOCK, encoding="utf-8")
    return path
