"""A worker's answer as a type: strictly, and at a bounded cost whatever it holds.

What comes over the wire has a bounded number of values (``wire.Limits``) and of keys an object. Every list
of a type that is read here has a longest length and ends at its first fault, so that an answer has few
faults, whatever was sent: pydantic keeps a KiB of memory for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from bundler.model.base import Frozen

_MOST_FAULTS = 10_000
_Answer = TypeVar("_Answer", bound=Frozen)


class OutOfForm(ValueError):
    """An answer is not what was asked for; ``str`` is the first fault."""


def read(kind: type[_Answer], header: Mapping[str, Any]) -> _Answer:
    """``header`` as a ``kind``. Raises OutOfForm."""
    try:
        return kind.model_validate(header)
    except ValidationError as error:
        raise OutOfForm(first_fault(error)) from None


def first_fault(error: ValidationError) -> str:
    """Where it is and what it is, in a line; the others are not even listed where there are many."""
    if error.error_count() > _MOST_FAULTS:
        return f"{error.error_count()} faults"
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part)[:40] for part in fault["loc"][:6])
    return f"{place}: {fault['msg'][:200]}" if place else fault["msg"][:200]
