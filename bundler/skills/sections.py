"""The title and the eleven sections of SKILL.md.

Headings are those that CommonMark sees: one in a code block, a list or a quotation is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from bundler.skills.problem import Report, Rule

SECTIONS = (
    "Purpose",
    "Use this when",
    "Do not use this when",
    "Inputs the agent should gather first",
    "Required reasoning process",
    "Kernel design rules",
    "Correctness requirements",
    "Performance requirements",
    "Output format",
    "Common failure modes",
    "Review checklist",
)
_TITLE = "Skill: "
_CONTENT = frozenset({"inline", "fence", "code_block"})


@dataclass(frozen=True)
class _Heading:
    level: int
    text: str
    line: int
    empty: bool
    """Whether nothing stands between it and the next heading of its level or above."""


def check_body(body: str, report: Report) -> None:
    """Report what is wrong with the Markdown below the frontmatter."""
    env: dict[str, Any] = {}
    tokens = MarkdownIt("commonmark").parse(body, env)
    headings = list(_headings(tokens))
    _check_title(tokens, headings, report)
    sections = [heading for heading in headings if heading.level == 2]
    _check_names(sections, report)
    _check_order(sections, report)
    for heading in sections:
        if heading.empty:
            report.add(
                Rule.SECTION_EMPTY,
                f"nothing under '## {heading.text}'",
                hint="write the section, or say why nothing applies",
                line=heading.line,
            )
    _check_hidden_text(tokens, env, report)


def _headings(tokens: Sequence[Token]) -> Iterator[_Heading]:
    opens = [at for at, token in enumerate(tokens) if token.type == "heading_open" and token.level == 0]
    for at in opens:
        level = int(tokens[at].tag[1])
        end = next((b for b in opens if b > at and int(tokens[b].tag[1]) <= level), len(tokens))
        content = (token for token in tokens[at + 2 : end] if token.type in _CONTENT)
        yield _Heading(
            level=level,
            text=tokens[at + 1].content.replace("\n", " "),
            line=_line(tokens[at]),
            empty=not any(token.content.strip() for token in content),
        )


def _check_title(tokens: Sequence[Token], headings: Sequence[_Heading], report: Report) -> None:
    titles = [heading for heading in headings if heading.level == 1]
    hint = "begin the body with one line '# Skill: <what it does>'"
    first = titles[0] if titles else None
    if first is None or tokens[0].type != "heading_open" or first is not headings[0]:
        line = _line(tokens[0]) if tokens else None
        report.add(Rule.TITLE, "the body does not begin with a first-level heading", hint=hint, line=line)
    elif not first.text.startswith(_TITLE) or not first.text.removeprefix(_TITLE).strip():
        report.add(Rule.TITLE, f"the title is {first.text!r}", hint=hint, line=first.line)
    for extra in titles[1:]:
        text = f"a second first-level heading, {extra.text!r}"
        report.add(Rule.TITLE, text, hint="make it '##' or delete it", line=extra.line)


def _check_names(sections: Sequence[_Heading], report: Report) -> None:
    seen: set[str] = set()
    for heading in sections:
        shown = f"'## {heading.text}'"
        if heading.text not in SECTIONS:
            hint = f"use '###' below a section; the sections are: {', '.join(SECTIONS)}"
            report.add(Rule.SECTION_UNKNOWN, f"{shown} is no section", hint=hint, line=heading.line)
        elif heading.text in seen:
            hint = "join the two into one"
            report.add(Rule.SECTION_REPEATED, f"{shown} stands twice", hint=hint, line=heading.line)
        seen.add(heading.text)
    for name in SECTIONS:
        if name not in seen:
            hint = "add it; a code fence that is never closed would hide it"
            report.add(Rule.SECTION_MISSING, f"'## {name}' is missing", hint=hint)


def _check_order(sections: Sequence[_Heading], report: Report) -> None:
    first_of = {heading.text: heading for heading in reversed(sections) if heading.text in SECTIONS}
    found = sorted(first_of.values(), key=lambda heading: heading.line)
    wanted = [name for name in SECTIONS if name in first_of]
    for heading, name in zip(found, wanted, strict=True):
        if heading.text != name:
            text = f"'## {heading.text}' stands where '## {name}' belongs"
            hint = f"the order is: {', '.join(SECTIONS)}"
            report.add(Rule.SECTION_ORDER, text, hint=hint, line=heading.line)
            return


def _check_hidden_text(tokens: Sequence[Token], env: dict[str, Any], report: Report) -> None:
    hint = "write it as text, or in backquotes when it is code"
    for token in tokens:
        parts = [token, *(token.children or ())]
        html = next((part.content for part in parts if part.type.startswith("html_")), None)
        if html is not None:
            report.add(Rule.HIDDEN_TEXT, f"HTML: {html.strip()[:60]!r}", hint=hint, line=_line(token))
    # Each later definition of one label is dropped, and kept by the parser in a list of its own.
    references = [*env.get("references", {}).values(), *env.get("duplicate_refs", ())]
    for reference in references:
        text = f"a link reference definition: {reference['href'][:60]!r}"
        report.add(Rule.HIDDEN_TEXT, text, hint="write the link inline", line=reference["map"][0] + 1)


def _line(token: Token) -> int:
    return token.map[0] + 1 if token.map else 1
