"""The compile grounds: all architectures of a case together, each language in processes of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass

from bundler.model.experiment import Candidate, Case, Ground, Language
from bundler.model.outcome import NotRun, Outcome, Why
from bundler.replay.compile import Assembler, compiler
from bundler.replay.cuda_compile import run_cuda_units
from bundler.replay.device import too_old
from bundler.replay.drive import Answers, Work, drive, not_on, open_units, slow_on
from bundler.replay.oracle import Oracle
from bundler.replay.record import Record
from bundler.replay.runner import Job, Session, Unit, run_units
from bundler.replay.zygote import Zygote, ZygoteFailed, start


def judge_compiled(record: Record, oracle: Oracle, assembler: Assembler | None) -> None:
    """Every architecture's ground. ``assembler`` is there wherever a candidate is in Triton."""
    names = tuple(f"compile:sm_{sm}" for sm in record.request.architectures)
    with record.timed(names), contextlib.ExitStack() as stack:
        compilers = _compilers(record, stack)
        if compilers.zygotes:
            return _Compiled(record, oracle, assembler, names, compilers).judge()
        for name in names:
            record.not_available(name, Why.UNSUPPORTED_HOST, compilers.missing)
    return None


@dataclass(frozen=True)
class _Compilers:
    """The processes that compile, by language."""

    zygotes: Mapping[Language, Zygote]
    missing: str
    """Why there is none for CUDA C++, where candidates need one."""


def _compilers(record: Record, stack: contextlib.ExitStack) -> _Compilers:
    zygotes: dict[Language, Zygote] = {}
    missing = ""
    if Language.TRITON in record.languages:
        zygotes[Language.TRITON] = stack.enter_context(start("compile"))
    if Language.CUDA in record.languages:
        try:
            zygotes[Language.CUDA] = stack.enter_context(Zygote("nvrtc"))
        except ZygoteFailed as error:
            missing = f"NVRTC could not be loaded: {error.reason}"
    return _Compilers(zygotes, missing)


class _Compiled:
    def __init__(
        self,
        record: Record,
        oracle: Oracle,
        assembler: Assembler | None,
        names: tuple[str, ...],
        compilers: _Compilers,
    ) -> None:
        self._record = record
        self._oracle = oracle
        self._assembler = assembler
        self._names = names
        self._compilers = compilers

    def judge(self) -> None:
        """Every candidate on all architectures."""
        zygotes = tuple(self._compilers.zygotes.values())
        work = Work(self._names, self._units, self._run, zygotes, self._oracle.stop)
        drive(self._record, work, self._record.request.cpu_jobs)

    def _units(self, candidate: Candidate) -> list[Unit]:
        if self._record.language(candidate) not in self._compilers.zygotes:
            absent = NotRun(why=Why.UNSUPPORTED_HOST, detail=self._compilers.missing)
            return open_units(self._record, candidate, lambda _: dict.fromkeys(self._names, absent))
        return open_units(self._record, candidate, self._why_not)

    def _why_not(self, case: Case) -> dict[str, Outcome | None]:
        slow = slow_on(self._record, case, Ground.COMPILE)
        return {
            f"compile:sm_{sm}": not_on(case, Ground.COMPILE) or too_old(case, sm) or slow
            for sm in self._record.request.architectures
        }

    def _run(self, job: Job, session: Session, units: list[Unit]) -> Answers:
        zygote, kernels = self._compilers.zygotes[job.language], self._record.kernels
        if job.language is Language.CUDA:
            return run_cuda_units(job, zygote, units, self._oracle, kernels, session)
        assert self._assembler is not None
        ask = compiler(job, self._oracle, self._assembler, kernels)
        return run_units(job, zygote, units, ask, session)
