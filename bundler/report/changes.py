"""What differs between two bundles, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from bundler.bundle.change import Change
from bundler.report.terminal.lines import say
from bundler.report.text import count, plain

_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def show(console: Console, changes: Sequence[Change], notes: Sequence[str], *, full: bool) -> None:
    """A line each, by part; with ``full`` also what changed in the texts."""
    for note in notes:
        say(console, Text(plain(note), "dim"))
    for change in changes:
        say(console, Text.assemble((f"{change.part:12}", "bold"), plain(change.what, 1000)))
        if full:
            for line in change.text.splitlines():
                say(console, Text(f"    {plain(line, 2000)}", _STYLES.get(line[:1], "dim")))
    if not changes:
        say(console, Text("SAME", "green"))
        return
    texts = any(change.text for change in changes) and not full
    hint = "; --full shows the texts" if texts else ""
    say(console, Text(f"DIFFERENT: {count(len(changes), 'change')}{hint}", "bold red"))
