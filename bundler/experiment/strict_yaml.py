"""YAML as an author writes it, without what makes it surprising: no aliases, no key twice, no tags.

Scalars mean what they mean in JSON: ``on`` and ``yes`` are strings, as are dates, ``010`` and ``1:30``.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import yaml

from bundler.errors import BadExperiment

MAX_BYTES = 1 << 18
"""A declaration has a few KiB; the parser takes seconds for what is here the most."""
_HINT = "write plain YAML: mappings, lists, strings, numbers; docs/experiments.md shows one"
_SCALARS = {
    "null": (r"~|null|", ["~", "n", ""]),
    "bool": (r"true|false", ["t", "f"]),
    "int": (r"-?(?:0|[1-9][0-9]*)", [*"-0123456789"]),
    "float": (r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", [*"-0123456789"]),
}


class _Loader(yaml.SafeLoader):
    """SafeLoader, stricter."""

    yaml_implicit_resolvers: dict[str, Any] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if getattr(event, "anchor", None) is not None:
            raise _refused("anchors and aliases are not taken", event.start_mark)
        if getattr(event, "tag", None) is not None:
            raise _refused(f"tags are not taken: {event.tag!r}", event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if str(key.value) in seen:
                raise _refused(f"key {key.value!r} is given twice", key.start_mark)
            seen.add(str(key.value))
        return super().construct_mapping(node, deep)


for _name, (_pattern, _first) in _SCALARS.items():
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(rf"(?:{_pattern})\Z"), _first)


def _refused(problem: str, mark: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=mark)


def load(data: bytes, name: str) -> Any:
    """The value in ``data``; BadExperiment says the line when there is none."""
    if len(data) > MAX_BYTES:
        raise BadExperiment(f"{name} has {len(data)} bytes, over {MAX_BYTES}", hint=_HINT)
    try:
        return yaml.load(data.decode(), Loader=_Loader)  # noqa: S506 (a subclass of SafeLoader)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadExperiment(f"{name} line {line} is not UTF-8", hint=_HINT) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error).replace("\n", "")
        raise BadExperiment(f"{name}{where} is not valid YAML: {problem}", hint=_HINT) from None
    except RecursionError:
        raise BadExperiment(f"{name} is not valid YAML: it is nested too deep", hint=_HINT) from None
    except ValueError as error:
        raise BadExperiment(f"{name} is not valid YAML: {str(error)[:200]}", hint=_HINT) from None
