"""What differs between two bundles, in words.

Nothing is left out: what is not told apart field by field is named as a file, so that no change of a byte
that is frozen gives an empty list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bundler.bundle.change import Change, Part, unified
from bundler.bundle.files_changed import file_changes
from bundler.bundle.recorded import recorded_changes
from bundler.digest import Digest
from bundler.experiment.load import Loaded
from bundler.model.experiment import Arm, Candidate, Experiment


class Packed(NamedTuple):
    """What an image has beside the experiment; a folder has none of it."""

    image: Digest
    base_digest: str
    """Empty for a bare bundle."""
    replayer_version: str
    replayer_layer: Digest


class Side(NamedTuple):
    """One of the two."""

    loaded: Loaded
    packed: Packed | None = None


def diff(before: Side, after: Side) -> tuple[Change, ...]:
    """Every difference, by its part. Base and replayer are compared only where both sides have them."""
    one, two = before.loaded, after.loaded
    found = [
        *_texts(one, two),
        *_arms(one, two),
        *_cases(one.experiment, two.experiment),
        *_returns(one.experiment, two.experiment),
        *_fields(one.experiment, two.experiment),
        *(Change(part=Part.EVIDENCE, what=what) for what in recorded_changes(one.recorded, two.recorded)),
    ]
    declared = any(change.part is not Part.EVIDENCE for change in found) or (
        one.experiment.evidence != two.experiment.evidence
    )
    found += file_changes(one, two, told=declared)
    if before.packed and after.packed:
        found += _packed(before.packed, after.packed)
        if not found and before.packed.image != after.packed.image:
            what = f"the image's configuration or layout: {before.packed.image} → {after.packed.image}"
            found.append(Change(part=Part.RUNTIME, what=what))
    order = list(Part)
    return tuple(sorted(found, key=lambda change: order.index(change.part)))


# --- texts -----------------------------------------------------------------------------------------------


def _texts(one: Loaded, two: Loaded) -> Iterator[Change]:
    path = two.experiment.base_task.path
    if one.base_task != two.base_task:
        text = unified(one.base_task, two.base_task, path)
        yield Change(part=Part.TASK, what="the base task that all arms share changed", text=text)
    if one.harness != two.harness:
        text = unified(one.harness, two.harness, two.experiment.harness.path)
        yield Change(part=Part.HARNESS, what=f"the harness changed{_size(text)}", text=text)


def _size(text: str) -> str:
    lines = text.splitlines()[2:]
    added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    return f": {added} line{'' if added == 1 else 's'} added, {removed} removed"


# --- arms ------------------------------------------------------------------------------------------------


def _arms(one: Loaded, two: Loaded) -> Iterator[Change]:
    before, after = ({arm.name: arm for arm in side.experiment.arms} for side in (one, two))
    for name in before.keys() - after.keys():
        yield Change(part=Part.ARM, what=f"{name} removed ({before[name].origin})")
    for name, arm in after.items():
        if name not in before:
            yield Change(part=Part.ARM, what=f"{name} added ({arm.origin})")
        else:
            yield from _arm(before[name], arm)
    yield from _outputs(one, two)


def _arm(before: Arm, after: Arm) -> Iterator[Change]:
    old, new = before.skill, after.skill
    if old != new:
        if old and new and old.version == new.version:
            what = f"of version {new.version} has other bytes or lies elsewhere ({new.path})"
        else:
            what = f"{old.version if old else 'none'} → {new.version if new else 'none'}"
        yield Change(part=Part.SKILL, what=f"{after.name}: the skill {what}")
    dumped = [arm.model_dump(mode="json", exclude={"outputs", "skill"}) for arm in (before, after)]
    for field, was, now in _leaves(dumped[0], dumped[1]):
        yield Change(part=Part.ARM, what=f"{after.name}: {field}: {was} → {now}")


def _outputs(one: Loaded, two: Loaded) -> Iterator[Change]:
    before, after = ({c.id: c for c in side.experiment.candidates()} for side in (one, two))
    for name in [*before, *(name for name in after if name not in before)]:
        if name not in after:
            yield Change(part=Part.OUTPUT, what=f"{name} removed ({before[name].output.path})")
        elif name not in before:
            yield Change(part=Part.OUTPUT, what=f"{name} added ({after[name].output.path})")
        else:
            yield from _output(one, two, before[name], after[name])


def _output(one: Loaded, two: Loaded, old: Candidate, new: Candidate) -> Iterator[Change]:
    name = new.id
    if one.outputs[name] != two.outputs[name]:
        same = one.sources[name] == two.sources[name]
        kernel = "the kernel in it is the same" if same else "with another kernel"
        text = unified(one.outputs[name], two.outputs[name], new.output.path)
        yield Change(part=Part.OUTPUT, what=f"{name} changed, {kernel}{_size(text)}", text=text)
    elif one.sources[name] != two.sources[name]:
        yield Change(part=Part.OUTPUT, what=f"{name}: another kernel is extracted from the same output")
    if old.output.path != new.output.path:
        yield Change(part=Part.OUTPUT, what=f"{name} moved: {old.output.path} → {new.output.path}")


# --- cases and rules -------------------------------------------------------------------------------------


def _cases(one: Experiment, two: Experiment) -> Iterator[Change]:
    before, after = ({case.id: case for case in side.expand()} for side in (one, two))
    for name in [*before, *(name for name in after if name not in before)]:
        if name not in after:
            yield Change(part=Part.CASE, what=f"{name} removed")
        elif name not in before:
            yield Change(part=Part.CASE, what=f"{name} added")
        else:
            old, new = (case.model_dump(mode="json") for case in (before[name], after[name]))
            for field, was, now in _leaves(old, new):
                yield Change(part=Part.CASE, what=f"{name}: {field}: {was} → {now}")


def _returns(one: Experiment, two: Experiment) -> Iterator[Change]:
    before, after = (
        {returned.name: returned.model_dump(mode="json") for returned in side.returns} for side in (one, two)
    )
    for field, was, now in _leaves(before, after):
        yield Change(part=Part.COMPARISON, what=f"{field}: {was} → {now}")
    if before == after and list(before) != list(after):
        yield Change(part=Part.COMPARISON, what="the returned tensors are in another order")


_TOLD_ELSEWHERE: Any = {
    "arms": True,
    "cases": True,
    "returns": True,
    "evidence": True,
    "base_task": {"sha256"},
}


def _fields(one: Experiment, two: Experiment) -> Iterator[Change]:
    """All that the declaration says beside what is told with more words."""
    before, after = (side.model_dump(mode="json", exclude=_TOLD_ELSEWHERE) for side in (one, two))
    for field, was, now in _leaves(before, after):
        part = Part.RUNTIME if field.startswith("runtime.") else Part.DECLARATION
        yield Change(part=part, what=f"{field}: {was} → {now}")


def _leaves(before: Any, after: Any, field: str = "") -> Iterator[tuple[str, str, str]]:
    """The deepest named fields whose values differ."""
    if before == after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys((*before, *after)):
            yield from _leaves(
                before.get(key, _NONE), after.get(key, _NONE), f"{field}.{key}" if field else str(key)
            )
    else:
        yield field, _value(before), _value(after)


_NONE = object()
"""Stands for a field that one side does not have."""


def _value(value: Any) -> str:
    if value is _NONE:
        return "not there"
    return "none" if value is None else str(value)


# --- files, runtime, replayer ----------------------------------------------------------------------------


def _packed(before: Packed, after: Packed) -> Iterator[Change]:
    if before.base_digest != after.base_digest:
        was, now = (side.base_digest or "none (bare)" for side in (before, after))
        yield Change(part=Part.RUNTIME, what=f"the base image: {was} → {now}")
    if before.replayer_version != after.replayer_version:
        versions = f"{before.replayer_version} → {after.replayer_version}"
        yield Change(part=Part.REPLAYER, what=f"the version: {versions}")
    if before.replayer_layer != after.replayer_layer:
        layers = f"{before.replayer_layer} → {after.replayer_layer}"
        yield Change(part=Part.REPLAYER, what=f"the replayer's files: layer {layers}")
