"""T22 and T23: the rules that hold a worker's claims against what the judge saw itself."""

from __future__ import annotations

import numpy as np

from bundler.model.timing import Method, ProcessTiming
from bundler.timing.facts import Findings, Measured, undetermined, withheld
from bundler.timing.stopwatch import slope

DISPUTE_SHARE = 0.25
"""By how much of the larger one the events and the judge's stopwatch may disagree. Chosen here: rounds back
to back differ from single samples (a warm instruction cache, write-back of the flush); an attack that is
worth it gains more than a quarter."""
DISPUTE_FLOOR_US = {Method.EVENTS: 4.0, Method.GRAPH: 1.0}
"""The same, absolute: two events and the gaps around a call are in a sample and in no round."""


def disputed(m: Measured) -> Findings:
    """T22: the events and the judge's own stopwatch agree on what a call takes."""
    verdicts = [_disputes(process, m.cell.method) for process in m.cell.processes]
    if any(verdict is True for verdict in verdicts):
        count = sum(verdict is True for verdict in verdicts)
        yield withheld(
            f"disputed: in {count} of {len(verdicts)} processes the events and the judge's own stopwatch "
            f"disagree by over {DISPUTE_SHARE:.0%}"
        )
    if any(verdict is None for verdict in verdicts):
        yield undetermined("the judge's own stopwatch gave nothing that is sure enough")


def _disputes(process: ProcessTiming, method: Method) -> bool | None:
    """None: the stopwatch cannot tell."""
    found = slope(process.stopwatch) if process.stopwatch else None
    if not process.samples_us or found is None:
        return None
    # The mean, not the median: calls that leave their work to others are in it.
    claimed = float(np.mean(process.samples_us))
    margin = max(DISPUTE_SHARE * max(claimed, found.call_us), DISPUTE_FLOOR_US[method])
    apart = abs(found.call_us - claimed)
    if apart > margin + found.uncertainty_us:
        # Where rounds waited for launches the stopwatch reads too much, never too little.
        covered = process.stopwatch is not None and process.stopwatch.covered
        return None if not covered and found.call_us > claimed else True
    return False if found.uncertainty_us <= margin else None


def outputs(m: Measured) -> Findings:
    """T23: outputs of timed calls, on inputs that change, are right."""
    wrong = next((process.wrong for process in m.cell.processes if process.wrong), "")
    if wrong:
        yield withheld(f"a timed call's output was wrong: {wrong[:300]}")
    if m.cell.sets < 2:
        yield undetermined("the inputs had one set of values, so that an answer that is repeated looks right")
    if any(process.samples_us and not process.checked for process in m.cell.processes):
        yield undetermined("no timed call's output was checked in one of the processes")
