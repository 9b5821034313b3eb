"""Summaries of samples, when there are enough of them, and the ratio of two timings with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Samples = Sequence[float]
_Array = npt.NDArray[np.float64]

MIN_SAMPLES = 10
"""NVBench, ``--min-samples``: at least 10 samples a measurement."""
MIN_SECONDS = 0.5
"""NVBench, ``--min-time``: 0.5 s. There it is execution time; here it is the judge's clock around the
measuring, which a worker cannot claim."""
MAX_NOISE = 0.005
"""NVBench, ``--max-noise``: a relative standard deviation of 0.5 %."""
MAX_ANGLE_DEGREES = 0.048
"""NVBench, entropy criterion, ``max-angle``: the entropy of the samples no longer rises."""
MIN_R2 = 0.36
"""NVBench, entropy criterion, ``min-r2``: how well the line through the entropies has to fit."""
WINDOW = 299
"""NVBench, entropy criterion: how many of the last entropies the line goes through."""
BOOTSTRAPS = 1000
"""Efron and Tibshirani, An Introduction to the Bootstrap, 1993, 14.3: 1000 for percentile intervals."""
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Summary:
    """Microseconds, and how many samples they are of."""

    median: float
    lower_quartile: float
    upper_quartile: float
    least: float
    most: float
    samples: int

    @property
    def relative_iqr(self) -> float:
        """Distance of the quartiles in units of the median."""
        return (self.upper_quartile - self.lower_quartile) / self.median if self.median > 0 else float("inf")


def summarise(samples: Samples) -> Summary:
    """Median, quartiles, extremes. ``samples``: at least one, µs."""
    low, middle, high = np.percentile(samples, (25, 50, 75))
    return Summary(float(middle), float(low), float(high), min(samples), max(samples), len(samples))


def noise(samples: Samples) -> float:
    """Standard deviation in units of the mean; infinite for fewer than two samples."""
    if len(samples) < 2:
        return float("inf")
    mean = float(np.mean(samples))
    return float(np.std(samples, ddof=1)) / mean if mean > 0 else float("inf")


def settled(samples: Samples) -> bool:
    """NVBench's entropy criterion: a line through the entropy after each sample is flat, and fits.

    What has only values of its own settles after about 1,700 samples, what repeats some of them earlier.
    """
    if len(samples) < MIN_SAMPLES:
        return False
    entropy = _entropies(samples)[-WINDOW:]
    at = np.arange(entropy.size, dtype=np.float64)
    slope, intercept = np.polyfit(at, entropy, 1)
    if np.degrees(np.arctan(slope)) > MAX_ANGLE_DEGREES:
        return False
    residual = float(np.sum((entropy - (slope * at + intercept)) ** 2))
    total = float(np.sum((entropy - entropy.mean()) ** 2))
    return total == 0 or 1 - residual / total >= MIN_R2


def _entropies(samples: Samples) -> _Array:
    """The entropy in bits of the first 1, 2, ... samples' values."""
    seen: dict[float, int] = {}
    entropies = np.empty(len(samples))
    weighted = 0.0  # sum of c * log2(c), so that H = log2(n) - weighted / n
    for index, value in enumerate(samples):
        before = seen.get(value, 0)
        seen[value] = before + 1
        weighted += _c_log_c(before + 1) - _c_log_c(before)
        entropies[index] = math.log2(index + 1) - weighted / (index + 1)
    return entropies


def _c_log_c(count: int) -> float:
    return count * math.log2(count) if count else 0.0


def enough(samples: Samples, seconds: float) -> bool:
    """Whether measuring may stop: the floors are reached, and the samples are quiet or have settled."""
    if len(samples) < MIN_SAMPLES or seconds < MIN_SECONDS:
        return False
    return noise(samples) < MAX_NOISE or settled(samples)


@dataclass(frozen=True)
class Ratio:
    """How many times as long the first takes as the second, and the interval of the ratio."""

    value: float
    low: float
    high: float


def ratio(first: Sequence[Samples], second: Sequence[Samples], *, seed: int = 0) -> Ratio:
    """The ratio of two timings, each a process's samples after another, with a percentile bootstrap.

    A timing's value is the median of its processes' medians. Processes are drawn with replacement, since
    they vary more than the samples of one; then each one's samples are. Deterministic for a ``seed``.
    """
    generator = np.random.Generator(np.random.Philox(seed))
    drawn = np.asarray([_draw(first, generator) / _draw(second, generator) for _ in range(BOOTSTRAPS)])
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(drawn, (tail, 100 - tail))
    return Ratio(_value(first) / _value(second), float(low), float(high))


def _value(processes: Sequence[Samples]) -> float:
    return float(np.median([np.median(samples) for samples in processes]))


def _draw(processes: Sequence[Samples], generator: np.random.Generator) -> float:
    medians = []
    for chosen in generator.integers(0, len(processes), len(processes)):
        samples = np.asarray(processes[int(chosen)])
        medians.append(float(np.median(samples[generator.integers(0, samples.size, samples.size)])))
    return float(np.median(medians))
