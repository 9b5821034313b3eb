"""YAML as an author writes it, without what makes it surprising: no aliases, no key twice, no tags."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml

from bundler.errors import BadExperiment

MAX_BYTES = 1 << 20
_HINT = "write plain YAML: mappings, lists, strings, numbers; docs/experiments.md shows one"


class _Loader(yaml.SafeLoader):
    """SafeLoader, stricter."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if getattr(event, "anchor", None) is not None:
            raise yaml.MarkedYAMLError(
                problem="anchors and aliases are not taken", problem_mark=event.start_mark
            )
        return super().compose_node(parent, index)  # type: ignore[no-untyped-call]

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if str(key.value) in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"key {key.value!r} is given twice", problem_mark=key.start_mark
                )
            seen.add(str(key.value))
        return super().construct_mapping(node, deep)


# 2026-11-30 stays a string, as JSON has it.
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def load(data: bytes, name: str) -> Any:
    """The value in ``data``; BadExperiment says the line when there is none."""
    if len(data) > MAX_BYTES:
        raise BadExperiment(f"{name} has {len(data)} bytes, over {MAX_BYTES}", hint=_HINT)
    try:
        return yaml.load(data, Loader=_Loader)  # noqa: S506 (a subclass of SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error)
        raise BadExperiment(f"{name}{where} is not valid YAML: {problem}", hint=_HINT) from None
    except (RecursionError, ValueError) as error:
        raise BadExperiment(f"{name} is not valid YAML: {str(error)[:200]}", hint=_HINT) from None
