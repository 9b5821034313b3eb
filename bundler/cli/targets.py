"""What a command can be pointed at: whoever builds the application says it, since a container has less."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from bundler.errors import UsageError

if TYPE_CHECKING:
    from bundler.engine.replayed import Options, Plan, Replayed
    from bundler.experiment.load import Loaded

TargetArgument = Annotated[
    str | None,
    typer.Argument(help="An image, a tar, a folder. Inside a bundle's container: the bundle itself."),
]


class Targets(NamedTuple):
    """How the experiment in a target is read, and how it is replayed; what is given is valid inside the
    block. Both take the target as the user named it."""

    loaded: Callable[[str], AbstractContextManager[Loaded]]
    based: Callable[[str], AbstractContextManager[tuple[Loaded, str]]]
    """With the base that it stands on, in words; empty where it is no bundle."""
    verified: Callable[[str, Plan, Options], AbstractContextManager[Replayed]]


def targets_of(context: typer.Context) -> Targets:
    """Those of the application that a command was started by."""
    targets: Targets = context.obj
    return targets


def default_target() -> str:
    """The bundle in whose container this runs; UsageError elsewhere."""
    folder = os.environ.get("BUNDLER_BUNDLE", "")
    if not folder:
        raise UsageError("no target was named", hint="name an image, a tar, or proof/<category>/<kernel>")
    return folder
