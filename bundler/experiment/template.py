"""The files of a new experiment, as string.Template has them; what only Triton's candidates need as well.

They are text in a Python file since a bundle holds bundler's Python files alone. The task is a toy,
doubling a vector, so that all of it can be run before anything is filled in.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Texts:
    """What differs between the languages that a candidate may be written in."""

    suffix: str
    """Of a control's file."""
    fence: str
    """The code block's language, in an output and in the extraction's rule."""
    call: str
    """The lines of experiment.yaml that say how a candidate is launched."""
    grounds: str
    running: str
    """The grounds of ``grounds`` that run a kernel."""
    task: str
    """The toy task, in a sentence."""
    stub: str
    """The code of an output that is still to be replaced."""
    arguments: str
    """What the harness gives: the arguments of a function, or a launch's tensors."""
    right: str
    wrong_tail: str
    uncompilable: str
    how_uncompilable: str
    """The control's summary, folded and indented as in experiment.yaml."""


DECLARATION = """\
schema: bundler/experiment/1
id: $experiment
title: "TODO(author): one line that says what is compared"
skill: $skill
language: $language
entry: $entry
${call}base_task:
  path: base_task.md
  sha256: $base_task
extraction: only-block:$fence

# What you say before anything is run, and where. It is not changed afterwards: where the run turns out
# otherwise, bundler check finds it, and a note goes to deviations.
plan:
  link: "TODO(author): where this plan was said, such as an issue's address"
  date: "TODO(author): when it was said, as 2026-11-30"
  hardware: ["TODO(author): the GPU's name, as nvidia-smi -L prints it"]
  models: ["TODO(author): the model's name"]
  runs_an_arm: $runs
  path: proof/$experiment
  reference: float64 by NumPy, from the inputs as rounded to their dtype
  grounds: [$grounds]

# What is not known is written as unknown, never left out.
model:
  name: "TODO(author): the model's name"
  version: "TODO(author): its version, or unknown"
  sampling: "TODO(author): temperature and the like, or unknown"
  system_prompt: "TODO(author): its text, or where it stands, or unknown"
  date: "TODO(author): the day on which the outputs were made, as 2026-11-30"
  procedure: "TODO(author): how it was asked, in both arms alike, and that nothing was selected or edited"

arms:
  - name: without-skill
    origin: generated
    summary: The base task alone.
    prompt_sha256: $prompt_without
    outputs:
$outputs_without

  - name: with-skill
    origin: generated
    summary: The skill in version $skill_version, one LF, and the base task.
    skill:
      path: $skill_path
      version: $skill_version
      sha256: $skill_sha256
    prompt_sha256: $prompt_with
    outputs:
$outputs_with

  - name: control-right
    origin: control
    summary: Right on every case.
    expect: pass
    "on": [$grounds]
    outputs:
      - path: controls/right.$suffix
        sha256: $right

  - name: control-wrong-tail
    origin: control
    summary: >-
      Rounds the number of tiles down, so what comes after the last whole tile is never computed; right
      elsewhere. It compiles, so only a ground that runs it can tell.
    expect: fail
    "on": [$running]
    outputs:
      - path: controls/wrong-tail.$suffix
        sha256: $wrong_tail

  - name: control-uncompilable
    origin: control
    summary: >-
$how_uncompilable
    expect: fail
    "on": [compile]
    outputs:
      - path: controls/uncompilable.$suffix
        sha256: $uncompilable

harness:
  path: harness.py
  sets: 3
  reference: float64 by NumPy, from the inputs as rounded to their dtype

returns:
  - name: out
    dtype: float32
    contiguous: true
    compare:
      atol: 0
      rtol: 0
      nan: forbidden
      zero: equal
      reason: "TODO(author): why these tolerances, derived from the arithmetic that the task asks for"

own_kernel: required

# TODO(author): sizes on both sides of what a kernel may tile by, and every layout that the task names.
cases:
  - id: "n={n}/{layout}"
    axes:
      - - {n: 1}
        - {n: 64}
        - {n: 100}
        - {n: 4097}
      - - {layout: contiguous}
        - {layout: sliced}
    grounds: [$grounds]

architectures: [75, 80, 86, 89, 90, 100, 120]
limits:
  cell_seconds: 120
  host_memory_gib: 8
runtime: $runtime
evidence: []

notes: "TODO(author): what a reader should know, such as what no case covers"

# What an experiment may say beside this; docs/experiments.md and docs/timing.md show each. An answer that is
# judged as its caller uses it: leave compare out above, and let the harness define derive.
#
# derived:
#   - name: norm
#     compare: {atol: 0, rtol: 1.0e-5, nan: forbidden, reason: why}
# timing: {cases: [n=4097/contiguous], bytes: 8 * n}
"""

BASE_TASK = """\
TODO(author): the task, as the model is given it in every arm. Its sha256, and those of the prompts, stand in
experiment.yaml; bundler declare writes them there.

$task
"""

OUTPUT = """\
TODO(author): replace this file by an unedited answer of the model in the arm $arm. Its sha256 stands in
experiment.yaml; bundler declare writes it there.

```$fence
$stub
```
"""

HARNESS = '''\
"""The cases of $entry and their float64 reference.

TODO(author): say what is right where the task leaves room, and why.
"""

import numpy as np


def inputs(case, which, make):
    """TODO(author): $arguments of $entry for set number `which`, as a list."""
    return [make.tensor(make.normal((case["n"],)), layout=case["layout"], gap=float("nan"))]


def reference(case, which, arguments):
    """TODO(author): the right answer, from the arguments as they were rounded to their dtype."""
    (x,) = arguments
    return 2.0 * x.values.astype(np.float64)
'''

_KERNEL = """
import torch
import triton
import triton.language as tl

_BLOCK = 64


@triton.jit
def _kernel(x_ptr, out_ptr, n, stride, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
BODY    x = tl.load(x_ptr + at * stride, mask=at < n, other=0.0)
    tl.store(out_ptr + at, 2.0 * x, mask=at < n)


def $entry(x):
    n = x.numel()
    out = torch.zeros((n,), dtype=x.dtype, device=x.device)
GRID
    if blocks:
        _kernel[(blocks,)](x, out, n, x.stride(0), BLOCK=_BLOCK)
    return out
"""
_ALL_BLOCKS = "    blocks = triton.cdiv(n, _BLOCK)"
_WHOLE_BLOCKS = "    blocks = n // _BLOCK  # the fault: triton.cdiv would compute the tail as well"
_BREAK = """\
    for turn in range(0, 2):
        if turn == 1:
            break
"""

_RIGHT = (
    "# TODO(author): a kernel for your task that is right on every case.\n"
    "#\n"
    "# A control, written with the harness: right on every case.\n"
) + _KERNEL.replace("BODY", "").replace("GRID", _ALL_BLOCKS)

_WRONG_TAIL = (
    "# TODO(author): a kernel for your task that is wrong in a way that a weak harness would miss.\n"
    "#\n"
    "# A control, written with the harness: wrong at a tail and nowhere else. The number of blocks is\n"
    "# rounded down, so what comes after the last whole block stays zero.\n"
) + _KERNEL.replace("BODY", "").replace("GRID", _WHOLE_BLOCKS)

_UNCOMPILABLE = (
    "# TODO(author): a kernel for your task that no architecture compiles.\n"
    "#\n"
    "# A control, written with the harness. Triton compiles no `break`, whatever the architecture and the\n"
    "# shape; as plain Python the loop is right, which is how the interpreter runs it.\n"
) + _KERNEL.replace("BODY", _BREAK).replace("GRID", _ALL_BLOCKS)

TRITON = Texts(
    suffix="py",
    fence="python",
    call="",
    grounds="device, interpreter, compile",
    running="device, interpreter",
    task="""\
Write a Triton kernel and a function `$entry(x)` that returns 2 * x for a float32 vector x of any stride, as a
contiguous tensor. Answer with one Python code block.""",
    stub="def $entry(x):\n    raise NotImplementedError",
    arguments="the arguments",
    right=_RIGHT,
    wrong_tail=_WRONG_TAIL,
    uncompilable=_UNCOMPILABLE,
    how_uncompilable="""\
      Leaves a loop by break, which Triton compiles for no architecture; as plain Python, in the interpreter,
      it is right. It shows that the compile grounds can tell.""",
)

ANALYSIS = """\
# $experiment: what the skill $skill does to it

## The question

TODO(author): what is asked, and what was expected before the outputs were made.

## What was done

TODO(author): the arms (without the skill; with version $skill_version), how often each was asked, and what is
not known of the model.

## What was found

TODO(author): the root cause of what did not pass.

## What it does not show

TODO(author): what a reader could wrongly take from it.
"""
