from __future__ import annotations

import pytest

from bundler.errors import UsageError
from bundler.oci.reference import Reference


@pytest.mark.parametrize(
    ("text", "short", "full"),
    [
        ("row-max", "row-max:latest", "docker.io/library/row-max:latest"),
        ("row-max:1.0", "row-max:1.0", "docker.io/library/row-max:1.0"),
        ("me/row-max:1", "me/row-max:1", "docker.io/me/row-max:1"),
        ("ghcr.io/me/x:1", "ghcr.io/me/x:1", "ghcr.io/me/x:1"),
        ("localhost:5000/x", "localhost:5000/x:latest", "localhost:5000/x:latest"),
        ("localhost/x", "localhost/x:latest", "localhost/x:latest"),
    ],
)
def test_reads_as_docker_does(text: str, short: str, full: str) -> None:
    reference = Reference.parse(text)
    assert (reference.short, reference.full) == (short, full)


@pytest.mark.parametrize(
    "text", ["", "Row", "a b", "a:", "a:b:c", "a/", "/a", "a\n", "a:\n", "é", "a@sha256:0", "x" * 256]
)
def test_a_text_that_docker_takes_for_no_reference_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        Reference.parse(text)
