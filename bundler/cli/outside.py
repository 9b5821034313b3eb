"""The targets outside a container: folders, archives, images that Docker has.

What reads them is imported when it is needed: every command has these targets, few use them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from bundler.cli.targets import Targets, default_target

if TYPE_CHECKING:
    from bundler.engine.replayed import Options, Plan, Replayed
    from bundler.experiment.load import Loaded


def loaded_target(text: str | None) -> AbstractContextManager[Loaded]:
    """The experiment that a target holds; it is only read."""
    from bundler.engine import reading, target  # noqa: PLC0415

    return reading.experiment_of(target.parse(text or default_target()))


@contextlib.contextmanager
def _based(text: str) -> Iterator[tuple[Loaded, str]]:
    from bundler.engine import reading, target  # noqa: PLC0415

    with reading.labelled(target.parse(text)) as (loaded, labels):
        yield loaded, "" if labels is None else _base(labels)


def _base(labels: Mapping[str, str]) -> str:
    from bundler.oci.image import BASE_DIGEST_LABEL  # noqa: PLC0415
    from bundler.runtime.manifest import NAME_LABEL  # noqa: PLC0415

    if not (digest := labels.get(BASE_DIGEST_LABEL, "")):
        return "none: bundler rebase puts it on one"
    return f"{labels.get(NAME_LABEL, 'a base without a name')}, {digest}"


def _verified(text: str, plan: Plan, options: Options) -> AbstractContextManager[Replayed]:
    from bundler.engine import target, verify  # noqa: PLC0415

    return verify.verified(target.parse(text), plan, options)


OUTSIDE = Targets(loaded_target, _based, _verified)
