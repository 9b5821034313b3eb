"""The digests of an experiment's files, written into its declaration again while it is being made."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from bundler.digest import Digest
from bundler.errors import UsageError
from bundler.experiment.load import DECLARATION, read_file, root_of
from bundler.experiment.parse import parse
from bundler.files import write_whole
from bundler.model.experiment import Arm, Experiment, Output

_DIGEST = r"""(["']?)sha256:[0-9a-f]{64}\2"""


class Redeclared(NamedTuple):
    """One digest that was another before."""

    of: str
    """The file's path, or whose prompt it is."""
    now: Digest


def declare(folder: Path) -> tuple[Redeclared, ...]:
    """Write the digests of base task, outputs, controls and prompts as the files are now; what changed.

    Raises UsageError once evidence is recorded: it is of the files as they were, and an output is never
    edited. Raises BadExperiment for a declaration or a file that cannot be read.
    """
    text = read_file(folder, DECLARATION).decode()
    experiment = parse(text.encode(), str(folder / DECLARATION))
    root = root_of(folder, experiment)
    changed: list[Redeclared] = []
    for output in _files(experiment):
        now = Digest.of(read_file(folder, output.path))
        if now != output.sha256:
            text = _with_file(text, output, now)
            changed.append(Redeclared(output.path, now))
    base_task = read_file(folder, experiment.base_task.path)
    for arm in experiment.generated():
        now = _prompt(root, arm, base_task)
        if now != arm.prompt_sha256:
            text = _with_prompt(text, arm, now)
            changed.append(Redeclared(f"the prompt of {arm.name}", now))
    if changed:
        _nothing_recorded(folder, experiment, changed[0])
        parse(text.encode(), str(folder / DECLARATION))
        write_whole(folder / DECLARATION, text.encode())
    return tuple(changed)


def _nothing_recorded(folder: Path, experiment: Experiment, first: Redeclared) -> None:
    if experiment.evidence or any((folder / "evidence").glob("*.json*")):
        raise UsageError(
            f"{str(folder)!r} has recorded evidence, of its files as they were declared, and {first.of!r} "
            "is another",
            hint="restore the file; or, where it was meant to change, remove the evidence first",
        )


def _files(experiment: Experiment) -> tuple[Output, ...]:
    """Each declared file once: a source kernel lies in the base task."""
    every = (experiment.base_task, *(output for arm in experiment.arms for output in arm.outputs))
    return tuple({output.path: output for output in every}.values())


def _prompt(root: Path, arm: Arm, base_task: bytes) -> Digest:
    return Digest.of((read_file(root, arm.skill.path) + b"\n" if arm.skill else b"") + base_task)


def _with_file(text: str, output: Output, now: Digest) -> str:
    path = re.escape(output.path)
    pattern = rf"""(path:[ ]*["']?{path}["']?[ ]*(?:\n[ ]*|,[ ]*)sha256:[ ]*){_DIGEST}"""
    return _replaced(text, pattern, now, output.path)


def _with_prompt(text: str, arm: Arm, now: Digest) -> str:
    name = re.escape(arm.name)
    # Within the arm's own entry: from its name to the next arm's.
    pattern = (
        rf"""(name:[ ]*["']?{name}["']?[ ]*\n(?:(?![ ]*-[ ]+name:).*\n)*?[ ]*prompt_sha256:[ ]*){_DIGEST}"""
    )
    return _replaced(text, pattern, now, f"the prompt of {arm.name}")


def _replaced(text: str, pattern: str, now: Digest, of: str) -> str:
    replaced, times = re.subn(pattern, lambda found: found[1] + now, text)
    if not times:
        raise UsageError(
            f"{DECLARATION} does not write {of!r} as bundler new does, so its digest was not found",
            hint=f"write it yourself: {now}",
        )
    return replaced
