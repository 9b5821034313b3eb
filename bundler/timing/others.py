"""T19 to T21: nothing else was on the device, as far as that can be seen."""

from __future__ import annotations

from bundler.model.host import Read
from bundler.timing.facts import Findings, Measured, label, undetermined, why, withheld

EMPTY_BYTES = 64 << 20
"""Chosen here: a CUDA context takes over 100 MiB of an idle device's memory (about 500 MiB on an H100), and a
device without one had 0.1 to 4 MiB in use on the machines at hand."""
_LISTS = ("other_compute_processes", "other_graphics_processes")


def others(m: Measured) -> Findings:
    """T19: no other process was listed on the device."""
    counts = [
        r.value
        for name in _LISTS
        for r in m.readings(name, "before", "during", "after")
        if isinstance(r, Read)
    ]
    if any(isinstance(value, int) and value > 0 for value in counts):
        yield withheld("another process was on the device")


def list_readable(m: Measured) -> Findings:
    """T20: the list of processes was read and can see: it has the timed one, or memory shows no other."""
    for name in _LISTS:
        readings = m.readings(name, "before", "during", "after")
        if unread := next((r for r in readings if not isinstance(r, Read)), None):
            yield undetermined(f"the list of processes was not read ({name}: {why(unread)})")
            return
    known = [sample.lists_own for sample in m.samples("during") if sample.lists_own is not None]
    if known and all(known):
        return
    used = [r.value for r in m.readings("memory_used_bytes", "before", "after") if isinstance(r, Read)]
    if used and all(isinstance(value, int) and value < EMPTY_BYTES for value in used):
        yield label(
            "the list of processes does not show the timed process, so it is blind; the device's memory was "
            "empty before and after, so no other had a context then"
        )
    else:
        yield undetermined(
            "the list of processes does not show the timed process, so it is blind, and memory was in use "
            "before or after"
        )


def shared(m: Measured) -> Findings:
    """T21: a MIG slice's timing is a claim about the slice only; of a vGPU's neighbours nothing is known."""
    mig, mode = m.field("mig_enabled"), m.field("virtualization_mode")
    if isinstance(mig, Read) and mig.value:
        profile = m.field("mig_profile")
        shown = str(profile.value) if isinstance(profile, Read) else "of unknown profile"
        yield label(f"a MIG slice ({shown}): a claim about this slice only")
    if isinstance(mode, Read) and mode.value in ("vgpu", "host_vgpu"):
        yield label("a vGPU: a claim about this share only")
        yield undetermined("a vGPU's list of processes does not have other machines' on the same GPU")
    for name, reading in (("MIG mode", mig), ("virtualization mode", mode)):
        # A device that does not support it has none.
        if not isinstance(reading, Read) and not (reading and reading.status == "not_supported"):
            yield undetermined(f"the {name} was not read ({why(reading)})")
