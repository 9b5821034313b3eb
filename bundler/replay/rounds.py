"""The judge's own stopwatch: rounds of calls by its clock, to hold the worker's samples against."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from bundler.model.timing import Stopwatch
from bundler.replay.remote_timer import RemoteTimer

_FEWEST_REPEATS, _REPEATS, _MOST_REPEATS = 2, 5, 10
"""Of rounds that were all behind the block; a busy host is late with some."""
_ROUNDS_S = 0.03
_FEWEST_ROUNDS, _MOST_ROUNDS = 8, 200

_now_s = time.perf_counter

Pair = tuple[float, float]
Rounds = Callable[[int, int, bool], tuple[float, bool]]
"""Takes how many, for how many the block is, and whether with the call; gives as ``rounds`` below."""


def time_rounds(
    timer: RemoteTimer, order: Callable[[int], Sequence[int]], *, calls_a_round: int, without: bool
) -> Stopwatch:
    """N and 2N rounds with and, where asked for, without the call, again and again.

    ``order`` gives buffers for so many rounds. Raises as RemoteTimer does.
    """

    def rounds(count: int, most: int, call: bool) -> tuple[float, bool]:
        """Seconds for ``count`` rounds behind a block for ``most``, and whether all were behind it."""
        buffers = order(count)
        started = _now_s()
        answer = timer.do("rounds", order=buffers, call=call, most=most)
        return _now_s() - started, answer.covered

    count = _as_many_as_fit(rounds)
    found = _repeated(rounds, count, (True, False) if without else (True,))
    in_time = [pairs for pairs, covered in found if covered]
    enough = len(in_time) >= _FEWEST_REPEATS
    with_call, *without_call = zip(*(in_time if enough else [pairs for pairs, _ in found]), strict=True)
    return Stopwatch(
        calls=count * calls_a_round,
        with_call=with_call,
        without_call=without_call[0] if without else (),
        covered=enough,
    )


def _as_many_as_fit(rounds: Rounds) -> int:
    """So many rounds, N, that take long enough and that 2N of are all behind the block."""
    few = [rounds(n * _FEWEST_ROUNDS, 2 * _FEWEST_ROUNDS, True)[0] for n in (1, 2)]
    each = max((few[1] - few[0]) / _FEWEST_ROUNDS, 1e-6)
    count = int(min(_MOST_ROUNDS, max(_FEWEST_ROUNDS, _ROUNDS_S / each)))
    # The driver enqueues some thousand launches, then waits for the device: fewer rounds of calls with many.
    while count > _FEWEST_ROUNDS and not rounds(2 * count, 2 * count, True)[1]:
        count = max(_FEWEST_ROUNDS, count // 2)
    return count


def _repeated(rounds: Rounds, count: int, calls: Sequence[bool]) -> list[tuple[list[Pair], bool]]:
    """Of each repeat a pair for each of ``calls``, and whether all of its rounds were behind their blocks."""
    found: list[tuple[list[Pair], bool]] = []
    while len(found) < _MOST_REPEATS and sum(covered for _, covered in found) < _REPEATS:
        pairs = [_pair(rounds, count, call) for call in calls]
        found.append(([pair for pair, _ in pairs], all(covered for _, covered in pairs)))
    return found


def _pair(rounds: Rounds, count: int, call: bool) -> tuple[Pair, bool]:
    """Seconds for N and for 2N rounds, and whether all were behind their block."""
    once, twice = (rounds(n * count, 2 * count, call) for n in (1, 2))
    return (once[0], twice[0]), once[1] and twice[1]
