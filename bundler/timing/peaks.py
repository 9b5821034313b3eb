"""T01 to T04: what is timed is memory and not its cache, and no call is faster than the device can be."""

from __future__ import annotations

from bundler.model.host import Read
from bundler.model.timing import Cache
from bundler.timing.facts import Findings, Measured, label, undetermined, why, withheld

WORKING_SET_L2 = 2.0
"""A call's bytes over the L2's. Chosen here, as large as the flush: a call that goes through less can be
served by the cache from what it touched itself."""
FLUSH_L2 = 2.0
"""The flush's bytes over the L2's. NVBench (``l2flush.cuh``) overwrites a buffer of once the L2; twice is the
floor here, since how the L2 replaces its lines is not documented."""


def working_set(m: Measured) -> Findings:
    """T01: a call's working set is at least twice the L2: what is timed is memory and not the cache."""
    l2 = m.constant("l2_bytes")
    if m.cell.cache is Cache.WARM:
        yield label("warm L2, as the experiment asks: no statement about memory")
    elif l2 is None:
        yield undetermined(f"the size of the L2 was not read ({why(m.field('l2_bytes'))})")
    elif m.cell.call_bytes < WORKING_SET_L2 * l2:
        turns = f"; {m.cell.sets} sets in turn do not change that" if m.cell.sets > 1 else ""
        yield withheld(
            f"a call's working set is {m.cell.call_bytes / l2:.2g} times the L2 of {l2 / 2**20:.4g} MiB, "
            f"under {WORKING_SET_L2:g}{turns}"
        )


def flushed(m: Measured) -> Findings:
    """T02: before each cold sample at least twice the L2 was overwritten, and persisting lines were reset."""
    l2 = m.constant("l2_bytes")
    if m.cell.cache is Cache.WARM or l2 is None:
        return
    if m.cell.flush_bytes < FLUSH_L2 * l2:
        yield withheld(f"the flush was {m.cell.flush_bytes / l2:.2g} times the L2, under {FLUSH_L2:g}")
    if m.constant("l2_persisting_max_bytes") == 0:
        return
    if not all(process.persisting_reset for process in m.cell.processes):
        yield undetermined("whether persisting lines of the L2 were reset before each sample is not known")


BEYOND_PEAK = 1.0
"""Implied rate over the device's peak: no kernel is faster than its memory's pins (clock x width x 2
transfers a clock) or than its arithmetic units."""


def bandwidth(m: Measured) -> Findings:
    """T03: the least bytes that a call moves, over its time, are within what the memory can do."""
    if m.median is None or m.cell.bytes is None or m.cell.cache is Cache.WARM:
        return
    clock, width = m.constant("memory_clock_max_mhz"), m.constant("memory_bus_width_bits")
    if clock is None or width is None:
        yield undetermined("the memory's peak is not known: its clock or its width was not read")
        return
    peak = clock * 1e6 * 2 * width / 8
    if m.cell.bytes > BEYOND_PEAK * peak * m.median * 1e-6:
        yield withheld(
            "the implied bandwidth is above the device's peak, so a call cannot have done its work"
        )


FLOPS_A_CYCLE = {
    "7.5": 2048, "8.0": 4096, "8.6": 2048, "8.7": 4096, "8.9": 4096, "9.0": 8192, "10.0": 32768,
    "10.3": 32768, "12.0": 8192, "12.1": 8192,
}  # fmt: skip
"""Dense operations of one SM in one cycle, of the fastest type that it has; from the peaks in NVIDIA's data
sheets over SM count and boost clock (H100: 1979 TFLOPS of FP8 / (132 x 1.83 GHz) = 8192), rounded up to a
power of two. An upper bound: it can miss a false timing, and accuses none that is true."""


def arithmetic(m: Measured) -> Findings:
    """T04: the operations of a call, over its time, are within what the SMs can do."""
    if m.median is None or m.cell.flops is None:
        return
    clock, count = m.constant("sm_clock_max_mhz"), m.constant("sm_count")
    capability = m.field("compute_capability")
    rate = FLOPS_A_CYCLE.get(str(capability.value)) if isinstance(capability, Read) else None
    if clock is None or count is None or rate is None:
        yield undetermined("the peak of arithmetic is not known: SM count, clock or capability was not read")
    elif m.cell.flops > BEYOND_PEAK * clock * count * rate * m.median:
        yield withheld(
            "the implied arithmetic is above the device's peak, so a call cannot have done its work"
        )
