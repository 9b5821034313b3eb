"""The cpu image that `make images` built, in a hardened container."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bundler.oci.archive import write_archive
from bundler.oci.layout import read_layout

LAYOUT = Path(__file__).parents[2] / "build" / "images" / "cpu"
HARDENED = ["--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges"]
PROGRAM = """
import json, os, tempfile, pathlib, importlib.util
import torch, triton, numpy, pydantic, pynvml, rich, typer, yaml
from triton.backends.compiler import GPUTarget
path = pathlib.Path(tempfile.mkdtemp(), "kernel.py")
path.write_text('''
import triton, triton.language as tl
@triton.jit
def double(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)
''')
spec = importlib.util.spec_from_file_location("kernel", path)
kernel = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernel)
source = triton.compiler.ASTSource(
    fn=kernel.double, signature={"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}, constexprs={"BLOCK": 64}
)
ptx = triton.compile(source, target=GPUTarget("cuda", 86, 32)).asm["ptx"]
listed = json.load(open("/usr/share/bundler/runtime.json"))
print(os.getuid(), torch.__version__, triton.__version__, ".target sm_86" in ptx, listed["name"])
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its name in Docker, while the tests run."""
    if not (LAYOUT / "index.json").is_file():
        pytest.skip("build/images/cpu is not built: python -m bundler.runtime build cpu")
    name = "bundler-runtime:test"
    archive = tmp_path_factory.mktemp("archive") / "cpu.tar"
    write_archive(read_layout(LAYOUT, own_store=True), archive, reference=name)
    subprocess.run(["docker", "load", "-i", str(archive)], check=True, capture_output=True)
    yield name
    subprocess.run(["docker", "rmi", name], check=False, capture_output=True)


@pytest.mark.docker
def test_torch_and_triton_work_for_a_user_without_a_name(image: str) -> None:
    command = [
        "docker",
        "run",
        "--rm",
        "-i",
        *HARDENED,
        "--tmpfs=/tmp",
        "--user=12345",
        image,
        "python3",
        "-",
    ]
    done = subprocess.run(command, input=PROGRAM, text=True, capture_output=True, check=False)
    assert done.stderr == ""
    assert done.stdout.split() == ["12345", "2.13.0+cpu", "3.7.1", "True", "cpu"]


@pytest.mark.docker
def test_nobody_can_gain_rights_in_it(image: str) -> None:
    find = ["find", "/", "-xdev", "-perm", "/6000", "-not", "-path", "/proc/*"]
    done = subprocess.run(
        ["docker", "run", "--rm", "--user=0", "--network=none", image, *find],
        text=True,
        capture_output=True,
        check=True,
    )
    assert done.stdout == ""
