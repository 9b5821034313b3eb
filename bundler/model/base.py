"""What every type of the model shares."""

from __future__ import annotations

import re
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    StringConstraints,
    model_validator,
)
from pydantic_core import CoreSchema

from bundler.names import path_problem

_INTEGERS = 1 << 64
"""No integer of a file is as large: one of a thousand digits is no number that arithmetic is safe with."""


class Frozen(BaseModel):
    """Immutable, and strict about what it is built from: no unknown field, no NaN, no integer of over
    64 bits."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        ser_json_inf_nan="null",
    )

    @model_validator(mode="after")
    def _no_endless_integer(self) -> Self:
        for name, value in self.__dict__.items():
            if type(value) is int and not -_INTEGERS < value < _INTEGERS:
                raise ValueError(f"{name} is an integer of over 64 bits")
        return self


def _fail_fast(schema: Any) -> None:
    """Set ``fail_fast``, which pydantic itself offers for lists alone, on every container in ``schema``."""
    if isinstance(schema, dict):
        if schema.get("type") in ("dict", "list", "tuple", "set", "frozenset"):
            schema["fail_fast"] = True
        inner = list(schema.values())
    else:
        inner = list(schema) if isinstance(schema, list | tuple) else []
    for each in inner:
        if isinstance(each, dict | list | tuple):
            _fail_fast(each)


_MOST_KEYS = 1_000
"""No type here has a tenth of them."""


class Foreign(Frozen):
    """What a stranger's file is read into: it stops at the first wrong item of a list or a mapping.

    pydantic keeps a KiB of each problem, so a small file of a million wrong items would take a GiB.
    """

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        _fail_fast(schema)
        return schema

    @model_validator(mode="before")
    @classmethod
    def _few_keys(cls, value: Any) -> Any:
        """An unknown key is a problem too."""
        if isinstance(value, dict) and len(value) > _MOST_KEYS:
            raise ValueError(f"it has {len(value)} keys, over {_MOST_KEYS}")
        return value


def _inside(path: str) -> str:
    parts = path.split("/")
    if path.startswith("/") or "\\" in path or any(part in ("", ".", "..") for part in parts):
        raise ValueError(f"{path!r} is no relative path of plain names")
    if problem := path_problem(path):
        raise ValueError(f"{path!r}: {problem.what}")
    return path


RelativePath = Annotated[str, StringConstraints(min_length=1, max_length=400), AfterValidator(_inside)]
"""A POSIX path below the folder that it is relative to, of names that a layer may hold."""

NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")
Name = Annotated[str, StringConstraints(pattern=rf"^{NAME.pattern}$", max_length=100)]
"""A folder's or an arm's name: lowercase letters, digits, dots and hyphens."""

Id = Annotated[str, StringConstraints(pattern=rf"^{NAME.pattern}/{NAME.pattern}$", max_length=200)]
"""Two names and a slash: an experiment, a skill, a candidate (arm and number)."""

Text = Annotated[str, Field(max_length=20_000)]
"""Prose of an author. Shown escaped."""
