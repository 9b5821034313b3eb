"""Options that several commands share, and what they mean together."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from bundler.errors import UsageError
from bundler.experiment.load import Loaded
from bundler.model.experiment import Experiment, Ground, Language
from bundler.replay.architectures import KNOWN
from bundler.replay.request import Request
from bundler.report.text import few

_ARCHITECTURE = re.compile(r"(?:sm_)?([0-9]{2,3})|([0-9]{1,2})\.([0-9])", re.IGNORECASE)


def architecture(text: str) -> int:
    """``90``, ``sm_90`` or ``9.0`` as the number that stands in ``compile:sm_90``. Raises UsageError."""
    if found := _ARCHITECTURE.fullmatch(text.strip()):
        return int("".join(filter(None, found.groups())))
    raise UsageError(f"--arch {text!r} is not {_known_architectures()}", hint=_arch_hint(text))


def _arch_hint(text: str) -> str:
    if re.fullmatch(r"(?:sm_)?[0-9]{2,3}[af]", text.strip(), re.IGNORECASE):
        return f"a compile ground is named without the letter: --arch {text.strip()[:-1]}"
    return "name it as 90, sm_90 or 9.0"


def _known_architectures() -> str:
    return f"an architecture that bundler compiles for: {', '.join(map(str, KNOWN))}"


GroundOption = Annotated[
    list[Ground] | None, typer.Option("--ground", help="Only this ground; may be repeated. All by default.")
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
        help="Only this candidate, as with-skill/01, and the controls; may be repeated.",
    ),
]
CaseOption = Annotated[
    list[str] | None, typer.Option("--case", metavar="NAME", help="Only this case; may be repeated.")
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

    grounds: Sequence[Ground] | None
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
        _known("candidate", self.candidates, [c.id for c in experiment.candidates()])
        _known("case", self.cases, [c.id for c in experiment.expand()])
        grounds = set(self.grounds or _grounds_of(experiment))
        return Request(
            device=Ground.DEVICE in grounds,
            interpreter=Ground.INTERPRETER in grounds,
            architectures=self._architectures(loaded) if Ground.COMPILE in grounds else (),
            seed=_seed(self.seed),
            candidates=tuple(self.candidates) if self.candidates else None,
            cases=tuple(self.cases) if self.cases else None,
            jobs=self.jobs,
            time=self.time,
            # Only where it says something: a bundler in an older bundle does not know the option.
            slow=self.slow and bool(experiment.slow_cases(*Ground)),
        )

    def _architectures(self, loaded: Loaded) -> tuple[int, ...]:
        """Those of the recorded evidence, or of the declaration where there is none, and those asked for."""
        recorded = {
            int(name.removeprefix("compile:sm_"))
            for _, evidence in loaded.recorded
            for name in evidence.grounds
            if name.startswith("compile:")
        }
        wanted = (recorded or set(loaded.experiment.architectures)) | set(self.architectures or ())
        if unknown := sorted(wanted.difference(KNOWN)):
            raise UsageError(
                f"sm_{unknown[0]} is not in the table of architectures",
                hint=f"use one of {', '.join(map(str, KNOWN))}",
            )
        return tuple(sorted(wanted))


def _grounds_of(experiment: Experiment) -> list[Ground]:
    """Every ground that could judge a candidate: the interpreter runs no CUDA C++."""
    triton = any(experiment.language_of(arm) is Language.TRITON for arm in experiment.arms)
    return [ground for ground in Ground if triton or ground is not Ground.INTERPRETER]


def _known(what: str, wanted: Sequence[str] | None, there: Sequence[str]) -> None:
    for name in wanted or ():
        if name not in there:
            raise UsageError(f"there is no {what} {name!r}", hint=f"use one of: {few(there, 12)}")


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
