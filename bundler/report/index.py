"""Every skill, its entries, and what each of them shows: the facts of ``proof/README.md``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Required, TypedDict

from bundler.digest import Digest
from bundler.errors import ExitCode
from bundler.experiment.load import Loaded
from bundler.experiment.skill_versions import Current
from bundler.experiment.subject import mismatch
from bundler.judge.cause import View
from bundler.judge.statistics import ArmRuns, Contrast, Shows, arm_runs, contrasts
from bundler.judge.verdict import exit_code, hold
from bundler.model.base import Frozen, Id
from bundler.model.evidence import Evidence
from bundler.model.experiment import Experiment, Ground, Origin
from bundler.model.outcome import NotRun
from bundler.model.verdict import GroundVerdict, Judgement
from bundler.report.text import count
from bundler.skills import Skill


class HostRow(Frozen):
    """One host on which an entry was judged."""

    host: str
    grounds: tuple[str, ...]
    said: str
    recorded: bool
    """Whether it is the entry's own evidence."""
    reproduced: bool
    """Whether a replay elsewhere was whole, judged something of an answer, and differs nowhere."""
    judged: int = 0
    """Recorded cells of generated answers that it judged, on the device, else by compiling, else by the
    interpreter."""
    of: int = 0
    """All of those, on the same grounds: with fewer, an entry is reproduced in part only."""
    link: str
    """The evidence's file, from the repository's root."""


class Entry(Frozen):
    """One experiment."""

    id: Id
    title: str
    shows: Shows
    """Of the skill as it stands now."""
    stale_since: str
    """The skill's version that the entry was not run with; empty where it is not stale."""
    arms: tuple[ArmRuns, ...]
    contrasts: tuple[Contrast, ...]
    decided_by: tuple[Contrast, ...]
    """Those that give the word in ``shows``; empty where it is none of theirs."""
    reconstructions: int
    """Candidates that were written afterwards; they count for nothing."""
    hosts: tuple[HostRow, ...]
    pages: tuple[str, ...]
    """What there is to read, from the entry's folder."""


class SkillRow(Frozen):
    """One skill, with its entries."""

    name: Id
    version: str
    """The current one: the newest in its folder."""
    path: str
    """Of the current version, from the repository's root."""
    summary: str
    entries: tuple[Entry, ...]

    @property
    def shows(self) -> tuple[Shows, ...]:
        """What its entries show; ``none yet`` without any."""
        return tuple(dict.fromkeys(entry.shows for entry in self.entries)) or (Shows.NONE_YET,)


class Index(Frozen):
    """All skills of a repository."""

    skills: tuple[SkillRow, ...]


Kept = Sequence[tuple[str, Evidence]]
"""Evidence of replays elsewhere: path from the repository's root, and content."""


@dataclass(frozen=True)
class Source:
    """One experiment, and what is known of it beside its own files."""

    loaded: Loaded
    pages: tuple[str, ...] = ()
    """Of its folder."""
    stale_since: str = ""
    """The skill's version that it was not run with."""


def index(skills: Sequence[tuple[Skill, Current]], sources: Sequence[Source], kept: Kept) -> Index:
    """Every skill in the given order, with those entries that name it."""
    return Index(skills=tuple(_skill(skill, current, sources, kept) for skill, current in skills))


def _skill(skill: Skill, current: Current, sources: Sequence[Source], kept: Kept) -> SkillRow:
    name = skill.metadata.id.replace(".", "/")
    return SkillRow(
        name=name,
        version=current.version,
        path=current.path,
        summary=skill.metadata.summary,
        entries=tuple(
            _entry(source, Digest.of(current.guidance), kept)
            for source in sources
            if source.loaded.experiment.skill == name
        ),
    )


def _entry(source: Source, current: Digest, kept: Kept) -> Entry:
    experiment = source.loaded.experiment
    recorded = [evidence for _, evidence in source.loaded.recorded]
    found = contrasts(experiment, recorded)
    word, by = shows(experiment, found, current)
    return Entry(
        id=experiment.id,
        title=experiment.title,
        shows=Shows.STALE if source.stale_since else word,
        stale_since=source.stale_since,
        arms=arm_runs(experiment, recorded),
        contrasts=found,
        decided_by=() if source.stale_since else by,
        reconstructions=sum(c.arm.origin is Origin.RECONSTRUCTED for c in experiment.candidates()),
        hosts=tuple(_hosts(source.loaded, kept)),
        pages=source.pages,
    )


_GRAVITY = (Shows.HURTS, Shows.HELPS, Shows.TOO_FEW, Shows.NO_DIFFERENCE)
"""Of several comparisons, what has to be said first: a harm is never hidden behind a benefit."""


def shows(
    experiment: Experiment, found: Sequence[Contrast], current: Digest
) -> tuple[Shows, tuple[Contrast, ...]]:
    """One word for an entry, and whose it is: of the arms that were given the skill as it stands, if any."""
    skilled = [arm for arm in experiment.arms if arm.origin is Origin.GENERATED and arm.skill]
    now = [arm.name for arm in skilled if arm.skill and arm.skill.sha256 == current]
    names = now or [arm.name for arm in skilled]
    told = [contrast for contrast in found if contrast.with_ in names]
    for word in _GRAVITY:
        if by := tuple(contrast for contrast in told if contrast.shows is word):
            return word, by
    reconstructed = any(arm.origin is Origin.RECONSTRUCTED for arm in experiment.arms)
    return (Shows.RECONSTRUCTION_ONLY if reconstructed and not skilled else Shows.NONE_YET), ()


def _hosts(loaded: Loaded, kept: Kept) -> Iterator[HostRow]:
    for name, evidence in loaded.recorded:
        yield _host(f"proof/{loaded.experiment.id}/{name}", evidence, said="recorded", recorded=True)
    for path, evidence in kept:
        if evidence.subject.experiment == loaded.experiment.id:
            yield _host(path, evidence, recorded=False, **_replayed(loaded, evidence))


class _Replayed(TypedDict, total=False):
    said: Required[str]
    reproduced: bool
    judged: int
    of: int


def _replayed(loaded: Loaded, evidence: Evidence) -> _Replayed:
    """What a replay elsewhere says of the recorded evidence, and of how much of it: controls count for
    nothing, since a cell of one says nothing of an answer."""
    if problem := mismatch(loaded, evidence):
        return {"said": f"not counted: it is of {problem}"}
    verdict = hold(loaded.experiment, evidence, loaded.recorded)
    generated = {c.id for c in loaded.experiment.candidates() if c.arm.origin is Origin.GENERATED}
    held = [ground for ground in verdict.grounds if not ground.reason]
    same = sum(_count(ground, generated, Judgement.REPRODUCED) for ground in held)
    of = sum(_recorded(loaded, ground, generated) for ground in held)
    said = f"{same:,} of {count(of, 'cell')} reproduced, {verdict.count(Judgement.DIFFERS):,} differ"
    decisive = _decisive(held)
    return {
        "said": said if verdict.complete else f"{said}, cut short",
        "reproduced": same > 0 and exit_code(evidence, verdict) is ExitCode.OK,
        "judged": sum(
            _count(ground, generated, Judgement.REPRODUCED, Judgement.DIFFERS) for ground in decisive
        ),
        "of": sum(_recorded(loaded, ground, generated) for ground in decisive),
    }


def _decisive(held: Sequence[GroundVerdict]) -> Sequence[GroundVerdict]:
    """The grounds of the kind that counts most."""
    kinds = (Ground.DEVICE, Ground.COMPILE, Ground.INTERPRETER)
    found = ([ground for ground in held if ground.ground.partition(":")[0] == kind] for kind in kinds)
    return next((grounds for grounds in found if grounds), ())


def _count(ground: GroundVerdict, candidates: Collection[str], *judgements: Judgement) -> int:
    return sum(cell.candidate in candidates and cell.judgement in judgements for cell in ground.cells)


def _recorded(loaded: Loaded, ground: GroundVerdict, candidates: Collection[str]) -> int:
    """How many cells of the candidates the evidence has that a ground is held against."""
    rows = dict(loaded.recorded)[ground.source].grounds[ground.ground].cells
    return sum(
        not isinstance(outcome, NotRun)
        for candidate, row in rows.items()
        if candidate in candidates
        for outcome in row.values()
    )


def _host(
    path: str,
    evidence: Evidence,
    *,
    recorded: bool,
    said: str,
    reproduced: bool = False,
    judged: int = 0,
    of: int = 0,
) -> HostRow:
    view = View(path, evidence)
    device = f"{view.gpu} ({view.architecture or 'architecture not read'})" if view.gpu else ""
    return HostRow(
        host=device or f"no GPU, {view.processor or 'processor not read'}",
        grounds=tuple(name for name, report in evidence.grounds.items() if report.status == "judged"),
        said=said,
        recorded=recorded,
        reproduced=reproduced,
        judged=judged,
        of=of,
        link=path,
    )
