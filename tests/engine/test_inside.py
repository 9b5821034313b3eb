"""The words between the bundler outside and the one inside, which may be a stranger's."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any, NoReturn

import pytest
from typer.testing import CliRunner

from bundler.cli import inside, options
from bundler.engine.inside import Lines, arguments, other_request
from bundler.engine.replayed import Options, Plan
from bundler.engine.steps import PROGRESS, progress_line, read_step
from bundler.errors import BundlerError
from bundler.experiment.load import Loaded
from bundler.model.evidence import Settings
from bundler.model.timing import Timings
from bundler.replay.request import Request, Step
from tests.small import Small, evidence, ground


@pytest.fixture
def loaded(small: Small) -> Loaded:
    return small.load()


ASKED: dict[str, Any] = {
    "device": False,
    "interpreter": False,
    "architectures": (75,),
    "narrow": True,
    "seed": 7,
    "candidates": ("with-skill/01",),
    "cases": ("n=1", "n=100"),
    "jobs": 2,
    "time": True,
    "slow": True,
}
"""Of every field of a request another value than its default."""
WITH: dict[str, Any] = {"architectures": {"architectures": (75, 90)}, "narrow": {"architectures": (75,)}}
"""What such a value is sent with: the experiment declares sm_90, which ``compile`` means too."""
NOT_CARRIED = {"bundle"}
"""The bundle's digest is the asker's to say, who has the bundle."""


def test_every_field_of_a_request_is_tried() -> None:
    assert ASKED.keys() == {field.name for field in fields(Request)} - NOT_CARRIED
    assert not [name for name, value in ASKED.items() if getattr(Request(), name) == value]


@pytest.mark.parametrize(
    "request_",
    [
        *(
            pytest.param(Request(**{name: value} | WITH.get(name, {})), id=name)
            for name, value in ASKED.items()
        ),
        pytest.param(Request(**ASKED | {"device": True}), id="on the device"),
        pytest.param(Request(**ASKED | {"interpreter": True}), id="on the interpreter"),
    ],
)
def test_a_request_arrives_as_it_was_meant(
    small: Small, request_: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the command line of the bundler inside."""
    loaded = _slow(small)
    arrived: list[Request] = []

    def verified(target: object, plan: Plan, options: Options) -> NoReturn:
        arrived.append(plan(loaded))
        raise BundlerError("asked", hint="nothing")

    monkeypatch.setattr(inside, "verified_folder", verified)
    CliRunner().invoke(inside.app, arguments(request_), env={"BUNDLER_BUNDLE": str(small.folder)})
    assert arrived == [request_]


def test_architectures_are_grounds_of_their_own_only_where_they_are_fewer() -> None:
    """A bundler in an older bundle takes no architecture for a ground."""
    every = arguments(Request(device=False, interpreter=False, architectures=(75, 90)))
    assert every[-6:] == ["--ground", "compile", "--arch", "75", "--arch", "90"]
    fewer = arguments(Request(device=False, architectures=(75,), narrow=True))
    assert fewer[-4:] == ["--ground", "compile:sm_75", "--ground", "interpreter"]


def _slow(small: Small) -> Loaded:
    small.declared["cases"][0]["slow"] = ["interpreter"]
    return small.load()


def test_slow_cells_are_asked_for_inside(small: Small) -> None:
    asked = options.Selection(None, None, None, None, "0", 1, slow=True)
    assert "--slow" not in arguments(asked.request(small.load())), "an older bundler does not know it"
    loaded = _slow(small)
    assert "--slow" in arguments(asked.request(loaded))
    assert "--slow" not in arguments(options.Selection(None, None, None, None, "0", 1).request(loaded))


# --- progress --------------------------------------------------------------------------------------------


def test_a_step_arrives() -> None:
    for step in (Step("device", 0, 10), Step("compile", 10, 10), Step("interpreter", 3, 7)):
        assert read_step(progress_line(step)) == step


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "[]",
        "1",
        '{"ground": "device"}',
        '{"ground": "\\u001b[31m", "done": 1, "total": 2}',
        '{"ground": "[bold]device", "done": 1, "total": 2}',
        '{"ground": ["device"], "done": 1, "total": 2}',
        '{"ground": "device", "done": 3, "total": 2}',
        '{"ground": "device", "done": -1, "total": 2}',
        '{"ground": "device", "done": 1.5, "total": 2}',
        '{"ground": "device", "done": true, "total": 2}',
        '{"ground": "device", "done": NaN, "total": 2}',
        '{"ground": "device", "done": 1, "total": 1e400}',
        '{"ground": "device", "done": 1, "total": 100000000000}',
        '{"ground": "device", "done": 1, "total": ' + "9" * 5000 + "}",
        "[" * 100_000,
    ],
)
def test_what_is_no_step(line: str) -> None:
    assert read_step(PROGRESS + line) is None


def test_lines_come_in_any_pieces() -> None:
    steps: list[Step] = []
    said: list[str] = []
    lines = Lines(steps.append, said.append)
    text = f"one\n{progress_line(Step('device', 1, 2))}\n\n  \ntwé\n{PROGRESS}nonsense\n\xff".encode()
    for at in range(0, len(text), 3):
        lines(text[at : at + 3])
    assert steps == [Step("device", 1, 2)]
    assert said == ["one", "twé", f"{PROGRESS}nonsense"]


def test_an_endless_line_takes_no_memory() -> None:
    said: list[str] = []
    lines = Lines(lambda step: None, said.append)
    for _ in range(1000):
        lines(b"x" * 10_000)
    lines(b"\n\xff\xfe\n")
    assert len(said[0]) <= 1 << 16
    assert said[1] == "\ufffd\ufffd"


# --- the answer ------------------------------------------------------------------------------------------

REQUEST = Request(device=False, interpreter=True, architectures=(90,))


def test_the_cells_that_were_asked_for(loaded: Loaded) -> None:
    grounds = {name: ground(loaded) for name in REQUEST.grounds()}
    assert other_request(loaded, REQUEST, evidence(loaded, grounds)) == ""


def test_a_selection_and_the_controls(loaded: Loaded) -> None:
    request = Request(device=False, architectures=(), candidates=("with-skill/01",), cases=("n=1",))
    full = ground(loaded).cells
    chosen = {name: {"n=1": row["n=1"]} for name, row in full.items() if name != "without-skill/01"}
    answer = evidence(loaded, {"interpreter": ground(loaded, cells=chosen)})
    assert other_request(loaded, request, answer) == ""
    without_control = {name: row for name, row in chosen.items() if name != "control-wrong/control-wrong"}
    answer = evidence(loaded, {"interpreter": ground(loaded, cells=without_control)})
    assert other_request(loaded, request, answer) == (
        "2 of 3 cells on interpreter, without control-wrong/control-wrong on n=1"
    )


def test_more_than_was_asked_for(loaded: Loaded) -> None:
    """Nobody counts on it, and nobody would look at where it came from."""
    request = Request(device=False, architectures=(), cases=("n=1",))
    answer = evidence(loaded, {"interpreter": ground(loaded)})
    assert other_request(loaded, request, answer) == (
        "control-right/control-right on n=100 on interpreter, which was not asked for"
    )
    request = Request(device=False, architectures=())
    timed = answer.model_copy(update={"timings": Timings(gpu=0, interleaved=True)})
    assert other_request(loaded, request, timed) == "timings, which were not asked for"
    assert other_request(loaded, replace(request, time=True), timed) == ""


def test_another_seed(loaded: Loaded) -> None:
    answer = evidence(loaded, {"interpreter": ground(loaded)}, settings=Settings(seed=1, grounds=()))
    assert other_request(loaded, REQUEST, answer) == "the seed 1, not 0"


@pytest.mark.parametrize(
    ("asked", "told", "said"),
    [
        (True, True, ""),
        (True, False, "all cells but the slow ones"),
        (True, None, "all cells but the slow ones"),
        (False, False, ""),
        (False, None, ""),
        (False, True, "slow cells, which were not asked for"),
    ],
)
def test_slow_cells(small: Small, asked: bool, told: bool | None, said: str) -> None:
    loaded = _slow(small)
    request = Request(device=False, slow=asked)
    settings = Settings(seed=0, grounds=("interpreter",), slow=told)
    answer = evidence(loaded, {"interpreter": ground(loaded)}, settings=settings)
    assert other_request(loaded, request, answer) == said


def test_a_ground_left_out(loaded: Loaded) -> None:
    answer = evidence(loaded, {"interpreter": ground(loaded)})
    assert other_request(loaded, REQUEST, answer) == "the grounds interpreter, not compile:sm_90, interpreter"


def test_a_cell_left_out(loaded: Loaded) -> None:
    cells = json.loads(ground(loaded).model_dump_json())["cells"]
    del cells["with-skill/01"]["n=100"]
    answer = evidence(loaded, {"compile:sm_90": ground(loaded), "interpreter": ground(loaded, cells=cells)})
    assert other_request(loaded, REQUEST, answer) == (
        "7 of 8 cells on interpreter, without with-skill/01 on n=100"
    )
