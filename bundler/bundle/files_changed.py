"""Which frozen files differ between two bundles, beside those whose changes are told by what they mean."""

from __future__ import annotations

from collections.abc import Iterator

from bundler.bundle.change import Change, Part, unified
from bundler.bundle.content import experiment_entries
from bundler.bundle.listing import CONTENTS
from bundler.experiment.load import DECLARATION, Loaded
from bundler.oci.tree import Entry


def file_changes(one: Loaded, two: Loaded, *, told: bool) -> Iterator[Change]:
    """Frozen files that differ and that nothing else speaks of.

    ``told``: whether something else says why the declaration differs.
    """
    before, after = _frozen(one), _frozen(two)
    old, new = _spoken(one), _spoken(two)
    again = _evidence_that_differs(one, two)
    for path in sorted(before.keys() | after.keys()):
        was, now = before.get(path), after.get(path)
        moved = (was is None or now is None) and path in old | new
        if was == now or moved or (path in old & new and was and now and was.executable == now.executable):
            continue
        if path in again:
            continue
        if path == DECLARATION and was and now and was.data != now.data and told:
            continue
        part = Part.SKILL if path.startswith("skills/") else Part.FILE
        yield Change(part=part, what=_file(path, was, now), text=_text(path, was, now))


def _evidence_that_differs(one: Loaded, two: Loaded) -> set[str]:
    before, after = dict(one.recorded), dict(two.recorded)
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def _frozen(side: Loaded) -> dict[str, Entry]:
    """By path: the experiment's from its own folder, so that a renamed one is compared all the same."""
    home = f"proof/{side.experiment.id}/"
    entries = (entry for entry in experiment_entries(side) if entry.path != CONTENTS)
    return {entry.path.removeprefix(home): entry for entry in entries}


def _spoken(side: Loaded) -> set[str]:
    """The files whose changes are told by what they mean."""
    experiment = side.experiment
    outputs = {output.path for arm in experiment.arms for output in arm.outputs}
    return {experiment.base_task.path, experiment.harness.path} | outputs


def _file(path: str, was: Entry | None, now: Entry | None) -> str:
    if was is None or now is None:
        return f"{path} {'added' if was is None else 'removed'}"
    if was.executable != now.executable:
        return f"{path} is {'now' if now.executable else 'no longer'} executable"
    return f"{path} changed" + (": only order, layout or comments" if path == DECLARATION else "")


def _text(path: str, was: Entry | None, now: Entry | None) -> str:
    """Empty for what is no text, as packed evidence."""
    try:
        for entry in (was, now):
            _ = entry and entry.data.decode()
    except UnicodeDecodeError:
        return ""
    return unified(was.data if was else b"", now.data if now else b"", path)
