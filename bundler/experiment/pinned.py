"""Evidence that was not recorded in the pinned runtime, unless the notes say so. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bundler.experiment.deviations import Recorded
from bundler.experiment.finding import Finding, Rule, warning
from bundler.model.experiment import Experiment


def not_as_pinned(experiment: Experiment, recorded: Recorded) -> Iterator[Finding]:
    """Evidence is recorded in the pinned runtime, or the notes name the file and what was another there."""
    files: dict[str, list[str]] = {}
    for path, evidence in recorded:
        unsaid = [
            f"{name} {difference}"
            for name, difference in evidence.not_as_pinned.items()
            if not _names(experiment.notes, path, f"{name} {_version(difference)}")
        ]
        if unsaid:
            files.setdefault("; ".join(unsaid), []).append(path)
    for differences, paths in files.items():
        were = "was" if len(paths) == 1 else "were"
        found = ", ".join(" ".join(one.split()[:2]) for one in differences.split("; "))
        yield warning(
            Rule.EVIDENCE,
            f"{', '.join(paths)} {were} not recorded as pinned: {differences}",
            "record it in the runtime that the experiment pins; or say in notes why not, in words that name "
            f"{', '.join(paths)} and {found}",
        )


def _version(difference: str) -> str:
    """``2.11.0`` of ``2.11.0 here, 2.13.0 pinned``."""
    return difference.partition(" ")[0]


def _names(notes: str, *wanted: str) -> bool:
    """Whether the notes have each of these as words of their own, so that a note covers no later evidence."""
    text = " ".join(notes.split())
    return all(re.search(rf"(?<![\w./-]){re.escape(one)}(?![\w/-]|\.\w)", text) for one in wanted)
