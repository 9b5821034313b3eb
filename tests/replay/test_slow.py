"""Cells that are slow on their ground: left out unless asked for, and given the time that they take."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from bundler.cli.main import app
from bundler.experiment.load import Loaded, load
from bundler.model.evidence import Evidence
from bundler.model.experiment import Experiment, Ground
from bundler.model.outcome import NotRun, Outcome, Passed, TimedOut, Why, kind
from bundler.replay import execute, grounds_executed
from bundler.replay.allowance import Allowance, allowance_for
from bundler.replay.record import Record
from bundler.replay.replay import replay
from bundler.replay.request import Request, Watch
from bundler.replay.runner import Job, Lost, Session, Unit
from bundler.replay.timing import Bench
from bundler.worker import wire
from tests.replay.fakes import FakeWorker, FakeZygote
from tests.replay.test_grounds import FakeOracle
from tests.small import Small

LEFT_OUT = NotRun(why=Why.SLOW, detail="slow on the interpreter; --slow runs it")
ANSWER, WRONG = "with-skill/01", "control-wrong/control-wrong"


@pytest.fixture
def slow(small: Small) -> Small:
    """n=100 is slow on the interpreter."""
    small.declared["cases"] = [
        {"id": "n={n}", "params": {"n": 1}},
        {"id": "n={n}", "params": {"n": 100}, "slow": ["interpreter"]},
    ]
    return small


def _interpreted(loaded: Loaded, **fields: Any) -> Evidence:
    return replay(loaded, Request(device=False, jobs=1, **fields), Watch())


# --- a replay --------------------------------------------------------------------------------------------


@pytest.mark.torch
def test_they_are_left_out_and_said_to_be(slow: Small) -> None:
    evidence = _interpreted(slow.load())
    report = evidence.grounds["interpreter"]
    assert report.status == "judged"
    assert {kind(row["n=1"]) for row in report.cells.values()} == {"passed", "wrong"}
    assert all(row["n=100"] == LEFT_OUT for row in report.cells.values())
    assert evidence.settings.slow is False


@pytest.mark.torch
def test_they_run_where_they_are_asked_for(slow: Small) -> None:
    evidence = _interpreted(slow.load(), slow=True)
    cells = evidence.grounds["interpreter"].cells
    assert isinstance(cells[ANSWER]["n=100"], Passed)
    assert kind(cells[WRONG]["n=100"]) == "wrong"
    assert evidence.settings.slow is True


@pytest.mark.torch
def test_they_are_compiled_all_the_same(slow: Small) -> None:
    evidence = _interpreted(slow.load(), interpreter=False, architectures=(90,))
    assert isinstance(evidence.grounds["compile:sm_90"].cells[ANSWER]["n=100"], Passed)


@pytest.mark.slow
@pytest.mark.torch
def test_slow_to_compile(slow: Small) -> None:
    slow.declared["cases"][1]["slow"] = ["compile"]
    report = _interpreted(slow.load(), interpreter=False, architectures=(90,)).grounds["compile:sm_90"]
    assert report.cells[ANSWER]["n=100"] == NotRun(
        why=Why.SLOW, detail="slow on the compile grounds; --slow runs it"
    )
    assert isinstance(report.cells[ANSWER]["n=1"], Passed)


def test_an_experiment_without_them_says_nothing_of_them(small: Small) -> None:
    loaded = small.load()
    assert (
        Record(loaded, Request(device=False, slow=True), Watch()).evidence(complete=True).settings.slow
        is None
    )


# --- from the command line -------------------------------------------------------------------------------


def _run(*arguments: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "200"})
    return result.exit_code, result.output


@pytest.mark.torch
@pytest.mark.slow
def test_recorded_and_held_against(slow: Small) -> None:
    """What was recorded with ``--slow`` is held against what runs with it, and without it is not judged."""
    folder = slow.write()
    options = ("--ground", "interpreter", "--jobs", "1")
    assert _run("record", folder, "cpu", "--slow", *options)[0] == 0
    slow.declared["evidence"] = ["evidence/cpu.json.xz"]
    slow.write()
    code, said = _run("verify", folder, *options)
    assert code == 0
    assert "  interpreter, 4 cells: not run here: slow on the interpreter; --slow runs it\n" in said
    assert (
        "REPRODUCED: 4 cells reproduced, 0 differ, 4 not judged; 4 cells left out as slow: --slow runs them"
        in said
    )
    code, said = _run("verify", folder, *options, "--slow")
    assert code == 0
    assert said.endswith("REPRODUCED: 8 cells reproduced, 0 differ, 0 not judged\n")
    # A slow cell that comes out otherwise differs, as any other does.
    _record_otherwise(folder / "evidence/cpu.json.xz", slow)
    assert _run("verify", folder, *options)[0] == 0
    code, said = _run("verify", folder, *options, "--slow")
    assert code == 1
    assert "with-skill/01 on interpreter: recorded crashed, here passed in 1 cell: n=100" in said


def _record_otherwise(path: Path, slow: Small) -> None:
    """Evidence in which the answer's slow cell crashed."""
    loaded = load(slow.folder)
    evidence = json.loads(loaded.recorded[0][1].model_dump_json(by_alias=True))
    evidence["grounds"]["interpreter"]["cells"][ANSWER]["n=100"] = {"outcome": "crashed", "detail": "killed"}
    path.write_bytes(json.dumps(evidence).encode())


@pytest.mark.torch
@pytest.mark.slow
def test_what_was_recorded_without_is_not_judged_with(slow: Small) -> None:
    folder = slow.write()
    options = ("--ground", "interpreter", "--jobs", "1")
    assert _run("record", folder, "cpu", *options)[0] == 0
    slow.declared["evidence"] = ["evidence/cpu.json.xz"]
    slow.write()
    code, said = _run("verify", folder, *options, "--slow")
    assert code == 0
    assert "4 cells: not run when recorded: slow on the interpreter; --slow runs it" in said
    assert said.endswith("REPRODUCED: 4 cells reproduced, 0 differ, 4 not judged\n")


@pytest.mark.torch
def test_nothing_but_slow_cells_is_nothing_judged(slow: Small) -> None:
    code, said = _run("verify", slow.write(), "--ground", "interpreter", "--case", "n=100")
    assert code == 4
    assert "the whole ground, not available: no cell was run: slow on the interpreter; --slow runs it" in said


@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_show_names_them(slow: Small, arguments: Sequence[str]) -> None:
    code, said = _run("show", slow.write(), *arguments)
    assert code == 0
    if arguments:
        assert json.loads(said)["slow"] == {"interpreter": ["n=100"]}
    else:
        assert "2 cases, 1 set of values each; 1 slow on interpreter (run with --slow)" in said


# --- their time ------------------------------------------------------------------------------------------


def _its_time(experiment: Experiment, **limits: float) -> float:
    changed = experiment.model_copy(update={"limits": experiment.limits.model_copy(update=limits)})
    case = changed.expand()[0].model_copy(update={"slow": (Ground.INTERPRETER,)})
    assert changed.cell_seconds(case, Ground.DEVICE) == experiment.limits.cell_seconds
    return changed.cell_seconds(case, Ground.INTERPRETER)


def test_the_limit_of_a_slow_cell(experiment: Experiment) -> None:
    assert _its_time(experiment) == 50
    assert _its_time(experiment, slow_cell_seconds=7) == 7


def test_a_slow_cell_is_waited_for_that_long(job: Job) -> None:
    def behaviour(header: dict[str, Any], worker: FakeWorker) -> dict[str, Any]:
        raise wire.DeadlinePassed("too late")

    def outcome(slow: tuple[Ground, ...]) -> Outcome | None:
        zygote = FakeZygote(behaviour)
        ask = execute.caller(job, FakeOracle(), Session(), zygote, on_device=False)  # type: ignore[arg-type]
        case = job.experiment.expand()[0].model_copy(update={"slow": slow})
        with pytest.raises(Lost) as lost:
            ask(zygote.spawn(job.allowance), Unit(case, ("interpreter",)))
        return lost.value.outcome

    assert outcome(()) == TimedOut(limit_seconds=5)
    assert outcome((Ground.INTERPRETER,)) == TimedOut(limit_seconds=50)
    assert outcome((Ground.DEVICE,)) == TimedOut(limit_seconds=5)


def test_a_processs_share_of_the_processor_grows_with_them(experiment: Experiment) -> None:
    usual = Allowance.cpu_seconds
    assert allowance_for(experiment.limits, on_device=False).cpu_seconds == usual
    assert allowance_for(experiment.limits, on_device=False, slow_s=99.5).cpu_seconds == usual + 100


@pytest.mark.torch
@pytest.mark.parametrize(("slow_on", "cpu_seconds"), [(["device"], 3600 + 1200), (["interpreter"], 3600)])
def test_a_timed_process_has_as_much_where_its_cell_is_slow(
    small: Small, monkeypatch: pytest.MonkeyPatch, slow_on: list[str], cpu_seconds: int
) -> None:
    """Waiting for the device takes the processor too, so what a slow cell may take is on top of an hour."""
    from tests.timing.fakes import GPU  # imports torch

    small.declared["limits"] = {"cell_seconds": 120}
    small.declared["cases"] = [{"id": "n={n}", "params": {"n": 100}, "slow": slow_on}]
    small.declared["timing"] = {"cases": ["n=100"], "bytes": "8 * n"}
    record = Record(small.load(), Request(interpreter=False, time=True, slow=True), Watch())
    record.host = SimpleNamespace(cuda_device=lambda: GPU)  # type: ignore[assignment]
    timed: list[Bench] = []
    monkeypatch.setattr(grounds_executed, "time_cells", lambda bench, *_, **__: timed.append(bench))
    grounds_executed._time(record, FakeZygote(lambda header, worker: {}), FakeOracle())  # type: ignore[arg-type]
    assert [bench.allowance.cpu_seconds for bench in timed] == [cpu_seconds]
