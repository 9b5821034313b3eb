"""Triton's cache in a worker: what is compiled is found again, on kernels too that let no file be moved."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from triton import knobs  # noqa: E402
from triton.runtime.cache import get_cache_manager  # noqa: E402

from bundler.worker import landlock, triton_cache  # noqa: E402
from tests.worker.test_sandbox import LANDLOCK, _confined  # noqa: E402


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Path]:
    before = knobs.cache.__dict__.copy()
    knobs.cache.dir = str(tmp_path / "cache")
    triton_cache.install()
    yield tmp_path / "cache"
    knobs.cache.__dict__.clear()
    knobs.cache.__dict__.update(before)


def test_what_is_put_is_found_again(cache: Path) -> None:
    manager = get_cache_manager("00ff")
    assert manager.get_file("kernel.ptx") is None
    paths = [
        manager.put(b"\x00bytes", "kernel.cubin"),
        manager.put("a text \u00e9", "kernel.ptx", binary=False),
    ]
    manager.put_group("kernel", {"kernel.cubin": paths[0], "kernel.ptx": paths[1]})
    again = get_cache_manager("00ff")
    assert again.get_group("kernel") == {"kernel.cubin": paths[0], "kernel.ptx": paths[1]}
    assert Path(paths[0]).read_bytes() == b"\x00bytes"
    assert Path(paths[1]).read_text(encoding="utf-8") == "a text \u00e9"
    assert [path for path, _, _ in os.walk(cache)] == [str(cache), str(Path(paths[0]).parent)]


def test_no_file_is_seen_half_written(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread of a candidate looks at the moment that a file has been opened for writing."""
    manager = get_cache_manager("00ff")
    manager.put(b"old", "kernel.cubin")
    seen: list[bytes] = []
    write = Path.write_bytes

    def slow(path: Path, data: bytes) -> int:
        write(path, data[:1])
        looking = threading.Thread(
            target=lambda: seen.append(Path(manager.get_file("kernel.cubin")).read_bytes())
        )
        looking.start()
        looking.join()
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", slow)
    path = manager.put(b"new", "kernel.cubin")
    assert (seen, Path(path).read_bytes()) == ([b"old"], b"new")


@LANDLOCK
def test_it_takes_no_move_between_folders(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which Landlock's first version denies within one's own folders too (Linux 5.13 to 5.18)."""
    monkeypatch.setattr(landlock, "version", lambda: 1)

    def attempt() -> None:
        get_cache_manager("00ff").put(b"x", "kernel.cubin")

    assert _confined(attempt, tmp_path)[0] == "done"
    monkeypatch.setattr(knobs.cache, "manager_class", None)  # Triton's own
    assert _confined(attempt, tmp_path)[0] == "Invalid cross-device link"
