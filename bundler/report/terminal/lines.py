"""Lines beside the tables: wrapped at words and indented where somebody reads them on a screen."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

_HANGING = 4


def say(console: Console, text: Text | Table) -> None:
    """Print ``text``; what does not fit goes on below, further in than it began, but for a table.

    A console that wraps softly, as of a log, gets its lines whole.
    """
    if console.soft_wrap or isinstance(text, Table):
        console.print(text)
        return
    for line in text.split("\n", allow_blank=True):
        for part in _wrapped(console, line):
            console.print(part, no_wrap=True, crop=False, overflow="ignore")


def _wrapped(console: Console, line: Text) -> list[Text]:
    indent = len(line.plain) - len(line.plain.lstrip(" "))
    if len(line.plain) <= console.width:
        return [line]
    room = max(console.width - indent - _HANGING, 20)
    parts = list(line[indent:].wrap(console, room))
    for part in parts:
        part.rstrip()
    first, *rest = parts
    lead, hanging = " " * indent, " " * (indent + _HANGING)
    return [Text(lead).append_text(first), *(Text(hanging).append_text(one) for one in rest)]
