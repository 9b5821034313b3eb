"""Places that are left for the author to fill in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from bundler.errors import BadExperiment
from bundler.experiment.finding import Finding, Rule, error
from bundler.experiment.load import read_file

MARK = "TODO(author):"
"""Stands at each place that only the author can fill in."""
OUTPUTS = "outputs/"
_NOT_WRITTEN_BY_THE_AUTHOR = ("evidence/",)
_MARKED = re.compile(rb"(\"\"\"|'''|[\"'])?(" + re.escape(MARK).encode() + rb"[^\r\n]*)")
_ENDS = {'"': r'(?<!\\)"', "'": "(?<!')'(?!')"}
"""What ends a text that begins with that quote, in YAML; three of them end one that began with three."""


def marks(folder: Path, paths: Sequence[str]) -> Iterator[Finding]:
    """An error for each place in these files. In an output only its start counts: the rest is a model's."""
    for path in paths:
        if path.startswith(_NOT_WRITTEN_BY_THE_AUTHOR):
            continue
        try:
            data = read_file(folder, path)
        except BadExperiment:
            continue  # a step of its own says so, where the file is declared
        if path.startswith(OUTPUTS) and not data.startswith(MARK.encode()):
            continue
        for match in _MARKED.finditer(data):
            line = data.count(b"\n", 0, match.start()) + 1
            yield error(Rule.TODO, f"{path}:{line}: {_told(match)[:300]}", "fill it in; only the author can")


def _told(match: re.Match[bytes]) -> str:
    """A mark and its words, without what ends the string or the list that they stand in."""
    text, quote = match[2].decode("utf-8", "replace"), (match[1] or b"").decode()
    return re.split(_ENDS.get(quote, re.escape(quote)), text, maxsplit=1)[0] if quote else text
