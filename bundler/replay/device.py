"""What the device ground has to know before it runs anything: is there a device that this bundle can use."""

from __future__ import annotations

import os

from bundler.model.base import Frozen
from bundler.model.experiment import Case
from bundler.model.outcome import NotRun, Shown, Why
from bundler.replay.allowance import GIB, OWN_CODE_BYTES, Allowance
from bundler.replay.answers import OutOfForm, read
from bundler.replay.compile import Assembler, KernelClaim
from bundler.replay.process import HELLO_S, SpawnFailed
from bundler.replay.zygote import Zygote
from bundler.worker import wire

# The smallest PTX that assembles: PTX ISA, "Directives"; 7.0 is older than every target that is asked for.
_EMPTY_PTX = b".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry probe()\n{\n ret;\n}\n"


class Device(Frozen):
    """The GPU as a worker's torch sees it, before any candidate ran."""

    why_not: Shown = ""
    """Why there is none; empty when there is one."""
    name: Shown = ""
    sm: int = 0
    free_bytes: int = 0
    total_bytes: int = 0


def probe(zygote: Zygote, assembler: Assembler) -> Device:
    """Ask a fresh worker; ``why_not`` says what is missing."""
    worker = zygote.spawn(Allowance(memory_bytes=OWN_CODE_BYTES, anonymous_files=True))
    try:
        worker.hello(HELLO_S)
        message = worker.ask({"op": "probe"}, seconds=HELLO_S, limits=wire.Limits())
        device = read(Device, message.header)
    except (SpawnFailed, wire.WireError, OutOfForm) as error:
        return Device(why_not=f"the device could not be asked: {str(error)[:300]}")
    finally:
        worker.close()
    if device.why_not:
        return device
    claim = KernelClaim(sm=device.sm, name="probe", num_warps=1, shared_bytes=0, fp_fusion=True, ptx_bytes=0)
    try:
        wrong, _, _ = assembler.assemble(_EMPTY_PTX, claim)
    except SpawnFailed as reason:
        return Device(why_not=f"no process to assemble in: {reason}"[:400])
    if wrong:
        return device.model_copy(update={"why_not": f"host unsupported by this bundle: {wrong[:300]}"})
    return device


def why_not_started(error: str, folder: str, flags: int) -> str:
    """Why the process for the device could not start, with the remedy where ``folder`` is noexec.

    Triton loads a library that it compiles there, and Docker mounts ``--tmpfs /tmp`` noexec unless told
    otherwise. ``flags`` are those of ``os.statvfs(folder)``.
    """
    if flags & os.ST_NOEXEC:
        remedy = f"--tmpfs {folder}:exec"
        return f"{folder} is mounted noexec, and Triton has to load what it compiles there: {remedy}"
    return error


def lacks(case: Case, device: Device) -> NotRun | None:
    """The reason why a case cannot run on this device; None when it can."""
    if device.sm < case.needs.min_sm:
        return NotRun(why=Why.NEEDS, detail=f"needs sm_{case.needs.min_sm}, the device is sm_{device.sm}")
    if device.free_bytes < case.needs.device_memory_gib * GIB:
        return NotRun(
            why=Why.NEEDS,
            detail=f"needs {case.needs.device_memory_gib:g} GiB of free device memory, "
            f"{device.free_bytes / GIB:.1f} are there",
        )
    return None


def too_old(case: Case, sm: int) -> NotRun | None:
    """The reason why a case is not compiled for an architecture; None when it is."""
    if sm < case.needs.min_sm:
        return NotRun(why=Why.NEEDS, detail=f"needs sm_{case.needs.min_sm}")
    return None
