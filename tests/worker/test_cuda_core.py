"""The installed cuda.core on a stand-in for the driver, and what is said of one that is old or not there."""

from __future__ import annotations

import importlib.util
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from bundler.worker import cuda_core

HERE = Path(__file__).parent
INSTALLED = pytest.mark.skipif(
    importlib.util.find_spec("cuda") is None or importlib.util.find_spec("cuda.core") is None,
    reason="cuda.core is not installed",
)
# What a zygote and, after the fork, a worker do. Under a hook that refuses files, as Landlock does.
WORKER = """\
import sys
from ctypes import c_double, c_float, c_int64, c_uint64
from bundler.worker import cuda_core, launcher

cuda_core.load()
print("loaded", flush=True)
def refuse(event, arguments):
    if event in ("open", "import"):
        raise PermissionError(f"{event} {arguments[0]}")
sys.addaudithook(refuse)

function = launcher.Function(b"cubin", "k")
parameters = [c_uint64(2**63 + 5), c_int64(-7), c_float(0.1), c_double(0.1)]
function.launch([3, 2, 1], [256, 1, 1], 100 << 10, 0, parameters)
function.launch([1, 1, 1], [32, 1, 1], 0, 17, [])
for grid, shared in ((701, 0), (1024, 0), (1, 1 << 20)):
    try:
        function.launch([grid, 1, 1], [32, 1, 1], shared, 0, [])
    except launcher.LaunchFailed as failed:
        print(type(failed).__name__, failed, flush=True)
try:
    launcher.Function(b"cubin", "missing")
except launcher.LaunchFailed as failed:
    print(type(failed).__name__, failed, flush=True)
"""
SAID = f"""\
loaded
load cubin
kernel k
attribute 8 102400 of 0x33 on 3
launch 0x33 3 2 1 256 1 1 shared 102400 stream (nil) attributes 0 \
{struct.pack("<Q", 2**63 + 5).hex()} {struct.pack("<q", -7).hex()} \
{struct.pack("<f", 0.1).hex()} {struct.pack("<d", 0.1).hex()}
launch 0x33 1 1 1 32 1 1 shared 0 stream 0x11 attributes 0
launch 0x33 701 1 1 32 1 1 shared 0 stream (nil) attributes 0
OutOfResources launch: CUDA error: too many resources requested for launch \
(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
launch 0x33 1024 1 1 32 1 1 shared 0 stream (nil) attributes 0
LaunchFailed launch: CUDA error: invalid argument (CUDA_ERROR_INVALID_VALUE)
attribute 8 1048576 of 0x33 on 3
OutOfResources 1048576 bytes of dynamic shared memory: CUDA error: invalid argument (CUDA_ERROR_INVALID_VALUE)
load cubin
kernel missing
LaunchFailed loading the machine code: CUDA error: invalid argument (CUDA_ERROR_INVALID_VALUE)
"""


def _python(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(HERE.parents[1])} | environment,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@INSTALLED
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_what_the_driver_is_asked(tmp_path: Path) -> None:
    """No context and no cuInit, every byte of every parameter, and after loading no file and no import."""
    library = tmp_path / "libcuda.so.1"
    command = [
        "cc",
        "-shared",
        "-fPIC",
        "-Wl,-soname,libcuda.so.1",
        "-o",
        library,
        HERE / "libcuda_standin.c",
    ]
    subprocess.run([*command, "-ldl"], check=True, timeout=60)
    assert _python(WORKER, LD_LIBRARY_PATH=str(tmp_path)) == SAID


CLASS = """
class {}:
    def __init__(self, *, grid, block, shmem_size): pass
    from_cubin = staticmethod(bytes)
"""


def _package(root: Path, version: str, where: str = "core", names: str = "") -> None:
    """A package cuda with these releases of its parts."""
    for folder in ("cuda", "cuda/bindings", "cuda/core", f"cuda/{where}"):
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder / "__init__.py").touch()
    (root / "cuda/bindings/driver.py").write_text(
        "class CUresult:\n    CUDA_SUCCESS = 0\ndef cuGetErrorName(code):\n    return code, b'CUDA_SUCCESS'\n"
    )
    (root / "cuda/core/__init__.py").write_text(f"__version__ = {version!r}\n")
    with (root / f"cuda/{where}/__init__.py").open("a") as file:
        file.writelines(CLASS.format(name) for name in names.split())


LOAD = """\
from bundler.worker import cuda_core
try:
    print(cuda_core.load().core.__name__)
except cuda_core.Unusable as reason:
    print("unusable:", reason)
"""
NAMES = " ".join(cuda_core._NAMES)


@pytest.mark.parametrize(
    ("version", "where", "names", "said"),
    [
        ("1.2.2", "core", NAMES, "cuda.core\n"),
        ("0.3.2", "core/experimental", NAMES, "cuda.core.experimental"),
        ("0.2.0", "core/experimental", NAMES, "unusable: cuda.core 0.2.0 has not"),
        ("9.0.0", "core", "launch", "unusable: cuda.core 9.0.0 has not"),
        ("of mine", "core", NAMES, "unusable: cuda.core of mine has not"),
    ],
)
def test_which_release_is_used(tmp_path: Path, version: str, where: str, names: str, said: str) -> None:
    _package(tmp_path, version, where, names)
    path = f"{tmp_path}{os.pathsep}{HERE.parents[1]}"
    assert _python(LOAD, PYTHONPATH=path).startswith(said)


def test_without_one(tmp_path: Path) -> None:
    _package(tmp_path, "1.2.2")
    shutil.rmtree(tmp_path / "cuda/core")
    path = f"{tmp_path}{os.pathsep}{HERE.parents[1]}"
    said = _python(LOAD, PYTHONPATH=path)
    assert said.startswith("unusable: cuda.core could not be loaded: No module named 'cuda.core'")


@pytest.mark.torch
def test_a_candidate_is_not_run_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("cuda.bindings.nvrtc")
    from bundler.worker import candidate

    def load() -> None:
        raise cuda_core.Unusable("cuda.core 0.2.0 is old")

    monkeypatch.setattr(cuda_core, "load", load)
    candidate._cuda_support.cache_clear()
    try:
        found = candidate.Server("compile")._load_cuda(b"", {})
    finally:
        candidate._cuda_support.cache_clear()
    assert found == {"raised": None, "unsupported": "cuda.core 0.2.0 is old"}


@pytest.mark.torch
@pytest.mark.parametrize(("capability", "says"), [((9, 0), ""), ((4, 2), "compiles for no sm_42")])
def test_a_process_without_a_candidate_says_what_the_host_supports(
    monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], says: str
) -> None:
    torch = pytest.importorskip("torch")
    nvrtc = pytest.importorskip("bundler.worker.nvrtc")
    from bundler.worker import candidate, cuda_compile
    from bundler.worker.wire import Message

    monkeypatch.setattr(candidate, "_cuda_support", lambda: SimpleNamespace(nvrtc=nvrtc))
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    major, minor = capability
    request = Message({"op": "supports", "sm": 10 * major + minor})
    answers = [candidate._supports(), cuda_compile.Server("nvrtc").answer(request)[0]]
    assert all(set(answer) == {"unsupported"} for answer in answers)
    assert all(says in answer["unsupported"] for answer in answers)
    assert {bool(answer["unsupported"]) for answer in answers} == {bool(says)}


@pytest.mark.torch
def test_a_process_without_a_candidate_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from bundler.worker import candidate

    monkeypatch.setattr(candidate, "_cuda_support", lambda: "NVRTC could not be loaded: no such file")
    assert candidate._supports() == {"unsupported": "NVRTC could not be loaded: no such file"}
