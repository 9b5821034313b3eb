"""Cells are there before anything runs, and none gets lost."""

from __future__ import annotations

import pytest

from bundler.model.evidence import Kernel
from bundler.model.experiment import Experiment
from bundler.model.outcome import NotRun, Passed, Why
from bundler.replay.cells import Cells, renumber


def test_every_cell_is_there_from_the_start(experiment: Experiment) -> None:
    cells = Cells(("device", "interpreter"), experiment.candidates(), experiment.expand()).snapshot()
    outcomes = [o for grid in cells.values() for row in grid.values() for o in row.values()]
    assert len(outcomes) == 2 * 3 * 3
    assert all(isinstance(outcome, NotRun) and outcome.why is Why.INTERRUPTED for outcome in outcomes)


def test_no_cell_is_added(experiment: Experiment) -> None:
    candidate, case = experiment.candidates()[0], experiment.expand()[0]
    cells = Cells(("device",), [candidate], [case])
    with pytest.raises(KeyError):
        cells.put(candidate, experiment.expand()[1], {"device": Passed()})
    with pytest.raises(KeyError):
        cells.put(candidate, case, {"interpreter": Passed()})
    cells.put(candidate, case, {"device": Passed()})
    assert cells.snapshot() == {"device": {candidate.id: {case.id: Passed()}}}


def test_a_snapshot_does_not_change(experiment: Experiment) -> None:
    candidate, case = experiment.candidates()[0], experiment.expand()[0]
    cells = Cells(("device",), [candidate], [case])
    before = cells.snapshot()
    cells.put(candidate, case, {"device": Passed()})
    assert before["device"][candidate.id][case.id] != Passed()


def _kernel(name: str) -> Kernel:
    digest = "sha256:" + name * 64
    return Kernel.model_validate(
        {"name": name, "ptx": digest, "num_warps": 4, "shared_bytes": 0, "registers": 1, "spill_bytes": 0}
    )


def test_kernels_are_numbered_by_where_they_stand() -> None:
    """Threads add them in any order; the evidence does not show it."""
    a, b, unused = _kernel("a"), _kernel("b"), _kernel("c")
    for kernels, first, second in (((a, b, unused), 0, 1), ((unused, b, a), 2, 1)):
        cells = {
            "compile:sm_90": {
                "x/1": {"n=1": Passed(kernels=(first,)), "n=2": Passed(kernels=(second, first))}
            }
        }
        renumbered, table = renumber(cells, kernels)  # type: ignore[arg-type]
        assert table == (a, b)
        row = renumbered["compile:sm_90"]["x/1"]
        assert [outcome.kernels for outcome in row.values()] == [(0,), (1, 0)]  # type: ignore[union-attr]
