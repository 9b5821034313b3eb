"""The line of an error that tells a reader most: Triton's, NVRTC's, a chain's. Pure.

Triton quotes the kernel down to the line that it refuses, a caret below it, and then says why, or leaves the
reason out. NVRTC says one line for each error. The interpreter repeats the cause in every link of a chain.
"""

from __future__ import annotations

import re

from bundler.report.text import count

_CAUSED_BY = " ← "
_NVRTC = re.compile(r"\(\d+\): (catastrophic |internal )?error: ")
_TRITON = re.compile(r"(?P<name>[\w.]+): at (?P<line>\d+):\d+:")


def told(error: str) -> str:
    """One line of it: the kernel's line that was refused and why, the first of several, or the last line."""
    lines = [line for line in error.splitlines() if line.strip()]
    if len(lines) < 2:
        return _root(error)
    carets = [i for i, line in enumerate(lines) if i and re.match(r"\s*\^", line)]
    if carets and (place := _TRITON.match(lines[0])):
        return _refused(lines, carets[-1], place)
    errors = [line for line in lines if _NVRTC.search(line)]
    if errors:
        more = f" (and {count(len(errors) - 1, 'error')} more)" if len(errors) > 1 else ""
        return errors[0] + more
    return _root(lines[-1])


def _refused(lines: list[str], caret: int, place: re.Match[str]) -> str:
    """``CompilationError at line 11 of the kernel, `acc = tl.dot(x, y, acc)`: AssertionError``."""
    beside = lines[caret].strip().lstrip("^~ ").removeprefix(_CAUSED_BY.strip()).strip()
    why = " ".join([beside, *lines[caret + 1 :]]).strip()
    where = f"{place['name']} at line {place['line']} of the kernel, `{lines[caret - 1].strip()}`"
    reason = _root(why)
    return f"{where}: {reason}" if reason else where


def _root(chain: str) -> str:
    """A chain without the links that only quote its root."""
    *links, root = chain.split(_CAUSED_BY)
    message = root.partition(": ")[2].strip()
    if not message:
        return chain.rstrip().removesuffix(":")
    kept = [link for link in links if message not in link.replace("\\", "")]
    return _CAUSED_BY.join([*kept, root])
