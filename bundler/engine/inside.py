"""What is said to the bundler in a container, and what it says: a stranger, whose words are checked."""

from __future__ import annotations

from collections.abc import Callable

from bundler.engine.steps import PROGRESS, read_step
from bundler.experiment.load import Loaded
from bundler.model.evidence import Evidence
from bundler.replay.request import Request, Step


def other_request(loaded: Loaded, request: Request, evidence: Evidence) -> str:
    """How the evidence's cells are not those that were asked for; empty when they are."""
    if evidence.settings.seed != request.seed:
        return f"the seed {evidence.settings.seed}, not {request.seed}"
    if bool(evidence.settings.slow) != request.slow:
        return "all cells but the slow ones" if request.slow else "slow cells, which were not asked for"
    if evidence.timings is not None and not request.time:
        return "timings, which were not asked for"
    if tuple(evidence.grounds) != request.grounds():
        return f"the grounds {', '.join(evidence.grounds)}, not {', '.join(request.grounds())}"
    candidates = [
        c.id
        for c in loaded.experiment.candidates()
        if request.candidates is None or c.id in request.candidates or c.arm.is_control
    ]
    cases = [c.id for c in loaded.experiment.expand() if request.cases is None or c.id in request.cases]
    wanted = {(candidate, case) for candidate in candidates for case in cases}
    for name, report in evidence.grounds.items():
        found = {(candidate, case) for candidate, row in report.cells.items() for case in row}
        if missing := wanted - found:
            return f"{len(found)} of {len(wanted)} cells on {name}, without {' on '.join(min(missing))}"
        if more := found - wanted:
            return f"{' on '.join(min(more))} on {name}, which was not asked for"
    return ""


def arguments(request: Request, answer: str = "-") -> list[str]:
    """The request as the command line of the bundler inside; ``answer`` is where its evidence goes."""
    arguments = ["verify", "--json", answer, "--seed", str(request.seed), "--jobs", str(request.jobs)]
    # An older bundler inside takes no architecture for a ground.
    grounds = {ground if request.narrow else ground.split(":")[0] for ground in request.grounds()}
    for ground in sorted(grounds):
        arguments += ["--ground", ground]
    for sm in () if request.narrow else request.architectures:
        arguments += ["--arch", str(sm)]
    for candidate in request.candidates or ():
        arguments += ["--candidate", candidate]
    for case in request.cases or ():
        arguments += ["--case", case]
    arguments += ["--slow"] if request.slow else []
    return [*arguments, "--time"] if request.time else arguments


class Lines:
    """A container's stderr: progress is taken, the rest is passed on line by line."""

    def __init__(self, step: Callable[[Step], None], say: Callable[[str], None]) -> None:
        self._on_step = step
        self._say = say
        self._rest = b""

    def __call__(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data)[-(1 << 16) :].split(b"\n")
        for line in lines:
            text = line.decode(errors="replace")
            step = read_step(text) if text.startswith(PROGRESS) else None
            if step is not None:
                self._on_step(step)
            elif text.strip():
                self._say(text)
