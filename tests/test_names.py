from __future__ import annotations

import unicodedata

import pytest

from bundler.errors import BadBundle, BadExperiment
from bundler.names import check_names, find_problem


@pytest.mark.parametrize(
    ("path", "part_of_message"),
    [
        ("/etc/passwd", "absolute"),
        ("a/../b", "'..'"),
        ("./a", "'.'"),
        ("a//b", "''"),
        ("", "''"),
        ("a/", "''"),
        ("a/.wh.b", ".wh."),
        (".wh..wh..opq", ".wh."),
        ("._a", "resource fork"),
        ("x/.DS_Store", "leaves behind"),
        ("a.py~", "leaves behind"),
        ("m.pyc", "leaves behind"),
        ("a" * 252, "252 bytes"),
        ("é" * 126, "252 bytes"),
        ("/".join(["aaaaaaaaa"] * 103), "1029 bytes"),
        (unicodedata.normalize("NFD", "é"), "NFC"),
        ("a\nb", "control character"),
        ("a\x7f", "control character"),
        ("a\x00", "control character"),
        ("a\u202eb", "invisible"),
        ("a\u2028b", "line separator"),
        ("a\udcff", "not UTF-8"),
        ("\U0001f600", "Unicode 3.2"),
        ("\ue000", "private"),
        ("a\\b", "backslash"),
    ],
)
def test_refuses_and_names_the_file(path: str, part_of_message: str) -> None:
    with pytest.raises(BadExperiment) as caught:
        check_names(["fine", path])
    assert repr(path) in caught.value.problem
    assert part_of_message in caught.value.problem
    assert caught.value.hint


@pytest.mark.parametrize(
    ("paths", "part_of_message"),
    [
        (["a", "a"], "twice"),
        (["README", "readme"], "only in case"),
        (["A/x", "a/y"], "only in case"),
        (["straße", "STRASSE"], "only in case"),
        (["a/b", "a"], "which is a file"),
    ],
)
def test_refuses_paths_that_cannot_be_together(paths: list[str], part_of_message: str) -> None:
    for order in (paths, paths[::-1]):
        with pytest.raises(BadBundle, match=part_of_message):
            check_names(order, error=BadBundle)


def test_takes_what_is_fine() -> None:
    fine = ["a", "a-b", "a.md", "é/ü.txt", "b" * 251, "c c", "日本", "a.wh.b", "x/.hidden", "\uff41"]
    assert find_problem(fine) is None


def test_the_first_problem_does_not_depend_on_the_order() -> None:
    paths = ["z\n", "._a", "m.pyc"]
    assert find_problem(paths) == find_problem(reversed(paths))
