"""The YAML mapping at the top of SKILL.md.

The YAML is composed into nodes and never constructed: a node knows its line, a repeated key is still
there to be seen, and no value is turned into a date or a number on the way.
"""

from __future__ import annotations

import yaml

from bundler.skills.fields import build
from bundler.skills.problem import Report, Rule
from bundler.skills.types import Frontmatter

_FENCE = "---"
_STRING = "tag:yaml.org,2002:str"
_EXAMPLE = "begin the file with ---, name, description, version, ---"


def split(text: str, report: Report) -> tuple[Frontmatter | None, str | None]:
    """The frontmatter of ``text``, and ``text`` with its lines blanked; None for what cannot be told.

    Blanked, not cut off, so that line numbers stay those of the file.
    """
    lines = text.split("\n")
    if lines[0] != _FENCE:
        report.add(
            Rule.FRONTMATTER, f"the first line is not {_FENCE}: {lines[0][:60]!r}", hint=_EXAMPLE, line=1
        )
        return None, text
    if _FENCE not in lines[1:]:
        report.add(Rule.FRONTMATTER, f"no second line {_FENCE} ends the frontmatter", hint=_EXAMPLE, line=1)
        return None, None
    end = lines.index(_FENCE, 1)
    body = "\n" * (end + 1) + "\n".join(lines[end + 1 :])
    # A blank line for the opening fence keeps YAML's line numbers those of the file.
    return _parse("\n" + "\n".join(lines[1:end]) + "\n", report), body


def _parse(text: str, report: Report) -> Frontmatter | None:
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        why = getattr(error, "problem", None) or getattr(error, "reason", None) or "nested too deep"
        line = mark.line + 1 if mark else 1
        report.add(
            Rule.FRONTMATTER, f"not valid YAML: {why}", hint="quote the value, or correct it", line=line
        )
        return None
    if not isinstance(root, yaml.MappingNode):
        report.add(Rule.FRONTMATTER, "not a mapping", hint=_EXAMPLE, line=1)
        return None
    return _from_mapping(root, report)


def _from_mapping(root: yaml.MappingNode, report: Report) -> Frontmatter | None:
    values: dict[str, object] = {}
    lines: dict[str, int] = {}
    for key, value in root.value:
        line = key.start_mark.line + 1
        name = key.value if isinstance(key, yaml.ScalarNode) else "a key"
        if name in values:
            report.add(Rule.FRONTMATTER, f"{name!r} is given twice", hint="keep one of the two", line=line)
            return None
        values[name] = _plain(value)
        lines[name] = line
    return build(Frontmatter, values, Rule.FRONTMATTER_FIELD, report, lambda field: lines.get(field, 1))


def _plain(node: yaml.Node) -> object:
    """A string as one; anything else as what no field accepts, yet can be quoted in a message."""
    if isinstance(node, yaml.ScalarNode):
        return node.value if node.tag == _STRING else _Other(node.value)
    return _Other("a mapping" if isinstance(node, yaml.MappingNode) else "a list")


class _Other:
    """A YAML value that is not a string."""

    def __init__(self, shown: str) -> None:
        self._shown = shown

    def __repr__(self) -> str:
        return self._shown
