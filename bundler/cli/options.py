"""Options that several commands share, and what they mean together."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import filter as matching
from typing import Annotated

import typer

from bundler.errors import UsageError
from bundler.experiment.load import Loaded
from bundler.model.experiment import Experiment, Ground, Language
from bundler.model.words import near
from bundler.replay.architectures import KNOWN
from bundler.replay.request import Request
from bundler.report.text import few

_ARCHITECTURE = re.compile(r"(?:sm_)?([0-9]{2,3})|([0-9]{1,2})\.([0-9])", re.IGNORECASE)


_COMPILE = f"{Ground.COMPILE}:sm_"


def architecture(text: str, option: str = "--arch ") -> int:
    """``90``, ``sm_90`` or ``9.0`` as the number that stands in ``compile:sm_90``. Raises UsageError."""
    if found := _ARCHITECTURE.fullmatch(text.strip()):
        return int("".join(filter(None, found.groups())))
    hint = "name it as 90, sm_90 or 9.0"
    if re.fullmatch(r"(?:sm_)?[0-9]{2,3}[af]", text.strip(), re.IGNORECASE):
        hint = f"a compile ground is named without the letter: {option}{text.strip()[:-1]}"
    known = ", ".join(map(str, KNOWN))
    raise UsageError(f"{option}{text!r} is not an architecture that bundler compiles for: {known}", hint=hint)


def ground(text: str) -> str:
    """A ground's name, or one architecture's: ``compile:sm_86``. Raises UsageError."""
    name, colon, sm = text.partition(":")
    if name == Ground.COMPILE and colon:
        return f"{_COMPILE}{architecture(sm, '--ground compile:')}"
    if text not in set(Ground):
        raise _unknown("ground", text, tuple(Ground))
    return text


GroundOption = Annotated[
    list[str] | None,
    typer.Option(
        "--ground",
        parser=ground,
        metavar="GROUND",
        autocompletion=lambda: list(Ground),
        help="Only device, interpreter, compile, or compile:sm_86 alone; may be repeated. All by default.",
    ),
]
ArchOption = Annotated[
    list[int] | None,
    typer.Option(
        "--arch",
        parser=architecture,
        metavar="SM",
        help="Compile for this architecture too: 86, sm_86 or 8.6; may be repeated.",
    ),
]
CandidateOption = Annotated[
    list[str] | None,
    typer.Option(
        "--candidate",
        metavar="NAME",
        help="Only this candidate, or a pattern's, as 'with*', and the controls; may be repeated.",
    ),
]
CaseOption = Annotated[
    list[str] | None,
    typer.Option(
        "--case",
        metavar="NAME",
        help="Only this case, or a pattern's, as '*/sliced'; may be repeated.",
    ),
]
SeedOption = Annotated[
    str,
    typer.Option(
        "--seed", metavar="NUMBER", help="The inputs' seed: a number, or random for values nobody has seen."
    ),
]
JobsOption = Annotated[
    int,
    typer.Option(
        "--jobs",
        min=0,
        help="Candidates at a time; 0: chosen by the processors and, on the device, its memory.",
    ),
]
TimeOption = Annotated[
    bool,
    typer.Option("--time", help="Time the cells that the experiment names, on the device; takes minutes."),
]

SlowOption = Annotated[
    bool, typer.Option("--slow", help="Run the cells too that the experiment calls slow on their ground.")
]


@dataclass(frozen=True)
class Selection:
    """What a command line selects of an experiment."""

    grounds: Sequence[str] | None
    """Of ``Ground``, or one architecture's ``compile:sm_86``."""
    architectures: Sequence[int] | None
    candidates: Sequence[str] | None
    cases: Sequence[str] | None
    seed: str
    jobs: int
    time: bool = False
    slow: bool = False

    def request(self, loaded: Loaded) -> Request:
        """The request for ``loaded``; UsageError for a name that it does not have."""
        experiment = loaded.experiment
        candidates, cases = [c.id for c in experiment.candidates()], [c.id for c in experiment.expand()]
        grounds = set(self.grounds or _grounds_of(experiment))
        architectures = self._architectures(loaded, grounds)
        return Request(
            device=Ground.DEVICE in grounds,
            interpreter=Ground.INTERPRETER in grounds,
            architectures=architectures,
            narrow=bool(architectures) and not _architectures_of(loaded).issubset(architectures),
            seed=_seed(self.seed),
            candidates=_chosen("candidate", self.candidates, candidates) or None,
            cases=_chosen("case", self.cases, cases) or None,
            jobs=self.jobs,
            time=self.time,
            # Only where it says something: a bundler in an older bundle does not know the option.
            slow=self.slow and bool(experiment.slow_cases(*Ground)),
        )

    def not_asked_for(self, loaded: Loaded) -> tuple[str, ...]:
        """A line on the grounds that are left out, where some are named."""
        asked = self.request(loaded).grounds()
        every = Selection(None, None, None, None, "0", 0).request(loaded).grounds()
        left = [name for name in every if name not in asked]
        return (f"not asked for: {few(left, len(every))}",) if left else ()

    def _architectures(self, loaded: Loaded, grounds: set[str]) -> tuple[int, ...]:
        """Those that are named; where ``compile`` is, all; with either, those of ``--arch``.

        UsageError where ``--arch`` has no such ground beside it.
        """
        named = {int(name.removeprefix(_COMPILE)) for name in grounds if name.startswith(_COMPILE)}
        wanted = named | (_architectures_of(loaded) if Ground.COMPILE in grounds else set())
        if self.architectures and not named and Ground.COMPILE not in grounds:
            raise UsageError(
                f"--arch {self.architectures[0]} is for the ground compile, which --ground leaves out",
                hint=f"add --ground compile, or --ground compile:sm_{self.architectures[0]} for it alone",
            )
        wanted |= set(self.architectures or ())
        if unknown := sorted(wanted.difference(KNOWN)):
            raise UsageError(
                f"sm_{unknown[0]} is not in the table of architectures",
                hint=f"use one of {', '.join(map(str, KNOWN))}",
            )
        return tuple(sorted(wanted))


def _architectures_of(loaded: Loaded) -> set[int]:
    """Those of the recorded evidence, or of the declaration where there is none."""
    grounds = (name for _, evidence in loaded.recorded for name in evidence.grounds)
    recorded = {int(name.removeprefix(_COMPILE)) for name in grounds if name.startswith(_COMPILE)}
    return recorded or set(loaded.experiment.architectures)


def _grounds_of(experiment: Experiment) -> list[Ground]:
    """Every ground that could judge a candidate: the interpreter runs no CUDA C++."""
    triton = any(experiment.language_of(arm) is Language.TRITON for arm in experiment.arms)
    return [ground for ground in Ground if triton or ground is not Ground.INTERPRETER]


def _chosen(what: str, wanted: Sequence[str] | None, there: Sequence[str]) -> tuple[str, ...]:
    """Those of ``there`` that are named or fit a pattern, in its order. Raises UsageError where none does."""
    found: set[str] = set()
    for name in wanted or ():
        if not (fit := matching(there, name)):
            raise _unknown(what, name, there)
        found.update(fit)
    return tuple(name for name in there if name in found)


def _unknown(what: str, name: str, there: Sequence[str]) -> UsageError:
    folders = dict.fromkeys(f"{one.rpartition('/')[0]}/*" for one in there if "/" in one)
    close = ", ".join(near(name, list(folders) if "*" in name else there))
    hint = f"did you mean {close}?" if close else f"use one of: {few(there, 12)}"
    return UsageError(f"there is no {what} {name!r}", hint=hint)


def _seed(text: str) -> int:
    if text == "random":
        return secrets.randbits(53)
    try:
        seed = int(text)
    except ValueError:
        seed = -1
    if not 0 <= seed < 2**63:
        raise UsageError(f"{text!r} is no seed", hint="give a whole number from 0 on, or random")
    return seed
