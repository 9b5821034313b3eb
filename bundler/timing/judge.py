"""The verdict on one timing: every rule is asked, and every reason is given."""

from __future__ import annotations

from collections.abc import Callable

from bundler.model.host import Gpu, Host
from bundler.model.timing import Reason, State, TimedCell, Timings, TimingVerdict
from bundler.timing import rules, witness
from bundler.timing.facts import Kind, Measured

Rule = Callable[[Measured], rules.Findings]

RULES: tuple[tuple[str, str, Rule], ...] = (
    ("T01", "working-set", rules.working_set),
    ("T02", "flush", rules.flushed),
    ("T03", "bandwidth", rules.bandwidth),
    ("T04", "arithmetic", rules.arithmetic),
    ("T05", "sm-clock", rules.sm_clock),
    ("T06", "sm-clock-drift", rules.sm_drift),
    ("T07", "memory-clock", rules.memory_clock),
    ("T08", "slowdown", rules.slowdown_bits),
    ("T09", "slowdown-counters", rules.slowdown_counters),
    ("T10", "power-cap", rules.power_cap),
    ("T11", "idle", rules.idle),
    ("T12", "spread", rules.spread),
    ("T13", "trend", rules.trend),
    ("T14", "processes-apart", rules.processes_agree),
    ("T15", "samples", rules.enough_samples),
    ("T16", "processes", rules.enough_processes),
    ("T17", "launch-bound", rules.launch_bound),
    ("T18", "launch-inside", rules.launch_inside),
    ("T19", "other-process", rules.others),
    ("T20", "process-list", rules.list_readable),
    ("T21", "shared-device", rules.shared),
    ("T22", "disputed", witness.disputed),
    ("T23", "outputs", witness.outputs),
)


def judge_timing(cell: TimedCell, gpu: Gpu | None) -> TimingVerdict | None:
    """Whether ``cell`` may be claimed; None where nothing was measured.

    ``gpu`` is the device's record in the host of the same replay. Pure: equal arguments, equal verdicts.
    """
    if not cell.processes:
        return None
    measured = Measured(cell, gpu)
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


def judged_again(timings: Timings, host: Host) -> Timings:
    """The same with every verdict by this bundler's rules, whatever verdicts the record has."""
    gpu = next((each for each in host.gpus if each.index == timings.gpu), None)
    cells = tuple(cell.model_copy(update={"verdict": judge_timing(cell, gpu)}) for cell in timings.cells)
    return timings.model_copy(update={"cells": cells})
