"""An experiment as small as one can be, on disk, and evidence of it."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bundler.digest import Digest
from bundler.experiment.load import Loaded, load
from bundler.model.arm import Expect
from bundler.model.evidence import SCHEMA, Evidence, GroundReport, Kernel, Settings, Subject, evidence_json
from bundler.model.host import Host, Read
from bundler.model.outcome import Failed, Outcome, Passed, Phase, Wrong

ID, SKILL = "toy/double", "toy/doubling"
CASES = ("n=1", "n=100")
KERNEL = """\
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, FACTOR * tl.load(x_ptr + at, mask=at < n, other=0.0), mask=at < n)


def double(x):
    out = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out
"""
RIGHT = KERNEL.replace("FACTOR", "2.0").encode()
WRONG = KERNEL.replace("FACTOR", "3.0").encode()
HARNESS = b"""\
def inputs(case, which, make):
    return [make.tensor(make.normal((case["n"],)))]


def reference(case, which, arguments):
    return 2.0 * arguments[0].values.astype("f8")
"""
TASK, GUIDANCE = b"Double x.\n", b"# Doubling\n"
PASSED = Passed()
WRONG_VALUES = Wrong(what="values", call=0, detail="2 of 100 elements", wrong_elements=2, of_elements=100)
UNCOMPILABLE = Failed(
    phase=Phase.COMPILE, error="Traceback\nAttributeError: 'int' object has no attribute 'to'"
)
Outcomes = Mapping[str, Mapping[str, Outcome] | Outcome]


def answer(source: bytes = RIGHT) -> bytes:
    """What a model would say."""
    return b"Here it is.\n\n```python\n" + source + b"```\n"


class Small:
    """The experiment below ``root``. Change ``declared`` or the files, then ``load``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "proof" / ID
        self.put(f"skills/{SKILL}/SKILL.md", GUIDANCE)
        self.declared: dict[str, Any] = {
            "schema": "bundler/experiment/1",
            "id": ID,
            "title": "Double a vector",
            "skill": SKILL,
            "language": "triton",
            "entry": "double",
            "base_task": self.file("base_task.md", TASK),
            "extraction": "only-block:python",
            "model": dict.fromkeys(
                ("name", "version", "sampling", "system_prompt", "date", "procedure"), "unknown"
            ),
            "arms": [
                {
                    "name": "without-skill",
                    "origin": "generated",
                    "prompt_sha256": Digest.of(TASK),
                    "outputs": [self.file("outputs/without-skill/01.md", answer())],
                },
                {
                    "name": "with-skill",
                    "origin": "generated",
                    "prompt_sha256": Digest.of(GUIDANCE + b"\n" + TASK),
                    "skill": {
                        "path": f"skills/{SKILL}/SKILL.md",
                        "version": "0.1.0",
                        "sha256": Digest.of(GUIDANCE),
                    },
                    "outputs": [self.file("outputs/with-skill/01.md", answer())],
                },
                self.control("control-right", RIGHT, "pass"),
                self.control("control-wrong", WRONG, "fail"),
            ],
            "harness": self.file("harness.py", HARNESS) | {"sets": 1},
            "returns": [
                {"name": "out", "dtype": "float32", "compare": {"nan": "forbidden", "reason": "exact"}}
            ],
            "cases": [{"id": "n={n}", "axes": [[{"n": 1}, {"n": 100}]]}],
            "architectures": [90],
            "runtime": {"name": "cpu", "torch": "2.13.0", "triton": "3.7.1"},
        }
        del self.declared["harness"]["sha256"]

    def put(self, path: str, data: bytes) -> Path:
        """Write a file below the root."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        return file

    def file(self, path: str, data: bytes) -> dict[str, Any]:
        """Write a file of the experiment; what the declaration says of it."""
        self.put(f"proof/{ID}/{path}", data)
        return {"path": path, "sha256": str(Digest.of(data))}

    def control(self, name: str, source: bytes, expect: str) -> dict[str, Any]:
        on = ["device", "interpreter", "compile"] if expect == "pass" else ["device", "interpreter"]
        output = self.file(f"controls/{name}.py", source)
        return {"name": name, "origin": "control", "expect": expect, "on": on, "outputs": [output]}

    def arm(self, name: str) -> dict[str, Any]:
        """One arm of the declaration, to be changed in place."""
        return next(arm for arm in self.declared["arms"] if arm["name"] == name)

    def write(self) -> Path:
        """Write the declaration; the experiment's folder."""
        self.put(f"proof/{ID}/experiment.yaml", json.dumps(self.declared, indent=1).encode())
        return self.folder

    def load(self) -> Loaded:
        """Write the declaration and load all."""
        return load(self.write())

    def record(self, evidence: Evidence | bytes, name: str = "host") -> None:
        """Declare recorded evidence."""
        data = evidence if isinstance(evidence, bytes) else evidence_json(evidence)
        self.put(f"proof/{ID}/evidence/{name}.json", data)
        self.declared["evidence"] = [*self.declared.get("evidence", ()), f"evidence/{name}.json"]


HOST = Host(
    system={
        "os": Read(value="Debian 12", call="os-release"),
        "kernel": Read(value="6.1.0", call="uname"),
        "cpu_model": Read(value="Some CPU", call="/proc/cpuinfo"),
    },
    software={"python": "3.11.2", "triton": "3.7.1"},
    no_gpu="libcuda.so.1 is not there",
)
KERNEL_MADE = Kernel(
    name="kernel", ptx=Digest.of(b"ptx"), num_warps=4, shared_bytes=0, registers=16, spill_bytes=0
)


def ground(loaded: Loaded, outcomes: Outcomes | None = None, **fields: Any) -> GroundReport:
    """A report of every cell: passed, but for the controls that must fail and ``outcomes``."""
    cells: dict[str, dict[str, Outcome]] = {}
    for candidate in loaded.experiment.candidates():
        first: Outcome = WRONG_VALUES if candidate.arm.expect is Expect.FAIL else PASSED
        told = (outcomes or {}).get(candidate.id, first)
        row = dict(told) if isinstance(told, Mapping) else {}
        one = first if isinstance(told, Mapping) else told
        cells[candidate.id] = {case.id: row.get(case.id, one) for case in loaded.experiment.expand()}
    fields = {"status": "judged", "cells": cells, "isolation": {"user": "held", "network": "held"}} | fields
    return GroundReport.model_validate(copy.copy(fields))


def evidence(loaded: Loaded, grounds: Mapping[str, GroundReport], **fields: Any) -> Evidence:
    """The evidence of a replay that gave ``grounds``."""
    made: dict[str, Any] = {
        "schema": SCHEMA,
        "subject": Subject(
            experiment=loaded.experiment.id,
            harness=Digest.of(loaded.harness),
            cases=loaded.cases_digest,
            candidates={name: Digest.of(source) for name, source in loaded.sources.items()},
            replayer="0.1.0",
        ),
        "started": "2026-11-30T12:00:00+00:00",
        "seconds": 1.5,
        "complete": True,
        "host": HOST,
        "settings": Settings(seed=0, grounds=tuple(grounds)),
        "judge_isolation": {"undumpable": "held", "harness": "held"},
        "grounds": dict(grounds),
    }
    return Evidence.model_validate(made | fields)
