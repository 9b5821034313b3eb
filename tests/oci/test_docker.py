"""What a real Docker makes of the archives. Nothing is pulled: the base is one static program."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bundler.oci.archive import write_archive
from bundler.oci.archive_reader import read_archive
from bundler.oci.image import Image, append, own_layers
from bundler.oci.layer import build_layer
from bundler.oci.tree import Entry
from bundler.oci.unpack import read_layer_entries

pytestmark = pytest.mark.docker

BASE, TOP = "bundler-test-oci-base:1", "bundler-test-oci-top:1"
HARDENED = ["--network", "none", "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
ECHO = """
static long call(long n, long a, const void *b, long c) {
    long r;
    __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return r;
}
void _start(void) { call(1, 1, "it runs\\n", 8); call(60, 0, 0, 0); }
"""


def docker(*arguments: str, check: bool = True) -> str:
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True, check=False)
    if check:
        assert not done.returncode, done.stderr
    return done.stdout + done.stderr


@pytest.fixture(name="program", scope="module")
def _program(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("program")
    (folder / "echo.c").write_text(ECHO)
    flags = ["-static", "-nostdlib", "-ffreestanding", "-Os", "-fno-pie", "-no-pie"]
    subprocess.run(["cc", *flags, "-o", "echo", "echo.c"], cwd=folder, check=True)
    return (folder / "echo").read_bytes()


def _put(base: Image | None, entries: list[Entry]) -> Image:
    return append(
        base,
        [build_layer(entries, "opt/x")],
        entrypoint=["/opt/x/echo"],
        cmd=["verify"],
        user="65534:65534",
        working_dir="/opt/x",
        env={"OWN": "1"},
        labels={"own": "label"},
    )


@pytest.fixture(name="real_base")
def _real_base(program: bytes) -> Image:
    return _put(None, [Entry("echo", program, executable=True)])


@pytest.fixture(name="top")
def _top(real_base: Image) -> Image:
    return _put(real_base, [Entry("e/" + "n" * 150, b"long\r\n"), Entry("e/é", b"")])


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    yield
    for name in (TOP, BASE):
        docker("rmi", "-f", name, check=False)


def test_load_keeps_the_id_and_runs_hardened(top: Image, tmp_path: Path) -> None:
    write_archive(top, tmp_path / "top.tar", reference=TOP)
    assert f"Loaded image: {TOP}" in docker("load", "-i", str(tmp_path / "top.tar"))
    assert docker("inspect", "-f", "{{.Id}}", TOP).strip() in (top.config_digest, top.digest)
    assert docker("run", "--rm", *HARDENED, "-u", "12345", TOP) == "it runs\n"


def test_save_gives_the_same_image_back(top: Image, tmp_path: Path) -> None:
    write_archive(top, tmp_path / "top.tar", reference=TOP)
    docker("load", "-i", str(tmp_path / "top.tar"))
    docker("save", "-o", str(tmp_path / "saved.tar"), TOP)
    found = read_archive(tmp_path / "saved.tar")
    assert found.config_digest == top.config_digest
    assert read_layer_entries(own_layers(found)[0]) == read_layer_entries(own_layers(top)[0])


def test_thin_loads_where_the_base_is(top: Image, real_base: Image, tmp_path: Path) -> None:
    if "containerd" in docker("info", "-f", "{{.DriverStatus}}"):
        pytest.skip("the containerd store wants every blob in the file")
    write_archive(real_base, tmp_path / "base.tar", reference=BASE)
    write_archive(top, tmp_path / "thin.tar", reference=TOP, thin=True)
    assert "no such file" in docker("load", "-i", str(tmp_path / "thin.tar"), check=False)
    docker("load", "-i", str(tmp_path / "base.tar"))
    docker("load", "-i", str(tmp_path / "thin.tar"))
    assert docker("inspect", "-f", "{{.Id}}", TOP).strip() == top.config_digest
    assert docker("run", "--rm", *HARDENED, TOP) == "it runs\n"


def test_docker_refuses_what_was_tampered_with(top: Image, tmp_path: Path) -> None:
    path = tmp_path / "top.tar"
    write_archive(top, path, reference=TOP)
    data = path.read_bytes()
    changed = data.replace(b"long\r\n", b"lung\r\n")
    assert changed != data
    path.write_bytes(changed)
    assert "Loaded image" not in docker("load", "-i", str(path), check=False)
