"""The inputs' bits are pinned: a version of NumPy that draws others would make all evidence incomparable."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from bundler.worker.make import Make, to_bits


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


GOLDEN = {
    "uniform": "b7a5329dca6f9faf",
    "normal": "ddaae7e4a0fddafc",
    "integers": "0f16f58dd07e27f6",
}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_bits(name: str) -> None:
    make = Make(7, "5x3/contiguous", 1)
    values = {
        "uniform": lambda: make.uniform((5, 3), -2.0, 6.0),
        "normal": lambda: make.normal((5, 3)),
        "integers": lambda: make.integers((5, 3), -10, 1000),
    }[name]()
    assert values.shape == (5, 3)
    assert _sha(np.ascontiguousarray(values).tobytes()) == GOLDEN[name]


GOLDEN_BITS = {
    "float64": "729c1bc392954f96",
    "float32": "8312abe01b26ecc3",
    "float16": "9cb11d51226926af",
    "bfloat16": "3ca30bdca3984949",
    "int32": "223485f2ccf0fc5c",
    "uint8": "8f77a3ac81fc3b8d",
    "bool": "8f77a3ac81fc3b8d",
}


@pytest.mark.parametrize("dtype", GOLDEN_BITS)
def test_golden_encoding(dtype: str) -> None:
    values = Make(0, "case", 0).normal((64,)) * 100
    if dtype in ("int32", "uint8", "bool"):
        values = np.abs(np.rint(values)) % 2
    assert _sha(to_bits(values, dtype)) == GOLDEN_BITS[dtype]


def test_every_case_set_and_seed_draws_its_own() -> None:
    drawn = {
        Make(seed, case, which).normal((8,)).tobytes()
        for seed in (0, 1)
        for case in ("a", "b")
        for which in (0, 1)
    }
    assert len(drawn) == 8


def test_ranges() -> None:
    make = Make(3, "ranges", 0)
    uniform, normal = make.uniform((10_000,), 1.0, 2.0), make.normal((10_000,))
    assert 1.0 <= uniform.min() < 1.01
    assert 1.99 < uniform.max() < 2.0
    assert abs(float(normal.mean())) < 0.05
    assert abs(float(normal.std()) - 1) < 0.05
    assert set(make.integers((1000,), -1, 2).tolist()) == {-1, 0, 1}


@pytest.mark.parametrize(
    ("layout", "shape", "strides", "offset", "storage"),
    [
        ("contiguous", (2, 3, 4), (12, 4, 1), 0, 24),
        ("contiguous", (), (), 0, 1),
        ("contiguous", (0, 3), (3, 1), 0, 0),
        ("transposed", (2, 3, 4), (12, 1, 3), 0, 24),
        ("sliced", (3, 5), (22, 2), 12, 77),
        ("sliced", (1,), (2,), 1, 3),
        ("expanded", (4, 3), (0, 1), 0, 3),
    ],
)
def test_layouts(
    layout: str, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, storage: int
) -> None:
    tensor = Make(0, "layout", 0).tensor(np.zeros(shape), layout=layout)
    assert (tensor.strides, tensor.offset, tensor.storage) == (strides, offset, storage)


def test_no_view_leaves_its_storage() -> None:
    for layout in ("contiguous", "transposed", "sliced", "expanded"):
        for shape in ((1, 1), (2, 1), (1, 7), (3, 5), (2, 3, 4)):
            tensor = Make(0, "inside", 0).tensor(np.zeros(shape), layout=layout)
            last = tensor.offset + sum((n - 1) * s for n, s in zip(shape, tensor.strides, strict=True))
            assert last < tensor.storage


def test_bfloat16_rounds_to_nearest_even_and_keeps_nan() -> None:
    values = np.array([1.0, 1.00390625, 1.01171875, -0.0, np.inf, np.nan, 3.4e38])
    assert to_bits(values, "bfloat16").hex() == "803f803f823f0080807fc07f807f"


def test_sparse_is_never_materialised() -> None:
    tensor = Make(0, "huge", 0).sparse((1 << 20, 1 << 20), 1.5, {3: 2.5})
    assert tensor.values is None
    assert tensor.storage == 1 << 40


def test_unknown_layout() -> None:
    with pytest.raises(ValueError, match="'diagonal' is no layout"):
        Make(0, "layout", 0).tensor(np.zeros(3), layout="diagonal")
