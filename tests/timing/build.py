"""Lay the timing candidates out as an experiment: row_max on a large, a middling and a small matrix."""

from __future__ import annotations

import shutil
from pathlib import Path

from bundler.digest import Digest
from bundler.experiment.load import Loaded, load

FOLDER = Path(__file__).parent
ROW_MAX = FOLDER.parents[1] / "proof" / "portability" / "row-max"
LARGE, MIDDLING, SMALL = "16384x16384/contiguous", "4096x4096/contiguous", "512x1024/contiguous"
"""Input of 1 GiB, 64 MiB and 2 MiB. The L2 of an H200 has 60 MiB."""
SHORT = "6144x8192/contiguous"
"""192 MiB: as short as a call of over twice that L2 is."""
ATTACKS = ("side-stream", "patched-timer", "patched-torch", "skip-calls", "cache-by-address")
EARLY, LATE = "side-stream-early", "side-stream-late"
_TASK = b"The maximum of each row.\n"
_DECLARATION = """\
schema: bundler/experiment/1
id: timing/row-max
title: What timing has to see
skill: timing/none
language: triton
entry: row_max
base_task: {{path: base_task.md, sha256: "{task}"}}
extraction: only-block:python
model: {{name: none, version: none, sampling: none, system_prompt: none, date: none, procedure: by hand}}
harness: {{path: harness.py, sets: 3}}
runtime: {{name: cuda13, torch: 2.13.0, triton: 3.7.1}}
returns:
  - {{name: out, dtype: float32, compare: {{nan: forbidden, reason: a maximum is exact}}}}
cases:
  - id: "{{rows}}x{{cols}}/{{layout}}"
    axes:
      - - {{rows: 16384, cols: 16384}}
        - {{rows: 6144, cols: 8192}}
        - {{rows: 4096, cols: 4096}}
        - {{rows: 512, cols: 1024}}
    params: {{layout: contiguous, sparse: true}}
    grounds: [device]
timing:
  cases: ["{large}", "{short}", "{middling}", "{small}"]
  bytes: 4 * rows * cols + 4 * rows
  cache: {cache}
  arms: [control-right, {attacks}]
limits: {{cell_seconds: 60}}
arms:
"""
_ARM = """\
  - name: {name}
    origin: {origin}
    outputs: [{{path: candidates/{name}.py, sha256: "{sha256}"}}]
"""


def build(root: Path, cache: str = "cold") -> Loaded:
    """The experiment below ``root``, loaded as any other."""
    folder = root / "proof" / "timing" / "row-max"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(
        FOLDER / "candidates", folder / "candidates", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROW_MAX / "harness.py", folder)
    (folder / "base_task.md").write_bytes(_TASK)
    text = _DECLARATION.format(
        task=Digest.of(_TASK), large=LARGE, short=SHORT, middling=MIDDLING, small=SMALL,
        cache=cache, attacks=", ".join((*ATTACKS, EARLY, LATE)),
    )  # fmt: skip
    for name, expect in (("control-right", "pass"), ("control-wrong", "fail")):
        text += _arm(folder, name, "control") + f'    expect: {expect}\n    "on": [device]\n'
    for name in (*ATTACKS, EARLY, LATE):
        text += _arm(folder, name, "reconstructed")
    (folder / "experiment.yaml").write_text(text)
    return load(folder)


def _arm(folder: Path, name: str, origin: str) -> str:
    data = (folder / "candidates" / f"{name}.py").read_bytes()
    return _ARM.format(name=name, origin=origin, sha256=Digest.of(data))
