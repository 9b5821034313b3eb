"""Lay a group's candidates out as an experiment, with one right and one wrong control beside them."""

from __future__ import annotations

import shutil
from pathlib import Path

from bundler.digest import Digest
from bundler.experiment.load import Loaded, load
from tests.attacks.corpus import FOLDER, GroundName, Group, on

_DECLARATION = """\
schema: bundler/experiment/1
id: attacks/{group}
title: Attacks on the replay
skill: attacks/none
language: {language}
entry: affine
base_task: {{path: base_task.md, sha256: "{base_task}"}}
extraction: {extraction}
model: {{name: none, version: none, sampling: none, system_prompt: none, date: none, procedure: by hand}}
harness: {{path: harness.py, sets: 3}}
own_kernel: {own_kernel}
runtime: {{name: cuda13, torch: 2.13.0, triton: 3.7.1}}
returns:
  - {{name: out, dtype: float32, compare: {compare}}}
cases:
  - id: n={{n}}
    axes: [[{cases}]]
limits: {{cell_seconds: {seconds}, host_memory_gib: {memory}}}
arms:
"""
_CUDA = """\
cuda:
  arguments:
    - {name: x, input: 0}
    - {name: y, input: 1}
    - {name: out, output: out}
    - {name: n, value: n}
  grid: ["(n + 63) // 64"]
  block: [64]
"""
_ARM = """\
  - name: {name}
    origin: {origin}
    outputs: [{{path: {path}, sha256: "{sha256}"}}]
"""
_CONTROLS = {
    "control-right": ("pass", "device, interpreter, compile"),
    "control-wrong": ("fail", "device, interpreter"),
    "control-uncompilable": ("fail", "compile"),
}


def build(root: Path, group: Group, ground: GroundName) -> Loaded:
    """The experiment of ``group`` on ``ground`` below ``root``, loaded as any other."""
    folder = root / "proof" / "attacks" / group.name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(
        FOLDER / "candidates", folder / "candidates", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(FOLDER / "harness.py", folder)
    (folder / "base_task.md").write_text("out = 2 * x + y\n")
    text = _DECLARATION.format(
        group=group.name,
        language=group.language,
        extraction="only-block:cuda" if group.language == "cuda" else "only-block:python",
        base_task=Digest.of(b"out = 2 * x + y\n"),
        own_kernel=group.own_kernel,
        compare=group.compare,
        cases=", ".join(f"{{n: {n}}}" for n in group.cases),
        # A CUDA context takes seconds to make, and host memory of its own.
        seconds=max(group.cell_seconds, 8 if ground == "device" else 0),
        memory=6 if ground == "device" else 3,
    )
    if group.language == "cuda":
        text = text.replace("arms:\n", _CUDA + "arms:\n")
    for name, (expect, grounds) in _CONTROLS.items():
        text += _arm(folder, group, name, "control") + f'    expect: {expect}\n    "on": [{grounds}]\n'
    for entry in on(ground):
        if entry.group is group:
            text += _arm(folder, group, entry.name, "reconstructed")
    (folder / "experiment.yaml").write_text(text)
    return load(folder)


def _arm(folder: Path, group: Group, name: str, origin: str) -> str:
    path = f"candidates/{name}.{group.suffix}"
    return _ARM.format(name=name, origin=origin, path=path, sha256=Digest.of((folder / path).read_bytes()))
