"""What a candidate returns, and the rules that it is held against."""

from __future__ import annotations

import enum
from typing import Literal

from pydantic import Field

from bundler.model.base import Frozen, Name, Text


class NanRule(enum.StrEnum):
    EQUAL = "equal"
    """NaN is right exactly where the reference is NaN."""
    FORBIDDEN = "forbidden"
    """NaN is never right."""


class ZeroRule(enum.StrEnum):
    EQUAL = "equal"
    """+0 and -0 are the same answer."""
    SIGNED = "signed"
    """The sign of a zero has to agree."""


class Comparison(Frozen):
    """When an output's element is right: ``|out - reference| <= atol * scale + rtol * |reference|``.

    ``scale`` is 1 unless the harness gives one for each element (``Scaled``), as a sum's bound by the sum
    of the magnitudes needs it. Infinities are right exactly where the reference, rounded to the output's
    dtype, is the same infinity. With both tolerances 0 the output has to equal the reference rounded to its
    dtype.
    """

    atol: float = Field(0, ge=0)
    rtol: float = Field(0, ge=0)
    nan: NanRule
    zero: ZeroRule = ZeroRule.EQUAL
    reason: Text
    """Why these tolerances."""


class Returned(Frozen):
    """One tensor that the candidate returns; its shape is the reference's."""

    name: Name
    dtype: Literal[
        "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2",
        "int64", "int32", "int16", "int8", "uint8", "bool",
    ]  # fmt: skip
    contiguous: bool = True
    """Whether a result that is not contiguous is wrong."""
    compare: Comparison | None = None
    """None: only its form is judged, and its values through what the harness derives from them."""


class Derived(Frozen):
    """What the harness computes from a call's returned tensors (``derive``): the answer as it is used."""

    name: Name
    compare: Comparison
