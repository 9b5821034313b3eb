"""T12 to T18: there are enough samples, they agree, and nothing but the call is in them."""

from __future__ import annotations

import numpy as np

from bundler.timing.facts import Findings, Measured, label, withheld
from bundler.timing.statistics import MIN_SAMPLES, MIN_SECONDS, summarise

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
        yield withheld(f"the quartiles are {max(shares):.1%} of the median apart, over {IQR_SHARE:.0%}")


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
        shown = f"{apart - 1:.1%}" if apart < 2 else f"{apart:.3g} times"
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
