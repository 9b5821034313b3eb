"""Which versions of a skill there are, and whether an experiment has seen the newest.

Only the version is read here; what a skill has to keep beside it, ``bundler skills check`` says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bundler.errors import BadExperiment
from bundler.experiment import strict_yaml
from bundler.experiment.load import read_file
from bundler.model.experiment import Experiment

_SEMVER = re.compile(r"([0-9]+)\.([0-9]+)\.([0-9]+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")
_FRONTMATTER = re.compile(r"---\n(.*?)\n---\n", re.DOTALL)


def stated_version(guidance: bytes, name: str) -> str:
    """The version in a skill's frontmatter; BadExperiment where it states none."""
    match = _FRONTMATTER.match(guidance.decode("utf-8", "replace"))
    mapping = strict_yaml.load(match[1].encode(), name) if match else None
    version = mapping.get("version") if isinstance(mapping, dict) else None
    if not isinstance(version, str) or not _SEMVER.fullmatch(version):
        raise BadExperiment(
            f"{name} states no version in its frontmatter: {version!r}",
            hint="begin it with ---, name, description, version (as 0.1.0), ---; see bundler skills check",
        )
    return version


def versions(root: Path, skill: str) -> Mapping[str, str]:
    """The path, from the root, of each version of ``skills/<skill>``; what states no version is left out."""
    found: dict[str, str] = {}
    for path in sorted((root / "skills" / skill).glob("SKILL*.md")):
        name = path.relative_to(root).as_posix()
        try:
            found[stated_version(read_file(root, name), name)] = name
        except BadExperiment:
            continue
    return found


def newest(found: Mapping[str, str]) -> str:
    """The newest of some versions, as semver.org orders them; empty where there is none."""
    return max(found, key=_order, default="")


@dataclass(frozen=True)
class Current:
    """A skill as it stands."""

    version: str
    path: str
    """From the root."""
    guidance: bytes


def current(root: Path, skill: str) -> Current | None:
    """The newest version in the folder of ``skill``; None where no file there states one.

    That is what "the current version" means wherever it is said: to ``new``, to staleness and to the index.
    """
    found = versions(root, skill)
    version = newest(found)
    return Current(version, found[version], read_file(root, found[version])) if version else None


def stale_since(experiment: Experiment, root: Path) -> str:
    """The skill's version that the experiment was not run with, though it is newer than all that were.

    Empty where there is none, where no arm had the skill, and where the experiment itself led to it.
    """
    now = current(root, experiment.skill)
    seen = [
        arm.skill.version
        for arm in experiment.generated()
        if arm.skill is not None and _SEMVER.fullmatch(arm.skill.version)
    ]
    led_to = {step.skill_version for step in experiment.led_to}
    if now is None or not seen or now.version in led_to:
        return ""
    return now.version if _order(now.version) > max(map(_order, seen)) else ""


def _order(version: str) -> tuple[tuple[int, ...], bool, tuple[tuple[bool, int, str], ...]]:
    """A key that sorts as section 11 of semver.org does: a pre-release is before its release."""
    match = _SEMVER.fullmatch(version)
    assert match is not None  # the callers have only such
    parts = match[4].split(".") if match[4] else []
    pre = tuple((not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts)
    return (int(match[1]), int(match[2]), int(match[3])), not pre, pre
