"""T05 to T11: the clocks are high and steady, and nothing holds them down."""

from __future__ import annotations

from bundler.model.host import Read
from bundler.timing.facts import Findings, Measured, label, undetermined, why, withheld

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
            f"the SM clock fell to {min(m.clocks_mhz):.0f} MHz, {min(m.clocks_mhz) / most:.1%} of "
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
