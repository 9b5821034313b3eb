"""Why the device ground is not there, in words that say what to do."""

from __future__ import annotations

import os

from bundler.replay.device import why_not_started


def test_a_folder_without_execution_is_named_with_the_remedy() -> None:
    reason = why_not_started("failed to map segment from shared object", "/tmp", os.ST_NOEXEC | os.ST_NODEV)
    assert reason == (
        "/tmp is mounted noexec, and Triton has to load what it compiles there: --tmpfs /tmp:exec"
    )


def test_another_reason_is_kept() -> None:
    assert why_not_started("libcuda.so cannot found!", "/tmp", os.ST_NODEV) == "libcuda.so cannot found!"
