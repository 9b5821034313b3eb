"""Text into Markdown, so that nothing in it is markup: on GitHub, in a table, within a quotation.

``code`` is for what a stranger's process said: it is shown as it came, and neither mentions, links nor closes
anything. ``prose`` is for an author's line. Both give one line without control characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from bundler.report.text import plain

_MARKUP = re.compile(r"[\\`*_\[\]~|$]")
_LINKS = re.compile(r"(?<=[@#])(?=\w)|(?<=:)(?=//)|(?<=www)(?=\.)", re.IGNORECASE)
"""Where GitHub would begin a mention, a reference to an issue, or a link."""
_BREAK = "&#8203;"
_ALL = re.compile(r"[&<>`*_\[\]~|\\$@#]|:(?=//)|(?<=www)\.", re.IGNORECASE)


def prose(text: str, most: int = 4000) -> str:
    """A line of an author's as plain text."""
    broken = _LINKS.sub("\0", plain(text, most))
    return _MARKUP.sub(r"\\\g<0>", escape(broken, quote=False)).replace("\0", _BREAK)


def code(text: str, most: int = 400) -> str:
    """A stranger's text in ``<code>``, every character that could begin something as its number."""
    shown = _ALL.sub(lambda match: f"&#{ord(match[0])};", plain(text, most))
    return f"<code>{shown}</code>" if shown else ""


def fence(text: str, language: str = "") -> str:
    """A block of code that nothing in ``text`` can end."""
    lines = [shown_line(line) for line in text.split("\n")]
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    mark = "`" * max(3, longest + 1)
    return f"{mark}{language}\n" + "\n".join(lines) + f"\n{mark}\n"


def shown_line(line: str) -> str:
    """A line of source with its tabs as spaces, and nothing that a terminal or a browser would obey."""
    return plain(line.rstrip("\r").expandtabs(4), 4000)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, right_from: int = 1) -> str:
    """A table of cells that are Markdown already; columns from ``right_from`` on are set to the right."""
    rule = ["---" if index < right_from else "---:" for index in range(len(heads))]
    return "".join(f"| {' | '.join(row)} |\n" for row in (heads, rule, *rows))


def quotation(text: str) -> str:
    """Every line of an author's Markdown within a quotation, so that none of it ends up outside."""
    lines = re.split(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", text.strip())
    return "".join(f"> {line}".rstrip() + "\n" for line in lines)


def folded(summary: str, body: str) -> str:
    """``body`` behind a line that opens it."""
    head = f"<details><summary>{escape(plain(summary), quote=False)}</summary>"
    return f"{head}\n\n{body.rstrip()}\n\n</details>\n"
