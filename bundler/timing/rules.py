"""The rules: what makes a timing one that may be claimed. Each looks at one thing and says all that it sees.

``RULES`` in ``judge`` numbers them. A threshold's source stands below it; where it says "chosen here", there
is none, and the sentence says why.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bundler.model.host import Read
from bundler.model.timing import Cache
from bundler.timing.facts import Finding, Measured, label, undetermined, why, withheld
from bundler.timing.statistics import MIN_SAMPLES, MIN_SECONDS, summarise

Findings = Iterator[Finding]

# --- memory and arithmetic -------------------------------------------------------------------------------

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


# --- clocks ----------------------------------------------------------------------------------------------

SM_CLOCK_SHARE = 0.75
"""NVBench, ``--throttle-threshold``: a sample under 75 % of the default clock is discarded as throttled."""
SM_CLOCK_DRIFT = 0.05
"""Chosen here: half of ``IQR_SHARE``, as time goes with the clock."""


def sm_clock(m: Measured) -> Findings:
    """T05: the SM clock inside the span, by the probe kernel, is at least 75 % of the highest."""
    most = m.constant("sm_clock_max_mhz")
    if any(len(process.clocks) < 2 for process in m.cell.processes):
        yield undetermined("the SM clock inside the span was not read in every process")
    if most is None:
        yield undetermined(f"the highest SM clock was not read ({why(m.field('sm_clock_max_mhz'))})")
    elif m.clocks_mhz and min(m.clocks_mhz) < SM_CLOCK_SHARE * most:
        yield withheld(
            f"the SM clock fell to {min(m.clocks_mhz):.0f} MHz, {min(m.clocks_mhz) / most:.0%} of "
            f"{most:.0f} MHz, under {SM_CLOCK_SHARE:.0%}"
        )


def sm_drift(m: Measured) -> Findings:
    """T06: the SM clock stays within 5 % over all spans."""
    if m.clocks_mhz and _drifts(m):
        yield withheld(
            f"the SM clock went from {max(m.clocks_mhz):.0f} to {min(m.clocks_mhz):.0f} MHz, "
            f"apart by over {SM_CLOCK_DRIFT:.0%}"
        )


def _drifts(m: Measured) -> bool:
    return max(m.clocks_mhz) > (1 + SM_CLOCK_DRIFT) * min(m.clocks_mhz)


def memory_clock(m: Measured) -> Findings:
    """T07: the memory clock is one and the same in all samples of the device."""
    readings = m.readings("memory_clock_mhz", "during")
    if not readings or not all(isinstance(reading, Read) for reading in readings):
        yield undetermined("the memory clock while samples were taken was not read")
    seen = sorted({reading.value for reading in readings if isinstance(reading, Read)}, key=str)
    if len(seen) > 1:
        yield withheld(f"the memory clock changed: {', '.join(map(str, seen))} MHz")


# --- what holds the clocks down --------------------------------------------------------------------------

_IDLE, _POWER_CAP = 0x1, 0x4
_SLOWDOWNS = {
    0x8: "hardware slowdown", 0x20: "software thermal slowdown", 0x40: "hardware thermal slowdown",
    0x80: "power brake",
}  # fmt: skip
"""NVML API reference, ``nvmlClocksEventReasons``: the bits that mean that the device protects itself."""
_COUNTERS = {
    "violation_thermal_ns": "thermal", "violation_sw_thermal_ns": "software thermal slowdown",
    "violation_hw_thermal_ns": "hardware thermal slowdown", "violation_hw_power_brake_ns": "power brake",
}  # fmt: skip
"""NVML's counters of the same, in ns. They also see what falls between two samples of the bits."""


def slowdown_bits(m: Measured) -> Findings:
    """T08: no thermal, hardware-slowdown or brake bit was set while samples were taken."""
    if not _all_read(m, "event_reasons_mask") and not _counters(m):
        reading = next(iter(m.readings("event_reasons_mask", "during")), None)
        yield undetermined(f"what holds the clocks down was not read ({why(reading)})")
    seen = [name for bit, name in _SLOWDOWNS.items() if any(mask & bit for mask in m.masks)]
    if seen:
        yield withheld(f"the device slowed itself down: {', '.join(seen)}")


def slowdown_counters(m: Measured) -> Findings:
    """T09: no counter of such time moved from before to after."""
    moved = {name for name, moved in _counters(m) if moved}
    if moved:
        yield withheld(f"counters of slowed time moved: {', '.join(sorted(moved))}")


def _all_read(m: Measured, name: str) -> bool:
    readings = m.readings(name, "during")
    return bool(readings) and all(isinstance(reading, Read) for reading in readings)


def _counters(m: Measured) -> list[tuple[str, bool]]:
    """Each counter that was read twice in a process, and whether it moved there."""
    found = []
    for process in m.cell.processes:
        for field, name in _COUNTERS.items():
            read = [r.value for s in process.host if isinstance(r := s.fields.get(field), Read)]
            if len(read) > 1:
                found.append((name, read[-1] != read[0]))
    return found


def power_cap(m: Measured) -> Findings:
    """T10: under a software power cap a timing counts only where the clocks are steady, and says so."""
    if not any(mask & _POWER_CAP for mask in m.masks):
        return
    if not m.clocks_mhz:
        yield undetermined("the power cap was active, and whether the clocks were steady was not read")
    elif _drifts(m):
        yield withheld("the power cap was active and the clocks were not steady")
    else:
        yield label("the power cap was active; the clocks were steady")


def idle(m: Measured) -> Findings:
    """T11: the device did not call itself idle while samples were taken."""
    if any(mask & _IDLE for mask in m.masks):
        yield withheld("the device called itself idle while samples were taken")


# --- samples ---------------------------------------------------------------------------------------------

IQR_SHARE = 0.10
"""Chosen here: quartiles further apart than 10 % of the median make a difference of 10 % between two arms
one that single samples cross both ways."""
THIRDS_APART = 0.02
"""Chosen here: four times NVBench's 0.5 % of noise. The last third of the samples repeats the first; where it
differs by more the device is still warming up or slowing down."""
PROCESSES_APART = 1.05
"""Chosen here: half of ``IQR_SHARE`` is left to what differs from process to process."""
MIN_PROCESSES = 5
"""Kalibera and Jones, Rigorous Benchmarking in Reasonable Time (ISMM 2013): repetition has to go up to the
level that varies, here the process. How many is chosen here: as few as show one that stands apart."""


def spread(m: Measured) -> Findings:
    """T12: in each process the quartiles are within 10 % of the median."""
    shares = [summarise(p.samples_us).relative_iqr for p in m.cell.processes if p.samples_us]
    if shares and max(shares) > IQR_SHARE:
        yield withheld(f"the quartiles are {max(shares):.0%} of the median apart, over {IQR_SHARE:.0%}")


def trend(m: Measured) -> Findings:
    """T13: in each process the last third of the samples is within 2 % of the first."""
    apart = [_thirds(p.samples_us) for p in m.cell.processes if len(p.samples_us) >= MIN_SAMPLES]
    if apart and max(apart) > THIRDS_APART:
        yield withheld(
            f"the last third of the samples is {max(apart):.1%} from the first, over {THIRDS_APART:.0%}"
        )


def _thirds(samples: tuple[float, ...]) -> float:
    third = len(samples) // 3
    first, last = float(np.median(samples[:third])), float(np.median(samples[-third:]))
    return abs(last - first) / first if first else float("inf")


def processes_agree(m: Measured) -> Findings:
    """T14: the processes' medians are within 5 % of each other."""
    if len(m.medians) < 2:
        return
    apart = max(m.medians) / min(m.medians) if min(m.medians) > 0 else float("inf")
    if apart > PROCESSES_APART:
        shown = f"{apart - 1:.0%}" if apart < 2 else f"{apart:.3g} times"
        yield withheld(f"the processes are {shown} apart, over {PROCESSES_APART - 1:.0%}")


def enough_samples(m: Measured) -> Findings:
    """T15: each process has at least 10 samples over at least 0.5 s."""
    for index, process in enumerate(m.cell.processes):
        if len(process.samples_us) < MIN_SAMPLES or process.seconds < MIN_SECONDS:
            said = f": {process.problem}" if process.problem else ""
            yield withheld(
                f"process {index + 1} gave {len(process.samples_us)} samples in {process.seconds:.1f} s, "
                f"under {MIN_SAMPLES} or {MIN_SECONDS:g} s{said}"
            )
            return
    if not all(process.converged for process in m.cell.processes):
        yield label("sampling stopped at its cap, before its criterion was met")


def enough_processes(m: Measured) -> Findings:
    """T16: a claim has at least five fresh processes."""
    if len(m.medians) < MIN_PROCESSES:
        yield withheld(f"{len(m.medians)} processes gave samples, under {MIN_PROCESSES}")


# --- what is in a sample ---------------------------------------------------------------------------------

LAUNCH_BOUND_US = 10.0
"""Chosen here: two events and the gaps around a kernel take some µs themselves."""
STARVED_SHARE = 0.01
"""Chosen here: one sample in a hundred does not move a median or a quartile."""


def launch_bound(m: Measured) -> Findings:
    """T17: a call of 10 µs and under is timed in a graph."""
    if m.by_events and m.median is not None and m.median <= LAUNCH_BOUND_US:
        yield withheld(f"launch-bound (a call takes {LAUNCH_BOUND_US:g} µs or less) and not timed in a graph")


def launch_inside(m: Measured) -> Findings:
    """T18: launching a call is not in its sample: it was enqueued while a blocking kernel still ran."""
    samples = sum(len(process.samples_us) for process in m.cell.processes)
    starved = sum(process.starved for process in m.cell.processes)
    if starved > STARVED_SHARE * samples:
        yield withheld(
            f"in {starved} of {samples} samples the device waited for the launch, or the call for the device"
        )


# --- others on the device --------------------------------------------------------------------------------

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
