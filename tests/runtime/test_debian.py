"""The root filesystem: which packages are asked for, and what is said when they have moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from bundler.errors import UnavailableError
from bundler.runtime import debian
from bundler.runtime.debian import Moved, find_moved, parse_status, refuse_moved
from bundler.runtime.declaration import Debian
from bundler.runtime.tools import Finished, run

BOOKWORM = Debian(suite="bookworm", architecture="amd64", packages=("gcc", "python3"), avoid=("usrmerge",))

STATUS = """Package: libc6
Status: install ok installed
Version: 2.36-9+deb12u14
Conffiles:
 /etc/ld.so.conf 4317c6de
Description: GNU C Library
 Version: not a field

Package: gone
Status: deinstall ok config-files
Version: 1

Package: libcap2
Status: install ok installed
Version: 1:2.66-4+b1
"""


def test_status_gives_what_is_installed() -> None:
    assert parse_status(STATUS) == {"libc6": "2.36-9+deb12u14", "libcap2": "1:2.66-4+b1"}


def test_moved_packages_are_listed_each_way() -> None:
    found = find_moved({"a": "1", "b": "1", "c": "1"}, {"a": "1", "b": "2", "d": "1"})
    assert found == (Moved("b", "1", "2"), Moved("c", "1", None), Moved("d", None, "1"))


def test_the_report_names_package_locked_found_and_the_next_step() -> None:
    with pytest.raises(UnavailableError) as caught:
        refuse_moved("cpu", [Moved("libssl3", "3.0.17-1", "3.0.18-1"), Moved("new", None, "1")])
    assert caught.value.problem == (
        "Debian has moved on from what images/cpu locks:\n"
        "  libssl3: locked 3.0.17-1, found 3.0.18-1\n"
        "  new: locked nowhere, found 1"
    )
    assert "python -m bundler.runtime lock cpu" in caught.value.hint
    assert "--accept-moved-packages" in caught.value.hint


def test_nothing_moved_is_silent() -> None:
    refuse_moved("cpu", [])


def test_locked_versions_are_preferred_and_avoided_packages_refused() -> None:
    assert debian.apt_preferences(BOOKWORM, {"libc6": "2.36-9"}) == (
        "Package: usrmerge\nPin: version *\nPin-Priority: -1\n\n"
        "Package: libc6\nPin: version 2.36-9\nPin-Priority: 1001\n"
    )


def test_a_mirror_comes_last(tmp_path: Path) -> None:
    command = debian.mmdebstrap_command(
        BOOKWORM, tmp_path / "a b", tmp_path / "t", ["deb http://m bookworm main"]
    )
    assert command[-3:] == ["bookworm", str(tmp_path / "t"), "deb http://m bookworm main"]
    assert "--include=gcc,python3" in command
    assert f"--setup-hook=upload '{tmp_path}/a b' /etc/apt/preferences.d/lock" in command


def test_a_failure_shows_the_tools_last_words(tmp_path: Path) -> None:
    def fail(command: Sequence[str], *, env: Mapping[str, str]) -> Finished:
        return Finished(25, "", "I: running apt-get update...\n\nE: apt-get update failed\n")

    with pytest.raises(UnavailableError, match="E: apt-get update failed"):
        debian.make_rootfs(BOOKWORM, {}, tmp_path / "t", mirrors=(), run=fail)


def test_a_missing_program_is_named() -> None:
    with pytest.raises(UnavailableError, match="no-such-program is not installed"):
        run(["no-such-program"], env={})


def test_the_fixed_umask_holds_whatever_ours_is() -> None:
    assert run(["sh", "-c", "umask; echo $WHO"], env={"WHO": "me"}).output == "0022\nme\n"
