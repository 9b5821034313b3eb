"""What a wrapper is told of a device that is not there."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bundler.worker.archs import ARCHITECTURES, INTERPRETER_SM

# From NVIDIA's CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
SHARED_KIB = {75: (64, 64), 80: (163, 164), 86: (99, 100), 89: (99, 100), 90: (227, 228), 100: (227, 228),
              120: (99, 100)}  # fmt: skip
THREADS = {75: 1024, 80: 2048, 86: 1536, 89: 1536, 90: 2048, 100: 2048, 120: 1536}


@pytest.mark.parametrize("sm", ARCHITECTURES)
def test_the_table(sm: int) -> None:
    arch = ARCHITECTURES[sm]
    assert arch.sm == sm
    assert arch.capability == divmod(sm, 10)
    assert (arch.shared_bytes_per_block >> 10, arch.shared_bytes_per_multiprocessor >> 10) == SHARED_KIB[sm]
    assert arch.threads_per_multiprocessor == THREADS[sm]
    assert 1 << 20 <= arch.l2_bytes < 1 << 28
    assert 10 <= arch.multiprocessors < 300


def test_the_interpreter_stands_on_one_of_them() -> None:
    assert INTERPRETER_SM in ARCHITECTURES


_ASK = """
import torch
from bundler.worker import standin
from bundler.worker.fresh import PoisonFresh
from bundler.worker.archs import ARCHITECTURES
one = standin.Standin(ARCHITECTURES[90])
standin.install(one)
x = torch.zeros(3)
assert x.is_cuda and x.device == torch.device("cuda", 0) and x.get_device() == 0
assert torch.cuda.is_available() and torch.cuda.device_count() == 1
assert torch.cuda.get_device_capability() == (9, 0)
assert torch.cuda.get_device_properties(0).multi_processor_count == 132
assert torch.cuda.get_device_properties("cuda").shared_memory_per_block_optin == 227 << 10
with torch.cuda.device(x.device), torch.cuda.device_of(x), PoisonFresh(on_cpu=True):
    assert torch.isnan(torch.empty(4, device="cuda")).all()
    assert torch.isnan(torch.empty_like(x)).all()
    assert torch.isnan(x.new_empty(2)).all()
    assert torch.isnan(torch.empty_strided((2, 2), (1, 2), device=x.device)).all()
    assert (torch.empty(4, dtype=torch.int32, device="cuda") == -0x5A5A5A5B).all()
    assert (torch.zeros(4, device="cuda:0") == 0).all()
    assert x.to("cuda").cuda().to(x.device).to(0).pin_memory().sum() == 0
one.arch = ARCHITECTURES[75]
assert torch.cuda.get_device_capability() == (7, 5)
assert not torch.cuda.is_bf16_supported(including_emulation=False)
"""


@pytest.mark.torch
def test_what_torch_answers() -> None:
    """In a process of its own: there is no way back from it."""
    done = subprocess.run([sys.executable, "-c", _ASK], capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
