"""Candidates side by side, each in processes of its own; what crowding may explain is tried again alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

from bundler.errors import UnavailableError
from bundler.model.outcome import Crashed, Failed, NotRun, Outcome, TimedOut, Why
from bundler.replay.device import Device
from bundler.replay.process import Refused
from bundler.replay.runner import lacked_a_process

_DEVICE_BYTES = 32 << 30
"""Of the device's memory for each candidate that runs on it: a case may need 20 GiB (inputs of over 2^31
elements), and a CUDA context takes some hundred MiB."""
_PROCESSORS = 4
"""For each candidate on the device: its worker compiles, Triton's ptxas beside it, while the harness and
the judge compute the next reference."""

_FEW = 16
"""Threads that are tried, to tell whether the host starts any more."""


def device_jobs(device: Device, processors: int) -> int:
    """Candidates at a time on the device, at least 1."""
    return max(1, min(processors // _PROCESSORS, device.total_bytes // _DEVICE_BYTES))


def crowded_out(outcomes: Mapping[str, Outcome]) -> bool:
    """Whether what ran beside it may explain an outcome: time, memory, a process that was killed."""
    return any(
        isinstance(outcome, TimedOut | Crashed)
        or (isinstance(outcome, Failed) and outcome.resource in ("out-of-memory", "no-process"))
        or isinstance(outcome, Refused)
        or (isinstance(outcome, NotRun) and outcome.why is Why.NO_MEMORY)
        for outcome in outcomes.values()
    )


def was_refused(outcomes: Mapping[str, Outcome]) -> bool:
    """Whether something was not run since nothing could be started for it."""
    return any(isinstance(outcome, Refused) for outcome in outcomes.values())


def settled(outcomes: Mapping[str, Outcome]) -> Mapping[str, Outcome]:
    """``outcomes`` as evidence has them.

    What a worker says of a want of processes is a claim, so the host is asked, once that worker is gone:
    where this process cannot start threads either, nothing was run.
    """
    if not lacked_a_process(outcomes) or _can_start_threads():
        return {ground: o.plain() if isinstance(o, Refused) else o for ground, o in outcomes.items()}
    why = "the host starts no more processes of this user: stop others, or raise the limit on them"
    return dict.fromkeys(outcomes, NotRun(why=Why.INFRASTRUCTURE, detail=why))


def _can_start_threads() -> bool:
    """Whether a few more fit under this user's limit; a thread counts as a process there."""
    ended = threading.Event()
    started = []
    try:
        for _ in range(_FEW):
            thread = threading.Thread(target=ended.wait, daemon=True)
            thread.start()
            started.append(thread)
    except RuntimeError:
        return False
    finally:
        ended.set()
        for thread in started:
            thread.join()
    return True


def run_all(
    tasks: Sequence[Callable[[], None]], jobs: int, stop: threading.Event, kill: Callable[[], None]
) -> None:
    """Run every task, ``jobs`` at a time, and raise what the first that failed raised.

    ``stop`` is set when one fails or Ctrl-C is pressed: the others end at their next cell. ``kill`` ends
    what they wait for. Raises UnavailableError where this process may have no threads, where its memory is
    spent, and where a library of its own panics (pyo3 raises that past ``Exception``): nothing is waited for
    then, since what else is run may be no better off.
    """
    with ThreadPoolExecutor(jobs) as pool:
        try:
            futures = [pool.submit(_unless_stopped, task, stop) for task in tasks]
        except RuntimeError as error:
            stop.set()
            raise _no_threads(jobs, error) from None
        try:
            ended, others = wait(futures, return_when=FIRST_EXCEPTION)
            if others:  # one failed: what the others would still find out is lost anyway
                stop.set()
            for future in ended:
                _raise(future.exception())
        except (KeyboardInterrupt, _Broken, MemoryError) as error:
            stop.set()
            kill()
            if isinstance(error, KeyboardInterrupt):
                raise
            raise _broken(error) from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _unless_stopped(task: Callable[[], None], stop: threading.Event) -> None:
    """Run it; where it fails, no other begins before that is noticed."""
    if stop.is_set():
        return
    try:
        task()
    except BaseException:
        stop.set()
        raise


class _Broken(Exception):
    """What is no ``Exception`` ended a task, as a panic in a library's native code; ``str`` is its text."""


def _raise(error: BaseException | None) -> None:
    """Pass on what a task raised, if anything."""
    if error is None:
        return
    if isinstance(error, (Exception, KeyboardInterrupt)):
        raise error
    raise _Broken(str(error) or type(error).__name__)


def _broken(error: Exception) -> UnavailableError:
    told = str(error)[:300] or type(error).__name__
    return UnavailableError(
        f"the judge's own process failed: {told}",
        hint="give it more memory, or use fewer --jobs; if it fails again, report it",
    )


def _no_threads(jobs: int, error: RuntimeError) -> UnavailableError:
    return UnavailableError(
        f"{jobs} candidates at a time need as many threads: {error}",
        hint="use fewer --jobs, stop other programs of this user, or raise the limit (ulimit -u)",
    )
