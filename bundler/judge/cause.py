"""Why hosts do not say the same of a cell, as far as their evidence can tell.

Nothing is run again, so a cause is an inference: it is named only when it alone, of all in which the hosts
differ, tells the outcomes apart. Where two would do, both are named and the cause is left undecided.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bundler.digest import Digest
from bundler.model.base import Frozen
from bundler.model.evidence import Evidence
from bundler.model.host import Gpu, Read, Reading
from bundler.model.outcome import Failed, Outcome, Passed, Unstable, Wrong, kind, ran

_NO_PART_OF_IT = {"cuda-core", "nvidia-ml-py"}
"""Software that starts kernels or reads the host, and decides nothing of a cell's values."""


class Cause(enum.StrEnum):
    """What tells the outcomes apart."""

    ARCHITECTURE = "the architecture"
    DEVICE = "the device"
    """Another model of one architecture: its memory, the number of its multiprocessors."""
    PROCESSOR = "the processor"
    """Of the interpreter."""
    VERSIONS = "the versions"
    VALUES = "the values"
    """Drawn from another seed."""
    KERNEL = "the kernel itself"
    """Its repeats disagree, or equal hosts with equal values do."""
    UNDECIDED = "undecided"


class Seen(Frozen):
    """What one host says of a cell."""

    kind: str
    """The outcome's, or why there is none: ``invalid``, ``not-available``, ``not asked``."""
    detail: str = ""
    """A candidate's text or the judge's: shown escaped."""
    error: float | None = None
    """The largest error in units of the tolerance."""


@dataclass(frozen=True)
class View:
    """One host's evidence and what of the host decides what a cell gives."""

    label: str
    """What sentences call it."""
    evidence: Evidence

    @property
    def _device(self) -> Gpu | None:
        host = self.evidence.host
        return host.cuda_device() or (host.gpus[0] if len(host.gpus) == 1 else None)

    @property
    def gpu(self) -> str:
        """The device's name; empty where there is none or it was not read."""
        return _text(self._device.fields if self._device else {}, "name")

    @property
    def architecture(self) -> str:
        """``sm_90``; empty where it was not read."""
        capability = _text(self._device.fields if self._device else {}, "compute_capability")
        return "sm_" + capability.replace(".", "") if capability else ""

    @property
    def processor(self) -> str:
        """Empty where it was not read."""
        return _text(self.evidence.host.system, "cpu_model")

    def versions(self, ground: str) -> dict[str, str]:
        """The software that a ground's outcomes come from; a local suffix as +cpu does not count."""
        found = {name: version.split("+")[0] for name, version in self.evidence.host.software.items()}
        if ground == "device":
            found["driver"] = _text(self.evidence.host.system, "driver_version") or "not read"
        return {name: version for name, version in found.items() if name not in _NO_PART_OF_IT}

    def judged(self, ground: str, candidate: str, case: str) -> Outcome | None:
        """The cell's outcome; None where the ground was not judged or is invalid."""
        report = self.evidence.grounds.get(ground)
        if report is None or report.status != "judged":
            return None
        return report.cells.get(candidate, {}).get(case)

    @staticmethod
    def detail(outcome: Outcome) -> str:
        """The last line of an error, or the judge's finding."""
        if isinstance(outcome, Failed):
            return next((line for line in reversed(outcome.error.splitlines()) if line.strip()), "")
        return str(getattr(outcome, "detail", ""))


def _text(fields: Mapping[str, Reading], name: str) -> str:
    reading = fields.get(name)
    return str(reading.value) if isinstance(reading, Read) else ""


def error_units(outcome: Outcome) -> float | None:
    """The largest error in units of the tolerance, where values were compared."""
    return outcome.error if isinstance(outcome, Passed | Wrong) else None


def ptx(view: View, ground: str, candidate: str, case: str) -> tuple[Digest, ...]:
    """The PTX of the cell's kernels; empty where none was made there."""
    outcome = view.judged(ground, candidate, case)
    if not isinstance(outcome, Passed):
        return ()
    return tuple(view.evidence.kernels[index].ptx for index in outcome.kernels)


Told = Sequence[tuple[View, Outcome]]


def explain(ground: str, candidate: str, case: str, views: Sequence[View]) -> tuple[Cause, tuple[str, ...]]:
    """The cause of a cell's difference, and the sentences that say what it was told from."""
    told = [(v, o) for v in views if (o := v.judged(ground, candidate, case)) and ran(o)]
    cause, reason = _cause(ground, told)
    compiled = _compiled(ground, candidate, case, views, told)
    return cause, (reason, *_outcomes(told), *_versions(ground, told), *compiled)


# --- the cause -------------------------------------------------------------------------------------------


def _cause(ground: str, told: Told) -> tuple[Cause, str]:
    if unstable := [view.label for view, outcome in told if isinstance(outcome, Unstable)]:
        return Cause.KERNEL, f"its own repeats disagree on {' '.join(unstable)}"
    factors = _factors(ground, told)
    if not _tells_apart(list(zip(*factors.values(), strict=True)), told):
        equal = _listed([str(factor) for factor in factors], "and")
        return Cause.KERNEL, f"hosts that are equal in {equal} do not say the same of it"
    alone = [factor for factor, values in factors.items() if _tells_apart(values, told)]
    if len(alone) == 1:
        return alone[0], "of all in which these hosts differ, it alone tells the outcomes apart"
    if alone:
        either = _listed([str(factor) for factor in alone], "or")
        return Cause.UNDECIDED, f"it may be {either}: on these hosts they differ together"
    other = [str(factor) for factor, values in factors.items() if len(set(values)) > 1]
    return Cause.UNDECIDED, f"none of {_listed(other, 'and')} alone tells the outcomes apart"


def _tells_apart(values: Sequence[object], told: Told) -> bool:
    """Whether equal values always go with equal outcomes."""
    by_value: dict[object, set[str]] = {}
    for value, (_, outcome) in zip(values, told, strict=True):
        by_value.setdefault(value, set()).add(kind(outcome))
    return all(len(kinds) == 1 for kinds in by_value.values())


def _factors(ground: str, told: Told) -> dict[Cause, list[object]]:
    """What a ground's outcomes can depend on, a value for each host."""
    views = [view for view, _ in told]
    factors: dict[Cause, list[object]] = {
        Cause.VERSIONS: [tuple(sorted(view.versions(ground).items())) for view in views]
    }
    if ground == "device":
        architectures = [_known(view.architecture, view) for view in views]
        if len(set(architectures)) > 1:
            factors[Cause.ARCHITECTURE] = architectures
        else:
            factors[Cause.DEVICE] = [_known(view.gpu, view) for view in views]
    if ground == "interpreter":
        factors[Cause.PROCESSOR] = [_known(view.processor, view) for view in views]
    if not ground.startswith("compile:"):
        factors[Cause.VALUES] = [view.evidence.settings.seed for view in views]
    return factors


def _known(value: str, view: View) -> object:
    """What was not read is equal to nothing else."""
    return value or (view.label, "not read")


def _listed(names: Sequence[str], joined: str) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {joined} {names[-1]}"


# --- what it was told from -------------------------------------------------------------------------------


def _outcomes(told: Told) -> Iterator[str]:
    """Each outcome once, and who saw it: an error's text, or by how much the tolerance was crossed."""
    by_text = _by((_said(view, outcome), view) for view, outcome in told)
    yield from (f"{' '.join(labels)}: {text}" for text, labels in by_text.items())


def _said(view: View, outcome: Outcome) -> str:
    units = error_units(outcome)
    if isinstance(outcome, Wrong) and outcome.what == "values" and units is not None:
        return f"wrong by {units:.3g} times the tolerance; {outcome.detail}"
    if isinstance(outcome, Passed) and units is not None:
        return f"passed, with an error of {units:.3g} of the tolerance"
    if isinstance(outcome, Failed) and outcome.resource:
        return f"{kind(outcome)}, for want of a resource of the device: {view.detail(outcome)}"
    detail = view.detail(outcome)
    return f"{kind(outcome)}: {detail}" if detail else kind(outcome)


def _versions(ground: str, told: Told) -> Iterator[str]:
    """The packages that alone tell the outcomes apart; where none does, all in which the hosts differ."""
    versions = [view.versions(ground) for view, _ in told]
    names = dict.fromkeys(name for found in versions for name in found)
    values = {name: [found.get(name, "none") for found in versions] for name in names}
    differing = [name for name in names if len(set(values[name])) > 1]
    for name in [name for name in differing if _tells_apart(values[name], told)] or differing:
        by_value = _by((value, view) for value, (view, _) in zip(values[name], told, strict=True))
        yield f"{name}: " + ", ".join(f"{value} on {' '.join(on)}" for value, on in by_value.items())


def _by(pairs: Iterable[tuple[str, View]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text, view in pairs:
        found.setdefault(text, []).append(view.label)
    return found


def _compiled(ground: str, candidate: str, case: str, views: Sequence[View], told: Told) -> Iterator[str]:
    """What the compile grounds of any of the hosts say of the architectures at hand."""
    if ground.startswith("compile:"):
        return
    for architecture in sorted({view.architecture for view, _ in told if view.architecture}):
        name = f"compile:{architecture}"
        known = [(v, o) for v in views if (o := v.judged(name, candidate, case)) and ran(o)]
        for said in dict.fromkeys(kind(outcome) for _, outcome in known):
            labels = " ".join(v.label for v, outcome in known if kind(outcome) == said)
            yield f"{name}, on {labels}: {said} for the same cell"
        made = [kernels for view, _ in told if (kernels := ptx(view, name, candidate, case))]
        if len(made) > 1:
            same = "equal" if len(set(made)) == 1 else "not equal"
            yield f"the PTX for {architecture} is {same} on the hosts that made it"
