"""Tensors to bytes and back, and what is said of things that only look like tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from bundler.judge.claims import MAX_OUTPUTS  # noqa: E402
from bundler.judge.compare import decode  # noqa: E402
from bundler.worker.make import Make  # noqa: E402
from bundler.worker.oracle import _argument, _Parts  # noqa: E402
from bundler.worker.tensors import (  # noqa: E402
    DTYPES,
    MOST_OUTPUTS,
    POISON,
    Inputs,
    describe,
    poison,
    to_bytes,
)

pytestmark = pytest.mark.torch

JUDGED = [name for name in DTYPES if not name.startswith("float8")]


def _inputs(dtype: str, layout: str, shape: tuple[int, ...], gap: float) -> tuple[Inputs, Any, memoryview]:
    make = Make(1, f"{dtype}/{layout}", 0)
    values = make.integers(shape, 0, 2 if dtype == "bool" else 100)
    parts = _Parts()
    spec = _argument(make.tensor(values, dtype, layout, gap), parts, False)
    payload = memoryview(b"".join(parts.data))
    inputs = Inputs.allocate(spec, "cpu")
    inputs.fill(spec, payload)
    return inputs, values, payload


@pytest.mark.parametrize("dtype", JUDGED)
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "sliced"])
@pytest.mark.parametrize("shape", [(3, 5), (1, 1), (0, 4), (2, 3, 4)])
def test_round_trip(dtype: str, layout: str, shape: tuple[int, ...]) -> None:
    inputs, values, _ = _inputs(dtype, layout, shape, gap=1)
    assert tuple(inputs.view.shape) == shape
    assert str(inputs.view.dtype) == f"torch.{dtype}"
    back = decode(to_bytes(inputs.view), dtype, shape)
    assert np.array_equal(back, values)


@pytest.mark.parametrize("gap", [float("inf"), float("nan"), 0.0, -0.0])
def test_the_gap_stands_between_the_elements(gap: float) -> None:
    inputs, _, _ = _inputs("float32", "sliced", (2, 2), gap)
    storage = inputs.storage.numpy()
    untouched = np.ones(storage.shape, dtype=bool)
    untouched[[6, 8, 16, 18]] = False
    expected = np.float32(gap).view(np.uint32)
    assert (storage[untouched].view(np.uint32) == expected).all()


@pytest.mark.parametrize("shape", [(4, 3), (3, 2, 2), (0, 3), (1, 1)])
def test_an_expanded_input_is_its_first_entry_everywhere(shape: tuple[int, ...]) -> None:
    inputs, values, _ = _inputs("float32", "expanded", shape, gap=1)
    assert inputs.view.stride(0) == 0
    assert inputs.storage.numel() == np.prod(shape[1:])
    assert np.array_equal(inputs.view.numpy(), np.broadcast_to(values[:1], shape))


def test_sparse_points_in_a_layout() -> None:
    spec = _argument(
        Make(0, "sparse", 0).sparse((3, 4), -1.0, {5: 2.5, 11: 7.0}, layout="transposed"), _Parts(), False
    )
    inputs = Inputs.allocate(spec, "cpu")
    inputs.fill(spec, memoryview(b""))
    expected = torch.full((3, 4), -1.0)
    expected[1, 1], expected[2, 3] = 2.5, 7.0
    assert torch.equal(inputs.view, expected)


def test_a_huge_stand_in_costs_no_memory() -> None:
    tensor = Make(0, "huge", 0).sparse((1 << 16, 1 << 15), 0.0, {})
    inputs = Inputs.allocate(_argument(tensor, _Parts(), True), "cpu")
    assert inputs.view.numel() == 1 << 31


def test_the_view_stays_the_same_object_until_it_is_bent() -> None:
    inputs, values, payload = _inputs("float32", "contiguous", (2, 3), 0)
    view = inputs.view
    inputs.fill(inputs.spec, payload)
    assert inputs.view is view
    view.t_()
    inputs.fill(inputs.spec, payload)
    assert inputs.view is not view
    assert np.array_equal(inputs.view.numpy(), values)


def test_a_change_of_the_input_is_noticed() -> None:
    inputs, _, _ = _inputs("float32", "sliced", (3, 3), float("inf"))
    before = inputs.checksum()
    inputs.view[0, 0] += 1
    assert inputs.checksum() != before


def test_a_change_between_the_elements_is_noticed() -> None:
    inputs, _, _ = _inputs("float32", "sliced", (3, 3), float("inf"))
    before = inputs.checksum()
    inputs.storage[0] = 0
    assert inputs.checksum() != before


@pytest.mark.parametrize("dtype", DTYPES)
def test_poison_fills_everything(dtype: str) -> None:
    tensor = poison(torch.zeros((3, 4), dtype=DTYPES[dtype]).t())
    bits = POISON.get(DTYPES[dtype]) or "a5" * tensor.element_size()
    assert to_bytes(tensor) == bytes.fromhex(bits) * 12
    if tensor.dtype.is_floating_point:
        assert torch.isnan(tensor.double()).all()


def test_bits_survive_the_way_out() -> None:
    bits = torch.tensor([0x7FC00001, -0x7FFFFFFF - 1, 0x7F800001], dtype=torch.int32)
    assert to_bytes(bits.view(torch.float32)) == bits.numpy().tobytes()
    negated = torch.tensor([1 + 2j]).conj().imag  # a lazy negation, in a bit of the tensor
    assert np.frombuffer(to_bytes(negated), dtype=np.float32).tolist() == [-2.0]


def _hostile() -> Any:
    """Built here, where pytest does not look at it: a look ends the process."""

    class Meta(type):
        def __getattribute__(cls, name: str) -> Any:
            raise SystemExit(0)

    class Hostile(metaclass=Meta):
        def __getattribute__(self, name: str) -> Any:
            raise SystemExit(0)

    return Hostile()


def _with_module(module: object) -> Any:
    class Odd:
        pass

    Odd.__module__ = module  # type: ignore[assignment]
    return Odd()


def _subclass() -> Any:
    class Subclass(torch.Tensor):
        pass

    return torch.zeros(2).as_subclass(Subclass)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: None, "builtins.NoneType"),
        (lambda: [1], "builtins.list"),
        (_hostile, "Hostile"),
        (lambda: _with_module(3), "3."),
        (_subclass, "Subclass"),
        (lambda: torch.nn.Parameter(torch.zeros(2)), "Parameter"),
        (lambda: torch.zeros(2).to_sparse(), "sparse_coo"),
        (lambda: torch.zeros(2, device="meta"), "meta"),
        (lambda: torch.nested.nested_tensor([torch.zeros(2)]), "nested"),
        (lambda: torch.quantize_per_tensor(torch.zeros(2), 0.1, 0, torch.quint8), "quint8"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_only_a_plain_tensor_is_one(make: Callable[[], object], says: str) -> None:
    described = describe(make())
    assert described["type"] != "torch.Tensor"
    assert says in described["type"]
    assert described.keys() == {"type"}


def test_a_type_whose_name_raises() -> None:
    class Module:
        def __format__(self, spec: str) -> str:
            raise SystemExit(0)

    assert describe(_with_module(Module())) == {"type": "a type that hides its name"}


def test_a_worker_describes_as_many_outputs_as_the_judge_takes() -> None:
    """Neither may import the other."""
    assert MOST_OUTPUTS == MAX_OUTPUTS
