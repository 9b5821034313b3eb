"""Candidates side by side, each in processes of its own; what crowding may explain is tried again alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

from bundler.model.outcome import Crashed, Failed, NotRun, Outcome, TimedOut, Why
from bundler.replay.device import Device

_DEVICE_BYTES = 32 << 30
"""Of the device's memory for each candidate that runs on it: a case may need 20 GiB (inputs of over 2^31
elements), and a CUDA context takes some hundred MiB."""
_PROCESSORS = 4
"""For each candidate on the device: its worker compiles, Triton's ptxas beside it, while the harness and
the judge compute the next reference."""


def device_jobs(device: Device, processors: int) -> int:
    """Candidates at a time on the device, at least 1."""
    return max(1, min(processors // _PROCESSORS, device.total_bytes // _DEVICE_BYTES))


def crowded_out(outcomes: Mapping[str, Outcome]) -> bool:
    """Whether what ran beside it may explain an outcome: time, memory, a process that was killed."""
    return any(
        isinstance(outcome, TimedOut | Crashed)
        or (isinstance(outcome, Failed) and outcome.resource == "out-of-memory")
        or (isinstance(outcome, NotRun) and outcome.why in (Why.NO_MEMORY, Why.INFRASTRUCTURE))
        for outcome in outcomes.values()
    )


def run_all(
    tasks: Sequence[Callable[[], None]], jobs: int, stop: threading.Event, kill: Callable[[], None]
) -> None:
    """Run every task, ``jobs`` at a time, and raise what the first that failed raised.

    ``stop`` is set when one fails or Ctrl-C is pressed: the others end at their next cell. ``kill`` ends
    what they wait for.
    """
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(task) for task in tasks]
        try:
            ended, others = wait(futures, return_when=FIRST_EXCEPTION)
            if others:  # one failed: what the others would still find out is lost anyway
                stop.set()
            for future in ended:
                future.result()
        except KeyboardInterrupt:
            stop.set()
            kill()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
