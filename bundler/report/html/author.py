"""The author's Markdown as HTML: no raw HTML, no images, nothing fetched, headings below the page's own."""

from __future__ import annotations

from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from bundler.report.text import plain

_DEEPER = 2
"""An author's first heading stands below the section's."""


def rendered(text: str) -> str:
    """Safe to stand in the page; empty for a text without a word."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    tokens = parser.parse("\n".join(_safe(line) for line in text.splitlines()))
    return "".join(_wrapped(tokens, parser))


def _safe(line: str) -> str:
    """Control and direction characters as text; a line's indentation stays, since it means something."""
    return plain(line.replace("\t", "    "), 20_000)


def _wrapped(tokens: Sequence[Token], parser: MarkdownIt) -> list[str]:
    """Tables and code in regions that scroll by themselves and can be reached by keyboard."""
    _lower(tokens)
    _no_empty_heads(tokens)
    parts, renderer, number = [], parser.renderer, 0
    assert isinstance(renderer, RendererHTML)  # what a parser has unless told otherwise
    for token in tokens:
        if token.type in ("table_open", "fence", "code_block"):
            number += 1
            name = "table" if token.type == "table_open" else "code"
            label = f"Scrolls: {name} {number} of the analysis"
            parts.append(f'<div class="scroll" role="region" aria-label="{label}" tabindex="0">')
        if token.type == "th_open" and token.tag == "th":
            token.attrSet("scope", "col")
        parts.append(renderer.render([token], parser.options, {}))
        if token.type in ("table_close", "fence", "code_block"):
            parts.append("</div>")
    return parts


def _no_empty_heads(tokens: Sequence[Token]) -> None:
    """The corner of a table is an empty cell, not a heading without a word."""
    for opening, words, closing in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if opening.type == "th_open" and not words.content.strip():
            opening.tag = closing.tag = "td"


def _lower(tokens: Sequence[Token]) -> None:
    """Headings in order, whichever levels the author skipped."""
    stack: list[int] = []
    for token in tokens:
        if token.type == "heading_open":
            level = int(token.tag[1])
            while stack and stack[-1] >= level:
                stack.pop()
            stack.append(level)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(len(stack) + _DEEPER, 6)}"
