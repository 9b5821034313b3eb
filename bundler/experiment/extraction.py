"""From an output to its candidate: a stated rule, applied to bytes, never edited.

An output is Markdown. A rule names one fenced code block in it, by CommonMark's definition of one
(https://spec.commonmark.org/0.31.2/#fenced-code-blocks), and the candidate is the bytes between its
two fences, as they stand in the output. An output that the rule does not fit has no candidate: which
of two blocks a model meant is not ours to guess.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

from bundler.errors import BadExperiment
from bundler.model.experiment import ExtractionRule

MAX_BYTES = 1 << 20
MAX_LINES = 20_000
"""An answer has some hundred. Each can cost the parser twenty times, once for each quotation around it."""
_ASIDE = "move it out of outputs/ and say so in model.procedure"
EMPTY = f"put the model's answer into it, then bundler declare; where there was none, {_ASIDE}"
_MOST_SHOWN = 10
"""Blocks that an error lists."""


@dataclass(frozen=True)
class _Block:
    info: str
    first: int
    """The line of the opening fence, counted from 0."""
    end: int
    """The line after the last one of the block, counted from 0."""
    marker: str
    top_level: bool

    def __str__(self) -> str:
        return f"{self.info[:40]!r} in lines {self.first + 1} to {self.end}"


def extract(output: bytes, rule: ExtractionRule) -> bytes:
    """The candidate's source in ``output``: the very bytes of the block that ``rule`` names.

    Line endings and indentation stay as they are. Raises BadExperiment, with the blocks that were
    found, when the output is empty, not UTF-8 or larger than any answer, when it does not have exactly
    one block, or when the block is of another language, empty, indented, within a list or quotation, or
    never closed.
    """
    _check_size(output)
    text = _decode(output)
    block = _only_block(text, rule)
    # Lines as CommonMark ends them; str.splitlines would also split at form feeds and U+2028.
    lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", text)
    _check_block(block, lines, rule)
    source = "".join(lines[block.first + 1 : block.end - 1]).encode()
    if not source.strip():
        raise _refused(rule, f"the block is empty: {block}")
    return source


def _check_size(output: bytes) -> None:
    if not output.strip():
        raise BadExperiment("the output is empty", hint=EMPTY)
    lines = output.count(b"\n") + output.count(b"\r")
    if len(output) > MAX_BYTES or lines > MAX_LINES:
        raise BadExperiment(
            f"the output has {len(output):,} bytes in {lines:,} lines, over {MAX_BYTES:,} or {MAX_LINES:,}: "
            "too large for an answer",
            hint="is it the right file? An output is the model's answer alone",
        )


def _decode(output: bytes) -> str:
    try:
        return output.decode("utf-8")
    except UnicodeDecodeError as error:
        line = output.count(b"\n", 0, error.start) + 1
        raise BadExperiment(
            f"the output is not UTF-8: byte 0x{output[error.start]:02x} in line {line}",
            hint="store the model's answer as it came, in UTF-8",
        ) from None


def _only_block(text: str, rule: ExtractionRule) -> _Block:
    blocks = [_block(token) for token in _parser().parse(text) if token.type == "fence"]
    if len(blocks) != 1:
        found = "; ".join(map(str, blocks[:_MOST_SHOWN])) or "none"
        found += "; ..." if len(blocks) > _MOST_SHOWN else ""
        raise _refused(rule, f"the output has {len(blocks)} fenced code blocks, not 1: {found}")
    return blocks[0]


def _parser() -> MarkdownIt:
    """Blocks only: what stands within a paragraph cannot begin one."""
    return MarkdownIt("commonmark").disable("inline")


def _block(token: Token) -> _Block:
    assert token.map is not None  # block tokens have one
    first, end = token.map
    return _Block(token.info.strip(), first, end, token.markup, top_level=token.level == 0)


def _check_block(block: _Block, lines: list[str], rule: ExtractionRule) -> None:
    if not {word.lower() for word in block.info.split()[:1]} & rule.fences:
        words = ", ".join(sorted(rule.fences))
        raise _refused(rule, f"the block's info string begins with none of {words}: {block}")
    if not block.top_level or not lines[block.first].startswith(block.marker):
        # CommonMark takes a fence's indentation off each line: the source would not be the output's bytes.
        raise _refused(rule, f"the block is indented, or within a list or quotation: {block}")
    closing = rf" {{0,3}}{re.escape(block.marker)}{re.escape(block.marker[0])}*[ \t]*[\r\n]*"
    if block.end - 1 == block.first or not re.fullmatch(closing, lines[block.end - 1]):
        raise _refused(rule, f"the block is never closed, so the answer may have been cut off: {block}")


def _refused(rule: ExtractionRule, problem: str) -> BadExperiment:
    return BadExperiment(
        f"{rule.value!r} does not fit: {problem}",
        hint=f"such an output cannot be declared: {_ASIDE}",
    )
