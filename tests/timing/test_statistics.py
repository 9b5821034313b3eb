"""Summaries, when there are enough samples, ratios and their directions, the stopwatch's slope."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bundler.model.host import Gpu
from bundler.model.timing import Stopwatch, TimedCell, Timings
from bundler.timing.compare import Agreement, Direction, compare, direction, held
from bundler.timing.judge import judge_timing
from bundler.timing.statistics import Ratio, enough, noise, ratio, settled, summarise
from bundler.timing.stopwatch import slope

SOUND = json.loads((Path(__file__).parent / "scenarios" / "sound.json").read_text())


def test_a_summary() -> None:
    found = summarise([4.0, 1.0, 2.0, 3.0, 5.0])
    assert (found.least, found.lower_quartile, found.median, found.upper_quartile, found.most) == (
        1,
        2,
        3,
        4,
        5,
    )
    assert found.samples == 5
    assert found.relative_iqr == pytest.approx(2 / 3)


def test_quiet_samples_are_enough_after_the_floors() -> None:
    quiet = [100.0, 100.1] * 5
    assert noise(quiet) < 0.005
    assert enough(quiet, 0.6)
    assert not enough(quiet, 0.4)
    assert not enough(quiet[:9], 0.6)


def test_loud_samples_are_not_enough() -> None:
    generator = np.random.default_rng(1)
    loud = list(100 + 20 * generator.standard_normal(60))
    assert not enough(loud, 2.0)


def test_entropy_settles_late_where_no_value_repeats() -> None:
    own = [float(value) for value in range(2000)]
    assert settled(own)
    assert not settled(own[:1000])


def test_a_ratio_has_an_interval_and_is_the_same_each_time() -> None:
    generator = np.random.default_rng(1)
    slow = [list(110 + generator.standard_normal(30)) for _ in range(5)]
    fast = [list(100 + generator.standard_normal(30)) for _ in range(5)]
    found = ratio(slow, fast)
    assert found == ratio(slow, fast)
    assert found.low < found.value < found.high
    assert found.value == pytest.approx(1.1, rel=0.01)
    assert direction(found) is Direction.SLOWER


def test_processes_that_vary_widen_the_interval() -> None:
    steady = [[100.0] * 20] * 5
    varying = [[100.0 + 5 * process] * 20 for process in range(-2, 3)]
    assert ratio(steady, steady) == Ratio(1.0, 1.0, 1.0)
    assert ratio(varying, steady).high - ratio(varying, steady).low > 0.05


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.05, 1.2, Direction.SLOWER),
        (0.8, 0.9, Direction.FASTER),
        (0.99, 1.01, Direction.NO_DIFFERENCE),
        (0.9, 1.2, Direction.CANNOT_TELL),
    ],
)
def test_directions(low: float, high: float, expected: Direction) -> None:
    assert direction(Ratio((low + high) / 2, low, high)) is expected


@pytest.mark.parametrize(
    ("recorded", "replayed", "expected"),
    [
        (Direction.SLOWER, Direction.SLOWER, Agreement.SAME),
        (Direction.SLOWER, Direction.FASTER, Agreement.OPPOSITE),
        (Direction.SLOWER, Direction.NO_DIFFERENCE, Agreement.NO_DIFFERENCE),
        (Direction.NO_DIFFERENCE, Direction.NO_DIFFERENCE, Agreement.NO_DIFFERENCE),
        (Direction.NO_DIFFERENCE, Direction.SLOWER, Agreement.CANNOT_TELL),
        (Direction.SLOWER, Direction.CANNOT_TELL, Agreement.CANNOT_TELL),
        (Direction.CANNOT_TELL, Direction.SLOWER, Agreement.CANNOT_TELL),
    ],
)
def test_a_replays_direction_against_the_recorded(
    recorded: Direction, replayed: Direction, expected: Agreement
) -> None:
    assert held(recorded, replayed) is expected


def _timings(*factors: float, interleaved: bool = True) -> Timings:
    gpu = Gpu.model_validate(SOUND["gpu"])
    cells = []
    for index, factor in enumerate(factors):
        declared = json.loads(json.dumps(SOUND["cell"])) | {"candidate": f"arm-{index}/01"}
        for process in declared["processes"]:
            process["samples_us"] = [factor * sample for sample in process["samples_us"]]
            watch = process["stopwatch"]
            watch["with_call"] = [
                [once + (factor - 1) * 270e-4, twice + (factor - 1) * 540e-4]
                for once, twice in watch["with_call"]
            ]
        cell = TimedCell.model_validate(declared)
        cells.append(cell.model_copy(update={"verdict": judge_timing(cell, gpu)}))
    return Timings(gpu=0, interleaved=interleaved, cells=tuple(cells))


def test_two_admissible_timings_have_a_ratio() -> None:
    timings = _timings(1.2, 1.0)
    pair = compare(*timings.cells, timings)
    assert pair.direction is Direction.SLOWER
    assert pair.ratio is not None
    assert pair.ratio.value == pytest.approx(1.2, rel=0.01)


def test_without_turns_there_is_none() -> None:
    timings = _timings(1.2, 1.0, interleaved=False)
    pair = compare(timings.cells[0], timings.cells[1], timings)
    assert (pair.ratio, pair.why_not) == (None, "their processes did not take turns")


def test_a_withheld_one_has_no_ratio() -> None:
    timings = _timings(0.5, 1.0)  # faster than the memory
    pair = compare(*timings.cells, timings)
    assert pair.ratio is None
    assert pair.why_not == "arm-0/01 is withheld"
    assert pair.direction is Direction.CANNOT_TELL


def test_the_slope_is_a_calls_time_whatever_the_rest_costs() -> None:
    watch = Stopwatch(
        calls=100,
        with_call=((0.010, 0.014), (0.012, 0.016), (0.010, 0.0141)),
        without_call=((0.009, 0.010), (0.009, 0.0101)),
    )
    found = slope(watch)
    assert found is not None
    assert found.call_us == pytest.approx(40 - 10.5)
    assert found.uncertainty_us == pytest.approx(0.5 + 0.5)


def test_a_block_that_grows_between_repeats_is_not_in_the_slope() -> None:
    """As on an H200 beside other work: the first repeat's block was 49 ms shorter than the others'."""
    with_call = ((0.0499, 0.0679), (0.0982, 0.1166), (0.0987, 0.1167), (0.0983, 0.1166), (0.0984, 0.1167))
    found = slope(Stopwatch(calls=200, with_call=with_call))
    assert found is not None
    assert found.call_us == pytest.approx(91.5)
    assert found.uncertainty_us < 2


@pytest.mark.parametrize("late", [(0.060, 0.079), (0.067, 0.086), (0.060, 0.110)])
def test_one_repeat_of_five_that_is_off_changes_nothing(late: tuple[float, float]) -> None:
    found = slope(Stopwatch(calls=200, with_call=((0.060, 0.086),) * 4 + (late,)))
    assert found is not None
    assert found.call_us == pytest.approx(130)
    assert found.uncertainty_us == pytest.approx(0)


def test_one_repeat_tells_nothing() -> None:
    assert slope(Stopwatch(calls=10, with_call=((0.1, 0.2),))) is None
