"""A candidate's arithmetic again, by the harness in plain NumPy: no ground's own limit can explain it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bundler.errors import BadExperiment
from bundler.judge.cell import judge_arrays
from bundler.model.experiment import Case, Experiment
from bundler.model.outcome import Passed, Wrong
from bundler.replay.oracle import Oracle


def cross_checked(
    experiment: Experiment, cases: Iterable[Case], oracle: Oracle
) -> Iterator[tuple[str, Passed | Wrong]]:
    """Each case's id and what the harness's ``cross_check`` gave under the experiment's own rules.

    Raises BadExperiment when the harness raises, or answers in other shapes than its reference.
    """
    for case in cases:
        asked = experiment.judging(case)
        references = oracle.case(case).references
        returned = len(asked.returns)
        answers = []
        for which, answer in enumerate(oracle.cross_check(case)):
            shapes = [array.shape for array in references[which].arrays[returned:]]
            derived = oracle.derive(case, which, answer.arrays, shapes) if asked.derived else ()
            answers.append((*answer.arrays, *derived))
        try:
            yield case.id, judge_arrays(asked, answers, references)
        except ValueError as error:
            raise BadExperiment(
                f"the harness's cross_check on case {case.id!r}: {error}",
                hint="it returns what a candidate would: one array for each entry of returns",
            ) from None
