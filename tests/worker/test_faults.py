"""Exceptions that a candidate wrote: described, never obeyed."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import pytest

from bundler.judge.claims import Raised
from bundler.worker import faults


def _described(error: BaseException) -> dict[str, Any]:
    """The description, through everything that it passes on its way into evidence."""
    text = json.dumps(faults.describe(error), allow_nan=False)
    Raised.model_validate(json.loads(text)).outcome()
    described: dict[str, Any] = json.loads(text)
    return described


def _raise(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:  # noqa: BLE001
        return caught


def test_an_ordinary_one() -> None:
    error = _raise(ValueError("no"))
    assert _described(error) == {"phase": "run", "errors": [["ValueError", "no"]], "resource": None}


def test_the_chain_is_told_and_bounded() -> None:
    error: BaseException = ValueError("0")
    for number in range(1, 20):
        follower = ValueError(str(number))
        follower.__cause__ = error
        error = follower
    assert [text for _, text in _described(error)["errors"]] == ["19", "18", "17", "16"]


def test_a_context_is_told_unless_suppressed() -> None:
    inner, outer = KeyError("inner"), ValueError("outer")
    outer.__context__ = inner
    assert len(_described(outer)["errors"]) == 2
    outer.__suppress_context__ = True
    assert len(_described(outer)["errors"]) == 1


def test_a_circle_of_causes_ends() -> None:
    first, second = ValueError("1"), ValueError("2")
    first.__cause__, second.__cause__ = second, first
    assert len(_described(first)["errors"]) == 2


def _hostile() -> dict[str, BaseException]:
    """Built here, where pytest does not look at them: a look ends the process."""

    class RaisesInStr(BaseException):
        def __str__(self) -> NoReturn:
            raise KeyboardInterrupt

    class LiesAboutItself(BaseException):
        def __eq__(self, other: object) -> NoReturn:
            raise SystemExit(0)

        __hash__ = None  # type: ignore[assignment]

        def __getattribute__(self, name: str) -> NoReturn:
            raise GeneratorExit

    class Text(str):
        __slots__ = ()

        def __getitem__(self, key: object) -> str:
            return "y" * 1_000_000

        def encode(self, *_: object) -> NoReturn:
            raise SystemExit(0)

    class OddText(Exception):
        def __str__(self) -> str:
            return Text("odd \ud800")

    class Meta(type):
        def __getattribute__(cls, name: str) -> NoReturn:
            raise SystemExit(0)

    class HostileClass(Exception, metaclass=Meta):
        pass

    return {
        "RaisesInStr": RaisesInStr(),
        "OddText": OddText(),
        "HostileClass": HostileClass("x"),
        "LiesAboutItself": LiesAboutItself(),
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("RaisesInStr", "<KeyboardInterrupt while its text was asked for>"),
        ("OddText", "odd \\ud800"),
        ("HostileClass", "x"),
    ],
)
def test_hostile_ones(name: str, text: str) -> None:
    assert _described(_raise(_hostile()[name]))["errors"] == [[name, text]]


def test_one_that_is_not_to_be_asked_for_anything() -> None:
    outer = ValueError("outer")
    outer.__cause__ = _hostile()["LiesAboutItself"]
    assert _described(outer)["errors"][1][0] == "LiesAboutItself"


@pytest.mark.parametrize(
    ("error", "name", "text"),
    [
        (ValueError("\ud800\x00\x1b[2J"), "ValueError", "\\ud800\x00\x1b[2J"),
        (ValueError("z" * 10_000_000), "ValueError", "z" * faults.MAX_TEXT),
        (type("N" * 500 + "\n", (Exception,), {})("t"), "N" * 200, "t"),
    ],
    ids=["surrogate", "long text", "long name"],
)
def test_odd_texts_and_names(error: BaseException, name: str, text: str) -> None:
    assert _described(error)["errors"] == [[name, text]]


@pytest.mark.parametrize(
    ("name", "resource", "phase"),
    [
        ("OutOfMemoryError", "out-of-memory", "run"),
        ("MemoryError", "out-of-memory", "run"),
        ("OutOfResources", "out-of-resources", "launch"),
        ("GridTooLarge", "grid-too-large", "launch"),
        ("CompilationError", None, "compile"),
    ],
)
def test_resources_and_phases_go_by_the_class(name: str, resource: str | None, phase: str) -> None:
    described = _described(_raise(type(name, (Exception,), {})("")))
    assert (described["resource"], described["phase"]) == (resource, phase)


@pytest.mark.parametrize(
    ("error", "resource"),
    [
        (BlockingIOError(11, "Resource temporarily unavailable", "ptxas"), "no-process"),
        (RuntimeError("can't start new thread"), "no-process"),
        (OSError(12, "Cannot allocate memory"), None),
        (RuntimeError("[Errno 11] mine"), None),
    ],
)
def test_a_host_that_starts_no_process(error: Exception, resource: str | None) -> None:
    assert _described(_raise(error))["resource"] == resource


def test_the_phase_goes_by_the_deepest_files() -> None:
    scope: dict[str, Any] = {}
    code = "def fail():\n    raise RuntimeError('x')\n"
    exec(compile(code, "/site-packages/triton/compiler/code_generator.py", "exec"), scope)
    with pytest.raises(RuntimeError) as caught:
        scope["fail"]()
    assert _described(caught.value)["phase"] == "compile"
    assert faults.describe(ValueError("x"), phase="import")["phase"] == "import"


@pytest.mark.parametrize(
    ("text", "sticky"),
    [
        ("CUDA error: an illegal memory access was encountered", True),
        ("Triton Error [CUDA]: misaligned address", True),
        ("CUDA error: unspecified launch failure", True),
        ("CUDA error: OS call failed or operation not supported on this OS", True),
        ("Triton Error [CUDA]: invalid argument", False),
        ("CUDA error: invalid device ordinal", False),
        ("this kernel needs CUDA", False),
        ("an illegal memory access was encountered", False),
        ("CUDA out of memory", False),
    ],
)
def test_sticky_faults(text: str, sticky: bool) -> None:
    assert faults.is_sticky(RuntimeError(text)) is sticky


@pytest.mark.parametrize(
    ("text", "resource"),
    [
        ("cuModuleLoadData: CUDA error: out of memory (CUDA_ERROR_OUT_OF_MEMORY)", "out-of-memory"),
        ("Triton Error [CUDA]: out of memory", "out-of-memory"),
        ("CUDA error: an illegal memory access was encountered", None),
        ("the candidate says that it is out of memory", None),
    ],
)
def test_the_driver_says_that_memory_is_out(text: str, resource: str | None) -> None:
    """Where candidates run side by side, one that fills the device would be another one's failure."""
    assert _described(RuntimeError(text))["resource"] == resource
