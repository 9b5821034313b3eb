"""The compile grounds of CUDA C++: each candidate is compiled once for an architecture, whatever the case.

What differs from case to case is the launch: threads of a block, dynamic shared memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import Field

from bundler.digest import Digest
from bundler.judge.claims import Raised
from bundler.judge.launch import Shape, check_inputs, depends_on_tensors, shape_of
from bundler.model.base import Frozen
from bundler.model.evidence import Kernel
from bundler.model.experiment import Ground
from bundler.model.outcome import Failed, Outcome, Passed, Phase, Shown
from bundler.replay import without
from bundler.replay.answers import read
from bundler.replay.architectures import shared_bytes_per_block
from bundler.replay.compile import KernelTable
from bundler.replay.oracle import Oracle
from bundler.replay.process import Worker
from bundler.replay.runner import HEADER_BYTES, Ask, Job, Session, Unit, lost_when, run_units
from bundler.replay.zygote import Zygote
from bundler.worker import wire

_CODE_BYTES = 64 << 20
_WITHOUT_ASKING = 48 << 10
"""Every device gives a block so much shared memory."""


class _Claim(Frozen):
    """A worker's answer: NVRTC's refusal, or what it made."""

    raised: Raised | None = None
    unsupported: Shown = ""
    ptx_bytes: int = Field(0, ge=0)
    registers: int = 0
    static_shared_bytes: int = 0
    spill_bytes: int = 0


def run_cuda_units(
    job: Job, zygote: Zygote, units: Iterable[Unit], oracle: Oracle, table: KernelTable, session: Session
) -> Iterator[tuple[Unit, Mapping[str, Outcome]]]:
    """Every unit in turn, as ``runner.run_units`` gives them.

    Raises BadExperiment for a launch that no device could take, before anything is compiled where it is
    a pointer that is not there: of the first case, since what the harness gives is the kernel's list.
    """
    waiting = list(units)
    for unit in waiting[:1]:
        check_inputs(job.experiment, unit.case, oracle.case(unit.case, stand_in=True).sets[0])
    made: dict[str, Kernel] = {}
    outcomes: dict[str, Outcome] = {}
    for _, outcome in run_units(job, zygote, _once(waiting), _compiler(job, zygote, made), session):
        outcomes.update(outcome)
    inputs = depends_on_tensors(job.experiment)
    for unit in waiting:
        if not any(ground in made for ground in unit.grounds):
            yield unit, {ground: outcomes[ground] for ground in unit.grounds}
            continue
        arguments = oracle.case(unit.case, stand_in=True).sets[0] if inputs else []
        shape = shape_of(job.experiment, unit.case, arguments)
        judged = {
            ground: launched(made[ground], shape, ground, table) if ground in made else outcomes[ground]
            for ground in unit.grounds
        }
        yield unit, judged


def _once(units: Sequence[Unit]) -> list[Unit]:
    """One ground a unit, whatever the case: each has the whole time, and one that ends the process costs no
    other."""
    grounds = dict.fromkeys(ground for unit in units for ground in unit.grounds)
    return [Unit(units[0].case, (ground,)) for ground in grounds]


def _compiler(job: Job, zygote: Zygote, made: dict[str, Kernel]) -> Ask:
    """Ask for one architecture; what is made goes into ``made``, by ground."""

    def ask(worker: Worker, unit: Unit) -> Mapping[str, Outcome]:
        (ground,) = unit.grounds
        seconds = job.experiment.cell_seconds(unit.case, Ground.COMPILE)
        header = {"op": "compile", "sm": _sm(ground)}
        limits = wire.Limits(header_bytes=HEADER_BYTES, payload_bytes=_CODE_BYTES)
        with lost_when(worker, seconds):
            message = worker.ask(header, seconds=seconds, limits=limits)
            claim = read(_Claim, message.header)
        if claim.unsupported:
            return {ground: without.unsupported(zygote, job.allowance, claim.unsupported, sm=_sm(ground))}
        with lost_when(worker, seconds):
            outcome = Passed() if claim.raised is None else claim.raised.outcome()
            if isinstance(outcome, Passed):
                made[ground] = _kernel(job.experiment.entry, claim, bytes(message.payload))
            return {ground: outcome}

    return ask


def _sm(ground: str) -> int:
    return int(ground.removeprefix("compile:sm_"))


def _kernel(entry: str, claim: _Claim, payload: bytes) -> Kernel:
    """The kernel without its launch; both digests are taken here, from the bytes."""
    ptx, cubin = payload[: claim.ptx_bytes], payload[claim.ptx_bytes :]
    if len(ptx) != claim.ptx_bytes or not ptx or not cubin:
        raise ValueError("the PTX and the cubin do not add up to the payload")
    return Kernel(
        name=entry[:200],
        ptx=Digest.of(ptx),
        cubin=Digest.of(cubin),
        num_warps=0,
        shared_bytes=claim.static_shared_bytes,
        registers=claim.registers,
        spill_bytes=claim.spill_bytes,
    )


def launched(kernel: Kernel, shape: Shape, ground: str, table: KernelTable) -> Outcome:
    """The outcome of one case: a launch that asks for more than the architecture has fails."""
    shared = kernel.shared_bytes + shape.shared_bytes
    most = max(shared_bytes_per_block(_sm(ground)), _WITHOUT_ASKING)
    if shared > most:
        text = f"{shared} bytes of shared memory a block ({shape.shared_bytes} of them dynamic), "
        return Failed(
            phase=Phase.LAUNCH, error=f"{text}sm_{_sm(ground)} has {most}", resource="out-of-resources"
        )
    entry = kernel.model_copy(update={"num_warps": shape.warps, "shared_bytes": shared})
    return Passed(kernels=(table.add(entry),))
