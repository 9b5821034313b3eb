"""From bytes to text that a reader sees whole."""

from __future__ import annotations

import unicodedata

from bundler.skills.problem import Report, Rule

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})

# Default_Ignorable_Code_Point (Unicode 16, DerivedCoreProperties.txt) outside the categories above:
# fillers, variation selectors, and the plane-14 block. They carry text that no font shows.
_IGNORABLE = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2065, 0x2065),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0xE0000, 0xE0FFF),
)
# One report a file for each character is enough; a binary file would give thousands.
_MOST = 10


def hidden(text: str) -> list[tuple[int, str]]:
    """The characters of ``text`` that a reader cannot see, with their positions; LF and tab are fine."""
    return [(at, char) for at, char in enumerate(text) if _is_hidden(char)]


def named(char: str) -> str:
    """A character as ``U+202E RIGHT-TO-LEFT OVERRIDE``."""
    return f"U+{ord(char):04X} {unicodedata.name(char, 'without a name')}"


def decode(data: bytes, report: Report) -> str | None:
    """The text of ``data``, or None when it is not UTF-8; what is wrong with it goes to ``report``."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = data[error.start]
        report.add(Rule.ENCODING, f"byte 0x{byte:02x} is not UTF-8", hint="save the file as UTF-8", line=line)
        return None
    if text.startswith("\ufeff"):
        report.add(Rule.ENCODING, "begins with a byte order mark", hint="save as UTF-8 without BOM", line=1)
        text = text[1:]
    _check_line_endings(text, report)
    _check_hidden(text.replace("\r", ""), report)
    # The parsers that come next count lines as the reports do: by LF alone.
    return text.replace("\r\n", "\n").replace("\r", " ")


def _check_line_endings(text: str, report: Report) -> None:
    if "\r" in text:
        line = text.count("\n", 0, text.index("\r")) + 1
        report.add(
            Rule.LINE_ENDING, "has a carriage return", hint="convert the line endings to LF", line=line
        )
    if not text.endswith("\n"):
        line = text.count("\n") + 1
        report.add(Rule.LINE_ENDING, "does not end in LF", hint="add a newline at the end", line=line)


def _check_hidden(text: str, report: Report) -> None:
    found = hidden(text)
    for at, char in found[:_MOST]:
        line = text.count("\n", 0, at) + 1
        report.add(Rule.HIDDEN_CHARACTER, f"has {named(char)}", hint="delete it", line=line)
    if len(found) > _MOST:
        more = len(found) - _MOST
        report.add(Rule.HIDDEN_CHARACTER, f"has {more} more hidden characters", hint="delete them")


def _is_hidden(char: str) -> bool:
    if char in "\n\t" or " " <= char <= "~":
        return False
    code = ord(char)
    return unicodedata.category(char) in _HIDDEN_CATEGORIES or any(a <= code <= b for a, b in _IGNORABLE)
