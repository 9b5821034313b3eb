"""What a check reports: a rule, where it is broken, and what to do."""

from __future__ import annotations

import enum

from pydantic import BaseModel, ConfigDict


class Rule(enum.StrEnum):
    """The rules that a skill must keep. Stable: reports and CI refer to them by these ids."""

    NO_SKILL = "no-skill"
    """There is at least one skill to check."""
    PLACE = "place"
    """A skill's files lie in skills/<category>/<name>/, both names in kebab-case."""
    FILE = "file"
    """SKILL.md and skill.json exist and are regular files of at most 256 KiB."""
    FILE_NAME = "file-name"
    """Another version of the guidance is called SKILL-<semver>.md."""
    ENCODING = "encoding"
    """A file is UTF-8 without a byte order mark."""
    LINE_ENDING = "line-ending"
    """Lines end in LF alone, the last one too."""
    HIDDEN_CHARACTER = "hidden-character"
    """No control, format, private-use or default-ignorable characters: a reader cannot see them."""
    HIDDEN_TEXT = "hidden-text"
    """No HTML and no link reference definitions: a renderer may hide what a model reads."""
    FRONTMATTER = "frontmatter"
    """SKILL.md begins with a YAML mapping between two lines `---`, without repeated keys."""
    FRONTMATTER_FIELD = "frontmatter-field"
    """The mapping has exactly name, description and version, each of the right form."""
    FOLDER_NAME = "folder-name"
    """The name in the frontmatter is the folder's."""
    TITLE = "title"
    """The body begins with the only first-level heading, `# Skill: ...`."""
    SECTION_MISSING = "section-missing"
    SECTION_UNKNOWN = "section-unknown"
    SECTION_REPEATED = "section-repeated"
    SECTION_ORDER = "section-order"
    SECTION_EMPTY = "section-empty"
    JSON = "json"
    """skill.json is one JSON object (RFC 8259: no NaN) without repeated keys."""
    JSON_FIELD = "json-field"
    """skill.json has exactly the fields of its schema, each of the right form."""
    JSON_ID = "json-id"
    """id is <category>.<name>."""
    JSON_NAME = "json-name"
    """name is the folder's, or a title that gives it in lower case with hyphens for spaces."""
    JSON_CATEGORY = "json-category"
    """category is the folder's."""
    JSON_ENTRY = "json-entry"
    """entry is the path of SKILL.md from the root."""
    VERSION = "version"
    """SKILL.md and skill.json have one version; SKILL-<semver>.md has its name's, and another one."""


class Problem(BaseModel):
    """One broken rule."""

    model_config = ConfigDict(frozen=True)

    path: str
    """From the root, with forward slashes; escaped where it could not be printed as it is."""
    line: int | None
    """Counted from 1; None where the problem is not in a line."""
    rule: Rule
    text: str
    """What is wrong, quoting the file."""
    hint: str
    """What to do next."""

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{place} {self.rule} {self.text}"


def printable(text: str) -> str:
    """``text``, escaped where it holds a character that a terminal would act on or not show."""
    return text if text.isprintable() else ascii(text)[1:-1]


class Report:
    """Collects the problems of one file."""

    def __init__(self, path: str) -> None:
        """``path``: the file or folder that the problems belong to."""
        self.path = printable(path)
        self.problems: list[Problem] = []

    def add(self, rule: Rule, text: str, *, hint: str, line: int | None = None) -> None:
        """Note one broken rule."""
        self.problems.append(
            Problem(path=self.path, line=line, rule=rule, text=printable(text), hint=printable(hint))
        )
