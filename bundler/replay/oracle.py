"""The harness, as the judge asks it: inputs and reference of a case."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, ValidationError

from bundler.errors import BadExperiment
from bundler.judge.cell import Reference
from bundler.model.base import Frozen
from bundler.model.experiment import Case, Experiment
from bundler.replay.allowance import Allowance
from bundler.replay.process import Worker, Zygote
from bundler.worker import wire

_LIMITS = wire.Limits(header_bytes=1 << 20, payload_bytes=16 << 30)
_LOAD_S = 60
_CASE_S = 600
_KEEP_BYTES = 16 << 20
"""A case up to this size is asked for once and kept for the next candidate; larger ones are made again."""


class _Answer(Frozen):
    dtype: Literal["float64", "int64"]
    shape: tuple[int, ...]
    data: tuple[int, int]


class _CaseAnswer(Frozen):
    raised: dict[str, Any] | None
    sets: list[list[dict[str, Any]]] = Field([])
    references: list[list[_Answer]] = Field([])


@dataclass(frozen=True)
class CaseData:
    """What one case is run on and held against."""

    sets: list[list[dict[str, Any]]]
    """The arguments of each set, as the wire describes them; their bytes lie in ``payload``."""
    payload: memoryview
    references: tuple[Reference, ...]

    @property
    def elements(self) -> int:
        """Elements of all of a call's tensors."""
        return sum(int(np.prod(a["shape"], dtype=np.int64)) for a in self.sets[0] if a["kind"] == "tensor")

    @property
    def argument_bytes(self) -> int:
        """How much memory the arguments' storage takes on the device, in bytes."""
        return sum(a["storage"] * len(a["gap"]) // 2 for a in self.sets[0] if a["kind"] == "tensor")


class Oracle:
    """One confined process that runs the experiment's harness. Safe for several threads."""

    def __init__(self, zygote: Zygote, experiment: Experiment, source: bytes, seed: int) -> None:
        self._experiment = experiment
        self._seed = seed
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, bool], CaseData] = {}
        self._worker: Worker = zygote.spawn(Allowance(memory_bytes=24 << 30))
        self._worker.hello(_LOAD_S)
        self._check(self._ask({"op": "load"}, [source], _LOAD_S), "could not be loaded")

    @property
    def isolation(self) -> dict[str, str]:
        """What confines the harness."""
        return self._worker.isolation

    def case(self, case: Case, *, stand_in: bool = False) -> CaseData:
        """Inputs and references of every set.

        With ``stand_in`` one set without references, its floating-point values left out: enough to compile.
        Raises BadExperiment when the harness raises or answers out of form.
        """
        key = (case.id, stand_in)
        if key in self._kept:
            return self._kept[key]
        data = self._ask_case(case, stand_in)
        if data.payload.nbytes <= _KEEP_BYTES:
            self._kept[key] = data
        return data

    def _ask_case(self, case: Case, stand_in: bool) -> CaseData:
        request = {
            "op": "case",
            "case": case.id,
            "params": case.params,
            "seed": self._seed,
            "sets": 1 if stand_in else self._experiment.harness.sets,
            "stand_in": stand_in,
            "reference": not stand_in,
        }
        message = self._ask(request, [], _CASE_S)
        answer = self._check(message, f"failed on case {case.id!r}")
        payload = memoryview(message.payload)
        try:
            references = tuple(
                Reference(tuple(_array(array, payload) for array in arrays)) for arrays in answer.references
            )
            return CaseData(answer.sets, payload, references)
        except ValueError as error:
            raise self._bad(f"answered case {case.id!r} with arrays that do not fit: {error}") from None

    def _ask(self, request: dict[str, Any], parts: Sequence[bytes], seconds: float) -> wire.Message:
        try:
            with self._lock:
                return self._worker.ask(request, parts, seconds=seconds, limits=_LIMITS)
        except wire.WireError as error:
            self._worker.kill()
            time.sleep(0.5)  # what it printed comes through a pipe
            printed = self._worker.printed.decode(errors="replace").strip().splitlines()
            last = f" ({printed[-1][:300]})" if printed else ""
            raise self._bad(f"gave no answer to {request['op']!r}: {error}{last}") from None

    def _check(self, message: wire.Message, what: str) -> _CaseAnswer:
        try:
            answer = _CaseAnswer.model_validate(message.header)
        except ValidationError as error:
            raise self._bad(f"{what}: its answer is out of form: {error.errors()[0]['msg']}") from None
        if answer.raised is not None:
            name, text = answer.raised["errors"][0]
            raise self._bad(f"{what}: {name}: {text}")
        return answer

    def _bad(self, problem: str) -> BadExperiment:
        path = self._experiment.harness.path
        return BadExperiment(
            f"the harness {path!r} {problem}",
            hint="the harness has to define inputs(case, which, make) and reference(case, which, arguments); "
            "docs/experiments.md shows one",
        )

    def stop(self) -> None:
        """Kill the process, whatever another thread is still asking of it; that thread gets BadExperiment."""
        self._worker.kill()

    def close(self) -> None:
        """End the process."""
        self._worker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _array(answer: _Answer, payload: memoryview) -> np.ndarray[Any, Any]:
    at, count = answer.data
    dtype = np.dtype(answer.dtype).newbyteorder("<")
    return np.frombuffer(payload[at : at + count], dtype=dtype).reshape(answer.shape)
