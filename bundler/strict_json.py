"""JSON in two directions: one spelling when written, no surprises when a stranger's is read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from bundler.errors import BadBundle

MAX_BYTES = 4 * 1024 * 1024
MAX_DEPTH = 32
"""An image's config goes four deep; nothing that is read here has a reason to go further."""

_OUTSIDE_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|([\[{])|([\]}])', re.DOTALL)
"""Linear in its input: a string that never ends is one match too."""
_HINT = "the file was damaged or written by something else than bundler or Docker; ask for it again"


def encode(value: Any) -> bytes:
    """Sorted keys, no spaces, ASCII only: one value has one spelling."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.encode("ascii")


def decode(data: bytes, *, name: str) -> Any:
    """The value that ``data`` spells. Raises BadBundle, quoting ``name``, for anything doubtful.

    Doubtful: too large, too deep, not UTF-8, NaN or infinity, a key given twice, half a character.
    """
    if len(data) > MAX_BYTES:
        raise bad(name, f"has {len(data)} bytes of JSON, more than {MAX_BYTES}")
    if _depth(data) > MAX_DEPTH:
        raise bad(name, f"is JSON nested more than {MAX_DEPTH} deep")
    try:
        value = json.loads(
            data.decode(),
            parse_constant=_refuse_constant,
            parse_float=_finite,
            object_pairs_hook=_unique,
        )
        json.dumps(value, ensure_ascii=False).encode()  # a lone surrogate cannot be encoded
    except (ValueError, RecursionError) as error:
        raise bad(name, f"is not sound JSON: {str(error)[:200]}") from error
    return value


def bad(name: str, what: str) -> BadBundle:
    """The error for JSON called ``name`` of which ``what`` is true."""
    return BadBundle(f"{name} {what}", hint=_HINT)


def _depth(data: bytes) -> int:
    """How deep the brackets go. Done before parsing: the parser's own limit is the C stack."""
    depth = deepest = 0
    for match in _OUTSIDE_STRINGS.finditer(data):
        if match.group(1):
            depth += 1
            deepest = max(deepest, depth)
        elif match.group(2):
            depth -= 1
    return deepest


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:40]} is too large for a number")
    return number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("an object gives one key twice")
    return value


def as_object(value: Any, name: str) -> Mapping[str, Any]:
    """``value`` when it is an object."""
    if not isinstance(value, dict):
        raise bad(name, f"is {_kind(value)}, not an object")
    return value


def as_list(value: Any, name: str, *, most: int) -> list[Any]:
    """``value`` when it is a list of at most ``most`` items; null counts as empty, as in Go."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise bad(name, f"is {_kind(value)}, not a list")
    if len(value) > most:
        raise bad(name, f"has {len(value)} items, more than {most}")
    return value


def as_text(value: Any, name: str) -> str:
    """``value`` when it is text; null counts as empty, as in Go."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise bad(name, f"is {_kind(value)}, not text")
    return value


def as_texts(value: Any, name: str, *, most: int) -> tuple[str, ...]:
    """``value`` when it is a list of texts."""
    return tuple(as_text(item, name) for item in as_list(value, name, most=most))


def as_text_map(value: Any, name: str, *, most: int) -> dict[str, str]:
    """``value`` when it is an object of texts; null counts as empty, as in Go."""
    items = as_object({} if value is None else value, name)
    if len(items) > most:
        raise bad(name, f"has {len(items)} keys, more than {most}")
    return {key: as_text(text, f"{name}, key {key[:60]!r},") for key, text in items.items()}


def as_size(value: Any, name: str) -> int:
    """``value`` when it is a whole number that a size in bytes can be."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise bad(name, f"is {_kind(value)}, not a size in bytes")
    return value


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "a truth value"}
    return names.get(type(value), repr(value)[:60])
