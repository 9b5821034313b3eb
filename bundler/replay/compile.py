"""The compile grounds: what a candidate's wrapper launches is compiled for an architecture, and not run.

Triton runs in the candidate's process as far as PTX; what becomes of the PTX is decided by ptxas in a
process that never held the candidate.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated

from pydantic import FailFast, Field

from bundler.digest import Digest
from bundler.judge.claims import Raised
from bundler.model.base import Frozen
from bundler.model.evidence import Kernel
from bundler.model.experiment import Ground
from bundler.model.outcome import Crashed, Failed, NotRun, Outcome, Passed, Phase, Shown, TimedOut, Why
from bundler.replay.allowance import OWN_CODE_BYTES, Allowance
from bundler.replay.answers import OutOfForm, read
from bundler.replay.oracle import Oracle
from bundler.replay.process import HELLO_S, Refused, SpawnFailed, Worker
from bundler.replay.runner import HEADER_BYTES, Ask, Job, Lost, Unit, lost_when
from bundler.replay.zygote import Zygote
from bundler.worker import wire

_PTX_BYTES = 256 << 20
"""The most PTX that one process may send, over all its cases."""
MAX_KERNELS = 1024
"""The most kernels of one case on one architecture: every configuration of an autotuned one is a kernel."""
_ASSEMBLE_S = 130
"""Somewhat more than worker.assembler gives ptxas, so that it can still say so."""


class KernelClaim(Frozen):
    """One kernel that a worker compiled, as far as PTX."""

    sm: int
    name: Shown
    num_warps: int
    shared_bytes: int
    fp_fusion: bool
    ptx_bytes: int = Field(ge=0)


class _ArchitectureClaim(Frozen):
    sm: int
    raised: Raised | None
    kernels: Annotated[tuple[int, ...], FailFast(), Field(max_length=MAX_KERNELS)]


class _CompileClaim(Frozen):
    no_memory: Shown | None = None
    architectures: Annotated[tuple[_ArchitectureClaim, ...], FailFast(), Field(max_length=64)] = ()
    kernels: Annotated[tuple[KernelClaim, ...], FailFast(), Field(max_length=16 * MAX_KERNELS)] = ()


class _Assembled(Frozen):
    """What ptxas gave, or why there is none."""

    unavailable: Shown = ""
    error: Shown | None = None
    registers: int = 0
    spill_bytes: int = 0


Sent = tuple[KernelClaim, bytes]
"""A kernel and its PTX."""


class KernelTable:
    """The kernels of a replay, each once, in a stated order. Safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kernels: list[Kernel] = []
        self._index: dict[Kernel, int] = {}

    def add(self, kernel: Kernel) -> int:
        """The index of ``kernel``."""
        with self._lock:
            if kernel not in self._index:
                self._index[kernel] = len(self._kernels)
                self._kernels.append(kernel)
            return self._index[kernel]

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """All of them, by index."""
        return tuple(self._kernels)


class Assembler:
    """ptxas in a confined process of its own; what was assembled once is remembered. Thread-safe."""

    def __init__(self, zygote: Zygote) -> None:
        self._zygote = zygote
        self._known: dict[tuple[Digest, int, bool], tuple[str, int, int]] = {}
        self._idle: list[Worker] = []
        self._lock = threading.Lock()

    def assemble(self, ptx: bytes, claim: KernelClaim) -> tuple[str, int, int]:
        """What is wrong (empty when nothing is), registers of a thread, spilled bytes of a thread.

        Raises SpawnFailed when there is no process to assemble in.
        """
        key = (Digest.of(ptx), claim.sm, claim.fp_fusion)
        if key not in self._known:
            self._known[key] = self._run(ptx, claim)
        return self._known[key]

    def _run(self, ptx: bytes, claim: KernelClaim) -> tuple[str, int, int]:
        with self._lock:
            worker = self._idle.pop() if self._idle else None
        if worker is None:
            worker = self._start()
        try:
            header = {"op": "assemble", "sm": claim.sm, "fp_fusion": claim.fp_fusion}
            message = worker.ask(header, [ptx], seconds=_ASSEMBLE_S, limits=wire.Limits())
            answer = read(_Assembled, message.header)
        except (wire.WireError, OutOfForm) as error:
            worker.close()
            return f"ptxas gave no answer: {error}", 0, 0
        with self._lock:
            self._idle.append(worker)
        if answer.unavailable:
            raise SpawnFailed(answer.unavailable)
        if answer.error is not None:
            return answer.error, 0, 0
        return "", answer.registers, answer.spill_bytes

    def _start(self) -> Worker:
        worker = self._zygote.spawn(Allowance(memory_bytes=OWN_CODE_BYTES))
        try:
            worker.hello(HELLO_S)
        except SpawnFailed:
            worker.close()
            raise
        return worker

    def close(self) -> None:
        """End its processes."""
        for worker in self._idle:
            worker.close()


def compiler(job: Job, oracle: Oracle, assembler: Assembler, table: KernelTable) -> Ask:
    """Ask for one case on several architectures. The returned function belongs to one candidate."""
    known: dict[Worker, list[Sent]] = {}

    def ask(worker: Worker, unit: Unit) -> Mapping[str, Outcome]:
        data = oracle.case(unit.case, stand_in=True)
        architectures = [int(ground.removeprefix("compile:sm_")) for ground in unit.grounds]
        header = {"op": "compile", "sets": data.sets, "architectures": architectures}
        cell_seconds = job.experiment.cell_seconds(unit.case, Ground.COMPILE)
        seconds = cell_seconds * len(architectures)
        limits = wire.Limits(header_bytes=HEADER_BYTES, payload_bytes=_PTX_BYTES)
        with lost_when(worker, seconds):
            message = worker.ask(header, [data.payload], seconds=seconds, limits=limits)
            claim = read(_CompileClaim, message.header)
            if claim.no_memory is not None:
                # The stand-ins are address space that is never touched: it was the candidate that filled it.
                raise ValueError(f"no room for the inputs: {claim.no_memory[:300]}")
            kernels = known.setdefault(worker, [])
            _take(claim, message.payload, kernels, architectures)
            judge = partial(_outcome, kernels=kernels, assembler=assembler, table=table, seconds=cell_seconds)
            try:
                return dict(zip(unit.grounds, map(judge, claim.architectures), strict=True))
            except SpawnFailed:
                # The candidate may have all the processes that there are: it is tried without it.
                worker.kill()
                raise Lost(None, partial(_once_more, judge, claim.architectures[0])) from None

    return ask


def _once_more(judge: Callable[[_ArchitectureClaim], Outcome], claim: _ArchitectureClaim) -> Outcome:
    try:
        return judge(claim)
    except SpawnFailed as reason:
        return Refused(detail=str(reason)[:1000])
    except ValueError as error:
        return Crashed(detail=f"its answer broke the protocol: {error}"[:1000])


def _take(
    claim: _CompileClaim, payload: bytes | bytearray, into: list[Sent], architectures: list[int]
) -> None:
    """Add what a worker sent to what it sent before. Raises ValueError when that breaks the protocol."""
    into.extend(_cut(claim.kernels, memoryview(payload)))
    if sum(len(ptx) for _, ptx in into) > _PTX_BYTES:
        raise ValueError(f"over {_PTX_BYTES >> 20} MiB of PTX in all")
    if [entry.sm for entry in claim.architectures] != architectures:
        raise ValueError("other architectures were answered than asked for")


def _cut(kernels: tuple[KernelClaim, ...], payload: memoryview) -> list[Sent]:
    if sum(kernel.ptx_bytes for kernel in kernels) != payload.nbytes:
        raise ValueError("the PTX texts do not add up to the payload")
    cut = []
    for kernel in kernels:
        cut.append((kernel, payload[: kernel.ptx_bytes].tobytes()))
        payload = payload[kernel.ptx_bytes :]
    return cut


def _outcome(
    claim: _ArchitectureClaim,
    kernels: list[Sent],
    assembler: Assembler,
    table: KernelTable,
    seconds: float,
) -> Outcome:
    """One architecture: what the wrapper raised, else what ptxas makes of everything that it launched."""
    if claim.raised is not None:
        return claim.raised.outcome()
    if not claim.kernels:
        return NotRun(why=Why.NO_LAUNCH, detail="the wrapper launched nothing for this input")
    indices = []
    deadline = time.monotonic() + seconds
    for index in claim.kernels:
        if time.monotonic() > deadline:
            return TimedOut(limit_seconds=seconds)
        if not 0 <= index < len(kernels) or kernels[index][0].sm != claim.sm:
            raise ValueError(f"kernel {index} was not sent for sm_{claim.sm}")
        kernel, ptx = kernels[index]
        error, registers, spill_bytes = assembler.assemble(ptx, kernel)
        if error:
            return Failed(phase=Phase.COMPILE, error=error[:2000])
        indices.append(table.add(_kernel(kernel, ptx, registers, spill_bytes)))
    return Passed(kernels=tuple(indices))


def _kernel(claim: KernelClaim, ptx: bytes, registers: int, spill_bytes: int) -> Kernel:
    return Kernel(
        name=claim.name,
        ptx=Digest.of(ptx),
        num_warps=claim.num_warps,
        shared_bytes=claim.shared_bytes,
        registers=registers,
        spill_bytes=spill_bytes,
    )
