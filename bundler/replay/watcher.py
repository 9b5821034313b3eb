"""The device's state before, while and after a process is timed on it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from bundler.host import Sample, Sampler
from bundler.model.host import Gpu, Read
from bundler.model.timing import HostSample, Phase
from bundler.timing.facts import number
from bundler.timing.others import EMPTY_BYTES

_SAMPLE_S = 0.04
_MOST_HOST_SAMPLES = 24
_LOOKS, _LOOK_S = 5, 0.2


def look(gpu: Gpu, sampler: Callable[..., Sampler], phase: Phase) -> HostSample:
    """One sample, when no timed process is there."""
    with sampler(gpu) as one:
        return HostSample(phase=phase, fields=one.sample())


def look_after(gpu: Gpu, sampler: Callable[..., Sampler]) -> HostSample:
    """Once the driver has taken the process's memory back, or does not do so in time."""
    for _ in range(_LOOKS):
        sample = look(gpu, sampler, "after")
        used = number(sample.fields.get("memory_used_bytes"))
        if used is None or used < EMPTY_BYTES:
            break
        time.sleep(_LOOK_S)
    return sample


class Watcher:
    """Samples the device while requests for samples are under way."""

    def __init__(self, gpu: Gpu, sampler: Callable[..., Sampler], pid: int) -> None:
        self._gpu, self._new, self._pid = gpu, sampler, pid
        self._active = threading.Event()
        self._ended = threading.Event()
        self._found: list[HostSample] = []
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._active.set()
        self._thread.join()

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """For the time of one request."""
        self._active.set()
        try:
            yield
        finally:
            self._active.clear()

    def _run(self) -> None:
        with self._new(self._gpu, own=(self._pid,)) as others, self._new(self._gpu) as everyone:
            while not self._ended.is_set():
                self._active.wait()
                if self._ended.wait(_SAMPLE_S) or not self._active.is_set():
                    continue
                sample = others.sample()
                if self._active.is_set():  # it was all the while, or is again: a batch follows a batch
                    own = None if self._found else _lists_own(sample, everyone.sample())
                    self._found.append(HostSample(phase="during", fields=sample, lists_own=own))

    def condensed(self) -> list[HostSample]:
        """The first, the last, and every one that differs in what decides from the one before it."""
        kept: list[HostSample] = []
        for index, sample in enumerate(self._found):
            last = index == len(self._found) - 1
            if last or not kept or _deciding(sample) != _deciding(kept[-1]):
                kept.append(sample)
        return kept[:_MOST_HOST_SAMPLES]


_DECIDING = ("event_reasons_mask", "memory_clock_mhz", "other_compute_processes", "other_graphics_processes")


def _deciding(sample: HostSample) -> tuple[object, ...]:
    return tuple(sample.fields.get(name) for name in _DECIDING)


def _lists_own(others: Sample, everyone: Sample) -> bool | None:
    """Whether the list of processes has the one that is not counted among the others."""
    name = "other_compute_processes"
    fewer, all_ = others.get(name), everyone.get(name)
    if not (isinstance(fewer, Read) and isinstance(all_, Read)):
        return None
    return int(str(all_.value)) > int(str(fewer.value))
