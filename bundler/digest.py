"""sha256 as a type: parsed once at the edge, never a bare string inside."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

_PATTERN = re.compile(r"sha256:([0-9a-f]{64})")


class Digest(str):
    """``sha256:`` and 64 lowercase hexadecimal digits, as OCI writes it."""

    __slots__ = ()

    def __new__(cls, text: str) -> Digest:
        """Raise ValueError unless ``text`` is a sha256 digest in OCI's form."""
        if not _PATTERN.fullmatch(text):
            raise ValueError(f"{text!r} is not sha256: followed by 64 lowercase hexadecimal digits")
        return super().__new__(cls, text)

    @classmethod
    def of(cls, data: bytes | memoryview) -> Digest:
        """The digest of ``data``."""
        return cls("sha256:" + hashlib.sha256(data).hexdigest())

    @property
    def hex(self) -> str:
        """The 64 digits alone: a blob's file name in an OCI layout."""
        return self.removeprefix("sha256:")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(cls, core_schema.str_schema())

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"type": "string", "pattern": f"^{_PATTERN.pattern}$"}
