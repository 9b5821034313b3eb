"""YAML means what it would mean as JSON, or is refused with its line."""

from __future__ import annotations

import time

import pytest

from bundler.errors import BadExperiment
from bundler.experiment.strict_yaml import MAX_BYTES, load


def test_plain_values() -> None:
    text = b"s: text\ni: -7\nf: 1.5e-3\ne: 1e3\nb: true\nn: null\nl: [1, a]\nm: {k: v}\nq: '1'\nz:\n"
    assert load(text, "x") == {
        "s": "text",
        "i": -7,
        "f": 0.0015,
        "e": 1000.0,
        "b": True,
        "n": None,
        "l": [1, "a"],
        "m": {"k": "v"},
        "q": "1",
        "z": None,
    }


@pytest.mark.parametrize(
    "scalar",
    ["2026-11-30", "2026-11-30T10:00:00Z", "on", "yes", "No", "True", "1:30", "010", "0x10", "1_000", ".inf"],
)
def test_what_yaml_would_bend_stays_text(scalar: str) -> None:
    assert load(f"a: {scalar}\n{scalar}: b\n".encode(), "x") == {"a": scalar, scalar: "b"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"a: 1\nb: 2\na: 3\n", "x line 3 is not valid YAML: key 'a' is given twice"),
        (b"a: {b: 1,\n b: 2}\n", "x line 2 is not valid YAML: key 'b' is given twice"),
        (b"a: &a [1]\nb: 2\n", "x line 1 is not valid YAML: anchors and aliases are not taken"),
        (b"a: 1\nb: *a\n", "x line 2 is not valid YAML: anchors and aliases are not taken"),
        (b"a: !!binary aGk=\n", "x line 1 is not valid YAML: tags are not taken: 'tag:yaml.org,2002:binary'"),
        (b"a: !!python/object/apply:os.abort []\n", "x line 1 is not valid YAML: tags are not taken"),
        (b"a: !!set {x}\n", "x line 1 is not valid YAML: tags are not taken"),
        (b"a: 1\n---\nb: 1\n", "x line 2 is not valid YAML"),
        (b"a: [1\n", "x line 2 is not valid YAML"),
        (b"? [1]\n: 2\n", "x line 1 is not valid YAML: found unhashable key"),
        (b"a: 1\nb: \xff\n", "x line 2 is not UTF-8"),
        ("a: 1\n".encode("utf-16"), "x line 1 is not UTF-8"),
        (b"a: \x1b[31m\n", "x is not valid YAML: unacceptable character #x001b"),
        (b"a: " + b"9" * 5000, "x is not valid YAML: Exceeds the limit"),
        (b"[" * 100_000, "x is not valid YAML: it is nested too deep"),
        (b"{a: " * 50_000, "x is not valid YAML: it is nested too deep"),
        (b"a" * (MAX_BYTES + 1), f"x has {MAX_BYTES + 1} bytes, over {MAX_BYTES}"),
    ],
)
def test_refused(text: bytes, said: str) -> None:
    with pytest.raises(BadExperiment) as refused:
        load(text, "x")
    assert refused.value.problem.startswith(said)
    assert "\n" not in refused.value.problem


def test_an_alias_bomb_is_refused_at_once() -> None:
    bomb = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))
    started = time.monotonic()
    with pytest.raises(BadExperiment, match="anchors and aliases are not taken"):
        load(bomb.encode(), "x")
    assert time.monotonic() - started < 1


def test_a_merge_key_merges_nothing() -> None:
    assert load(b"a: 1\n<<: {a: 2}\n", "x") == {"a": 1, "<<": {"a": 2}}
