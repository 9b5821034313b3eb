"""The harness, as the judge asks it: inputs and reference of a case."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Self

import numpy as np

from bundler.errors import BadExperiment
from bundler.judge.compare import Array
from bundler.judge.reference import Reference, unreachable
from bundler.model.experiment import Case, Experiment, Returned
from bundler.replay.allowance import GIB, Allowance
from bundler.replay.answers import OutOfForm, read
from bundler.replay.harness_answers import HarnessAnswer
from bundler.replay.process import HELLO_S, Worker
from bundler.replay.zygote import Zygote
from bundler.worker import wire

_LIMITS = wire.Limits(header_bytes=1 << 20, payload_bytes=16 * GIB, values=700_000)
"""The sparse points of a huge input are in the header."""
_MEMORY_BYTES = 24 * GIB
"""The largest answer, and what numpy takes beside it while the reference is computed."""
_LOAD_S = 60
_CASE_S = 600
_KEEP_BYTES = GIB
"""Cases are kept for the next candidate while they fit into this in all; the others are made again. Each
candidate takes them in the same order, so the least recent is the next to be asked for: none is dropped."""


class DeriveFailed(BadExperiment):
    """The harness derives nothing from what a call returned, or what does not fit."""


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

    def right_bytes(self, returns: tuple[Returned, ...]) -> int:
        """Bytes of the largest right answer of a call that returns this."""
        return max(reference.bytes_as(returns) for reference in self.references)


class Oracle:
    """One confined process that runs the experiment's harness. Safe for several threads."""

    def __init__(self, zygote: Zygote, experiment: Experiment, source: bytes, seed: int) -> None:
        self._experiment = experiment
        self._seed = seed
        self._lock = threading.RLock()
        self._zygote, self._source, self._stopped = zygote, source, False
        self._kept: dict[tuple[str, bool], CaseData] = {}
        self._kept_bytes = 0
        self._start()

    def _start(self) -> None:
        self._worker: Worker = self._zygote.spawn(Allowance(memory_bytes=_MEMORY_BYTES))
        self._worker.hello(HELLO_S)
        self._check(self._ask({"op": "load"}, [self._source], _LOAD_S), "could not be loaded")

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
        data = self._ask_case(case, stand_in, "" if stand_in else "reference")
        with self._lock:
            if self._kept_bytes + data.payload.nbytes <= _KEEP_BYTES and key not in self._kept:
                self._kept[key] = data
                self._kept_bytes += data.payload.nbytes
        return data

    def cross_check(self, case: Case) -> tuple[Reference, ...]:
        """What the harness's ``cross_check`` gives for every set. Raises as ``case`` does."""
        return self._ask_case(case, False, "cross-check").references

    def derive(
        self, case: Case, which: int, outputs: Sequence[Array], shapes: Sequence[tuple[int, ...]]
    ) -> tuple[Array, ...]:
        """What the harness derives from a call's returned tensors, in these shapes.

        Raises DeriveFailed when it raises or answers with what does not fit, else as ``case`` does.
        """
        described, parts = _described(outputs)
        request = self._about(case) | {"op": "derive", "which": which, "outputs": described}
        message = self._ask(request, parts, _CASE_S)
        answer = self._check(message, f"failed to derive on case {case.id!r}", DeriveFailed)
        names = [each.name for each in self._experiment.derived]
        try:
            (found,) = answer.arrays("what it derived", 1, names, memoryview(message.payload))
        except ValueError as error:
            problem = f"derived arrays that do not fit on case {case.id!r}: {error}"
            raise self.bad(problem, DeriveFailed) from None
        derived = found.arrays
        if [array.shape for array in derived] != list(shapes):
            given = [array.shape for array in derived]
            problem = f"derived arrays of shapes {given} on case {case.id!r}, the reference has {shapes}"
            raise self.bad(problem, DeriveFailed)
        return tuple(derived)

    def _about(self, case: Case) -> dict[str, Any]:
        return {"case": case.id, "params": case.params, "seed": self._seed}

    def _ask_case(self, case: Case, stand_in: bool, which_answer: str) -> CaseData:
        count = 1 if stand_in else self._experiment.harness.sets
        request = self._about(case) | {
            "op": "case",
            "sets": count,
            "stand_in": stand_in,
            "answer": which_answer,
        }
        message = self._ask(request, [], _CASE_S)
        answer = self._check(message, f"failed on case {case.id!r}")
        payload = memoryview(message.payload)
        names = self._names(case, which_answer)
        try:
            arrays = answer.arrays(which_answer, count if which_answer else 0, names, payload)
            data = CaseData(answer.arguments(count, payload), payload, arrays)
        except ValueError as error:
            raise self.bad(f"answered case {case.id!r} with arrays that do not fit: {error}") from None
        if which_answer == "reference":
            for never in filter(None, (unreachable(self._experiment.judging(case), one) for one in arrays)):
                raise self.bad(f"has a reference that no answer can equal on case {case.id!r}: {never}")
        return data

    def _names(self, case: Case, which_answer: str) -> list[str]:
        """Of the arrays that the harness answers with: a cross-check's are those of a candidate."""
        asked = self._experiment.judging(case)
        derived = asked.derived if which_answer == "reference" else ()
        return [*(each.name for each in asked.returns), *(each.name for each in derived)]

    def _ask(self, request: dict[str, Any], parts: Sequence[bytes], seconds: float) -> wire.Message:
        with self._lock:
            try:
                return self._worker.ask(request, parts, seconds=seconds, limits=_LIMITS)
            except wire.WireError as error:
                raise self._gone(request, seconds, error) from None

    def _gone(self, request: dict[str, Any], seconds: float, error: wire.WireError) -> BadExperiment:
        """Why there is no answer. What a call returned may have ended it, and others need another then."""
        self._worker.kill()
        time.sleep(0.5)  # what it printed comes through a pipe
        printed = self._worker.printed.decode(errors="replace").strip().splitlines()
        last = f" ({printed[-1][:300]})" if printed else ""
        what = f"{request['op']!r}" + (f" on case {request['case']!r}" if "case" in request else "")
        late = f"not within {seconds:.0f} s" if isinstance(error, wire.DeadlinePassed) else error
        again = request["op"] == "derive" and not self._stopped
        if again:
            self._worker.close()
            self._start()
        return self.bad(f"gave no answer to {what}: {late}{last}", DeriveFailed if again else BadExperiment)

    def _check(
        self, message: wire.Message, what: str, raised: type[BadExperiment] = BadExperiment
    ) -> HarnessAnswer:
        try:
            answer = read(HarnessAnswer, message.header)
        except OutOfForm as fault:
            raise self.bad(f"{what}: its answer is out of form: {fault}", raised) from None
        if answer.raised is not None:
            name, text = answer.raised.errors[0]
            raise self.bad(f"{what}: {self._place(answer)}{name[:200]}: {text[:1000]}", raised)
        return answer

    def _place(self, answer: HarnessAnswer) -> str:
        """``harness.py:7 in reference: ``; empty where it does not say."""
        if answer.where is None:
            return ""
        line, function = answer.where
        within = "" if function == "<module>" else f" in {function}"
        return f"{PurePosixPath(self._experiment.harness.path).name}:{line}{within}: "

    def bad(self, problem: str, kind: type[BadExperiment] = BadExperiment) -> BadExperiment:
        """The fault of the harness, of which ``problem`` is said."""
        return kind(
            f"the harness {self._experiment.harness.path!r} {problem}",
            hint="mend it, then run bundler check and bundler verify again; docs/experiments.md shows one",
        )

    def stop(self) -> None:
        """Kill the process, whatever another thread is still asking of it; that thread gets BadExperiment."""
        self._stopped = True
        self._worker.kill()

    def close(self) -> None:
        """End the process."""
        self._worker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _described(outputs: Sequence[Array]) -> tuple[list[dict[str, Any]], list[bytes]]:
    """Arrays as the wire has them, and their bytes."""
    described: list[dict[str, Any]] = []
    parts = [np.ascontiguousarray(output).tobytes() for output in outputs]
    at = 0
    for output, data in zip(outputs, parts, strict=True):
        described.append({"dtype": str(output.dtype), "shape": list(output.shape), "data": [at, len(data)]})
        at += len(data)
    return described, parts
