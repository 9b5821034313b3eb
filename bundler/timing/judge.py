"""The verdict on one timing: every rule is asked, and every reason is given."""

from __future__ import annotations

from collections.abc import Callable

from bundler.model.evidence import Evidence
from bundler.model.experiment import Experiment, Ground
from bundler.model.host import Gpu
from bundler.model.timing import Reason, State, TimedCell, Timings, TimingVerdict
from bundler.timing import clocks, others, peaks, recorded, samples, witness
from bundler.timing.facts import Around, Findings, Kind, Measured

Rule = Callable[[Measured], Findings]

RULES: tuple[tuple[str, str, Rule], ...] = (
    ("T01", "working-set", peaks.working_set),
    ("T02", "flush", peaks.flushed),
    ("T03", "bandwidth", peaks.bandwidth),
    ("T04", "arithmetic", peaks.arithmetic),
    ("T05", "sm-clock", clocks.sm_clock),
    ("T06", "sm-clock-drift", clocks.sm_drift),
    ("T07", "memory-clock", clocks.memory_clock),
    ("T08", "slowdown", clocks.slowdown_bits),
    ("T09", "slowdown-counters", clocks.slowdown_counters),
    ("T10", "power-cap", clocks.power_cap),
    ("T11", "idle", clocks.idle),
    ("T12", "spread", samples.spread),
    ("T13", "trend", samples.trend),
    ("T14", "processes-apart", samples.processes_agree),
    ("T15", "samples", samples.enough_samples),
    ("T16", "processes", samples.enough_processes),
    ("T17", "launch-bound", samples.launch_bound),
    ("T18", "launch-inside", samples.launch_inside),
    ("T19", "other-process", others.others),
    ("T20", "process-list", others.list_readable),
    ("T21", "shared-device", others.shared),
    ("T22", "disputed", witness.disputed),
    ("T23", "outputs", witness.outputs),
    ("T24", "as-recorded", recorded.as_recorded),
)
"""Each looks at one thing and says all that it sees. A threshold's source stands below it, in the rule's
file; where it says "chosen here", there is none, and the sentence says why."""


def judge_timing(cell: TimedCell, gpu: Gpu | None, around: Around | None = None) -> TimingVerdict | None:
    """Whether ``cell`` may be claimed; None where nothing was measured.

    ``gpu`` is the device's record in the host of the same replay; ``around`` is what else was
    recorded, None while it is measured. Pure: equal arguments, equal verdicts.
    """
    if not cell.processes:
        return None
    measured = Measured(cell, gpu, around)
    found: dict[Kind, list[Reason]] = {"withheld": [], "undetermined": [], "label": []}
    for rule, name, ask in RULES:
        for finding in ask(measured):
            found[finding.kind].append(Reason(rule=rule, name=name, text=finding.text))
    state = State.ADMISSIBLE
    if found["undetermined"]:
        state = State.UNDETERMINED
    if found["withheld"]:
        state = State.WITHHELD
    return TimingVerdict(
        state=state,
        withheld=tuple(found["withheld"]),
        undetermined=tuple(found["undetermined"]),
        labels=tuple(found["label"]),
    )


def judged_again(evidence: Evidence, experiment: Experiment | None) -> Timings | None:
    """The timings with every verdict by this bundler's rules, whatever verdicts the record has.

    Whoever shows a timing takes it from here: it is held against the rest of the evidence, and against what
    ``experiment`` wants timed. None where the evidence has no timings.
    """
    timings = evidence.timings
    if timings is None:
        return None
    gpu = next((each for each in evidence.host.gpus if each.index == timings.gpu), None)
    around = Around(evidence.grounds.get(Ground.DEVICE), experiment)
    cells = (cell.model_copy(update={"verdict": judge_timing(cell, gpu, around)}) for cell in timings.cells)
    return timings.model_copy(update={"cells": tuple(cells)})
