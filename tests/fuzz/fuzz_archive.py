"""Coverage-guided fuzzing of the bundle reader: whatever the file, an image or a stated error.

``python tests/fuzz/fuzz_archive.py [CORPUS] -max_total_time=60``; without a corpus it starts from a small
archive that it writes itself. atheris is not among the development dependencies: ``pip install atheris``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports():
    from bundler.oci import archive_reader

from bundler.errors import BundlerError
from bundler.oci.archive import write_archive
from bundler.oci.blob import read_blob
from bundler.oci.image import append
from bundler.oci.layer import build_layer
from bundler.oci.tree import Entry

_FILE = Path(tempfile.mkdtemp(prefix="fuzz-archive-")) / "image.tar"


def test_one_input(data: bytes) -> None:
    """``data`` as a file; what is read of a sound image has the size that it says."""
    _FILE.write_bytes(data)
    try:
        image = archive_reader.read_archive(_FILE)
    except BundlerError:
        return
    for layer in image.layers:
        assert len(read_blob(layer.blob, limit_bytes=1 << 24)) == layer.blob.size


def seed() -> Path:
    """A folder with one small archive to start from."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-seed-"))
    image = append(
        None,
        [build_layer([Entry("bin/sh", b"#!", executable=True), Entry("a/b.md", b"one")])],
        entrypoint=[],
        cmd=["/bin/sh"],
        user="65534:65534",
        working_dir="/",
        env={"PATH": "/bin"},
        labels={},
    )
    write_archive(image, folder / "archive.tar", reference="x:1")
    return folder


if __name__ == "__main__":
    arguments = sys.argv if any(not a.startswith("-") for a in sys.argv[1:]) else [*sys.argv, str(seed())]
    atheris.Setup(arguments, test_one_input)
    atheris.Fuzz()
