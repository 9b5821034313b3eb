"""A skill as types. No I/O."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

# The expression that semver.org (2.0.0, FAQ "Is there a suggested regular expression") recommends,
# with [0-9] for \d: Python's \d takes every script's digits.
_IDENTIFIER = r"(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
SEMVER = (
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    rf"(?:-({_IDENTIFIER}(?:\.{_IDENTIFIER})*))?"
    r"(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?"
)
KEBAB = r"[a-z0-9]+(?:-[a-z0-9]+)*"
_VERSION = rf"^{SEMVER}$"
_KEBAB = rf"^{KEBAB}$"
_ID = rf"^{KEBAB}\.{KEBAB}$"
_LINE = r"^\S(?:[^\n]*\S)?$"
PATTERNS = {
    _VERSION: "a semantic version (semver.org), as 0.1.0",
    _KEBAB: "of a-z, 0-9 and single hyphens",
    _ID: "<category>.<name>",
    _LINE: "one line without space at its ends",
}
"""What each expression asks for, in words: the expressions say too little in a message."""


def _unique(words: tuple[str, ...]) -> tuple[str, ...]:
    twice = sorted({word for word in words if words.count(word) > 1})
    if twice:
        raise ValueError(f"{', '.join(map(repr, twice))} given more than once")
    return words


Version = Annotated[str, Field(pattern=_VERSION, max_length=64)]
Kebab = Annotated[str, Field(pattern=_KEBAB, max_length=64)]
Words = Annotated[
    tuple[Kebab, ...],
    # JSON has lists only; strict mode would otherwise refuse them for a tuple.
    Field(strict=False, min_length=1, json_schema_extra={"uniqueItems": True}),
    AfterValidator(_unique),
]
Line = Annotated[str, Field(pattern=_LINE, max_length=1024)]
"""One line of text, without space at either end. 1024 characters is the limit that
agentskills.io/specification sets for a description, 64 the one for a name."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Frontmatter(_Frozen):
    """The YAML mapping at the top of SKILL.md."""

    name: Kebab
    description: Line
    version: Version


class Metadata(_Frozen):
    """skill.json."""

    id: Annotated[str, Field(pattern=_ID)]
    """``<category>.<folder's name>``."""
    name: Line
    """The folder's name, or a title that gives it in lower case with hyphens for spaces."""
    category: Kebab
    summary: Line
    tags: Words
    difficulty: Literal["intermediate", "advanced", "expert"]
    hardware: Words
    languages: Words
    version: Version
    entry: Line
    """The path of SKILL.md from the repository's root."""


class Skill(_Frozen):
    """One skill in its current version: both files parsed, and the bytes that a prompt is made of."""

    frontmatter: Frontmatter
    metadata: Metadata
    guidance: bytes = Field(repr=False)
    """SKILL.md as it is stored, frontmatter included."""


def skill_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of skill.json."""
    schema = Metadata.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
