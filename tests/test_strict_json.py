from __future__ import annotations

import time

import pytest

from bundler.errors import BadBundle
from bundler.strict_json import MAX_BYTES, decode, encode


def test_one_value_one_spelling() -> None:
    assert encode({"b": 1, "a": ["é"]}) == b'{"a":["\\u00e9"],"b":1}'


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff",
        b"\xef\xbb\xbf{}",
        b"NaN",
        b"[-Infinity]",
        b"[1e999]",
        b'{"a":1,"a":2}',
        b'"\\ud800"',
        b"[" * 33 + b"]" * 33,
        b"[" * 1_000_000,
        b'{"a":' * 500_000,
        b"9" * 5000,
        b'"' + b"x" * MAX_BYTES + b'"',
    ],
    ids=lambda data: repr(data[:12]),
)
def test_what_is_no_strict_json_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(BadBundle, match=r"^thing "):
        decode(data, name="thing")


def test_brackets_in_text_are_no_depth() -> None:
    assert decode(b'"' + b"[" * 100 + b'\\"["', name="thing") == "[" * 100 + '"['


def test_hostile_text_takes_no_longer_than_plain() -> None:
    started = time.monotonic()
    for data in (b'"' + b'\\"' * 1_900_000, b'"' * 3_900_001, b"[1," * 1_000_000):
        with pytest.raises(BadBundle):
            decode(data, name="thing")
    assert time.monotonic() - started < 20  # quadratic would take hours
