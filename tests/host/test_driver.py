"""What is said where CUDA's driver cannot be loaded."""

from __future__ import annotations

import ctypes

import pytest

from bundler.host.driver import real_driver


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            "libcuda.so.1: cannot open shared object file: No such file or directory",
            "no library libcuda.so.1",
        ),
        ("libcuda.so.1: file too short", "libcuda.so.1 cannot be loaded: libcuda.so.1: file too short"),
    ],
)
def test_a_library_that_is_missing_is_said_in_one_breath(
    monkeypatch: pytest.MonkeyPatch, error: str, said: str
) -> None:
    def refused(name: str) -> object:
        raise OSError(error)

    monkeypatch.setattr(ctypes, "CDLL", refused)
    assert real_driver() == said
