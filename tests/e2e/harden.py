"""What the end-to-end tests share: Docker, and the flags under which a stranger's bundle is run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bundler.bundle.freeze import find_base
from bundler.oci.archive import write_archive
from bundler.oci.image import Image

ROOT = Path(__file__).parents[2]
HARDENING = (
    "--network=none",
    "--read-only",
    "--tmpfs=/tmp",
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges",
)


def docker(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a docker command; nothing is raised when it fails."""
    return subprocess.run(["docker", *arguments], capture_output=True, text=True, check=False, timeout=1200)


def cpu_base() -> Image:
    """The runtime ``cpu``; the test is skipped where it is not built."""
    if not (ROOT / "build/images/cpu/oci-layout").is_file():
        pytest.skip("build/images/cpu is not built: make images RUNTIMES=cpu")
    return find_base("cpu", ROOT)


def loaded_into_docker(image: Image, folder: Path, tag: str, *, thin: bool = False) -> str:
    """``tag``, once Docker has the image."""
    write_archive(image, folder / "bundle.oci.tar", reference=tag, thin=thin)
    done = docker("load", "-i", str(folder / "bundle.oci.tar"))
    assert done.returncode == 0, done.stderr
    return tag
