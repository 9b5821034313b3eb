"""Evidence files that a command line names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bundler.errors import UsageError
from bundler.experiment.parse import MAX_FILE_BYTES, parse_evidence
from bundler.files import read_at_most
from bundler.model.evidence import Evidence, evidence_json

SUFFIXES = (".json", ".json.gz", ".json.xz")
"""How such a name ends; every other is a target."""


def read_evidence(name: str) -> Evidence:
    """The evidence in a file. Raises UsageError where it cannot be read, BadEvidence where it is none."""
    try:
        data = read_at_most(Path(name), MAX_FILE_BYTES)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        why = getattr(error, "strerror", None) or error
        raise UsageError(
            f"{name!r} cannot be read: {why}", hint="name a file that bundler verify --json wrote"
        ) from None
    return parse_evidence(data, name)


def refuse_twice(named: Sequence[tuple[str, Evidence]]) -> None:
    """Raise UsageError where two names hold one replay: a copy, a link, the same file packed or in a bundle.

    It would agree with itself, and pass for a second host.
    """
    seen: dict[tuple[str, float], list[tuple[str, bytes]]] = {}
    for name, evidence in named:
        # Written anew, since the same evidence may be laid out or packed otherwise.
        data = evidence_json(evidence)
        same_time = seen.setdefault((evidence.started, evidence.seconds), [])
        if others := [other for other, known in same_time if known == data]:
            raise _twice(others[0], name)
        same_time.append((name, data))


def _twice(one: str, other: str) -> UsageError:
    what = f"{one!r} is named twice" if one == other else f"{one!r} and {other!r} hold the same evidence"
    return UsageError(
        f"{what}: one replay on one host",
        hint="leave one out, or name another host's: bundler verify TARGET --json evidence.json",
    )
