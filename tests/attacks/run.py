"""Replay the corpus and hold every outcome against what the corpus allows."""

from __future__ import annotations

import contextlib
import json
import secrets
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bundler.model.evidence import Evidence, GroundReport
from bundler.model.outcome import Failed, NotRun, Outcome, Passed, Wrong
from bundler.replay.replay import replay
from bundler.replay.request import Request, Watch
from tests.attacks.build import build
from tests.attacks.corpus import GROUPS, Entry, GroundName, Group, on

ARCHITECTURE = 90
"""What the compile ground compiles for."""


@dataclass(frozen=True)
class Row:
    """What became of one attack on one ground."""

    ground: str
    entry: Entry
    outcomes: dict[str, str]
    """By case."""
    detail: str
    problem: str
    """Why that is not allowed; empty when it is."""


@dataclass
class Result:
    """A run of the corpus."""

    rows: list[Row] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """What went wrong beside the attacks: controls, grounds, evidence."""
    evidence: dict[str, Evidence] = field(default_factory=dict)
    """By ``group/ground``."""
    seed: int = 0
    seconds: float = 0

    @property
    def held(self) -> bool:
        """Whether every attack got an outcome that it may get, and nothing else was lost."""
        return bool(self.rows) and not self.problems and not any(row.problem for row in self.rows)


def run(
    grounds: Sequence[GroundName],
    *,
    only: Sequence[str] | None = None,
    seed: int | None = None,
    jobs: int = 2,
) -> Result:
    """Every group on every ground. ``seed`` None: a random one."""
    result = Result(seed=secrets.randbits(48) if seed is None else seed)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="bundler-attack-") as root, _listener(Path(root)):
        for ground in grounds:
            for group in GROUPS:
                entries = [e for e in on(ground) if e.group is group and (not only or e.name in only)]
                if entries:
                    _run_group(Path(root), group, ground, entries, result, jobs)
    result.seconds = round(time.monotonic() - started, 1)
    return result


def again(record: dict[str, Any]) -> Result:
    """A recorded run, held against the corpus as it is now: an attack that was added since has no cells."""
    result = Result(problems=list(record["problems"]), seed=record["seed"], seconds=record["seconds"])
    groups = {group.name: group for group in GROUPS}
    for key, stored in record["evidence"].items():
        name, ground = key.split("/")
        evidence = result.evidence[key] = Evidence.model_validate_json(json.dumps(stored))
        report = next(iter(evidence.grounds.values()))
        entries = [entry for entry in on(ground) if entry.group is groups[name]]
        result.rows += [_row(ground, e, report, f"{e.name}/{e.name}", groups[name]) for e in entries]
    return result


@contextlib.contextmanager
def _listener(root: Path) -> Iterator[None]:
    """A UNIX socket that anyone may connect to: the target of ``reach-local-sockets``."""
    root.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "socket"))
        (root / "socket").chmod(0o777)
        server.listen(64)
        yield


def _run_group(
    root: Path, group: Group, ground: GroundName, entries: list[Entry], result: Result, jobs: int
) -> None:
    sys.stderr.write(f"{ground}: {group.name}, {len(entries)} candidates\n")
    loaded = build(root, group, ground)
    ids = {entry.name: f"{entry.name}/{entry.name}" for entry in entries}
    request = Request(
        device=ground == "device",
        interpreter=ground == "interpreter",
        architectures=(ARCHITECTURE,) if ground == "compile" else (),
        seed=result.seed,
        candidates=tuple(ids.values()),
        jobs=jobs,
    )
    evidence = replay(loaded, request, Watch())
    key = f"{group.name}/{ground}"
    result.evidence[key] = evidence
    report = next(iter(evidence.grounds.values()))
    if report.status != "judged":
        result.problems.append(f"{key}: {report.status}: {report.reason}")
    if not evidence.complete:
        result.problems.append(f"{key}: the replay was cut short")
    Evidence.model_validate_json(evidence.model_dump_json(by_alias=True))  # what was stored can be read
    result.rows += [_row(ground, entry, report, ids[entry.name], group) for entry in entries]


def _row(ground: GroundName, entry: Entry, report: GroundReport, name: str, group: Group) -> Row:
    cells = report.cells.get(name, {})
    problems = []
    if set(cells) != {f"n={n}" for n in group.cases}:
        problems.append("cells are missing")
    for case, outcome in cells.items():
        acts = entry.only is None or case == f"n={entry.only}"
        allowed = entry.allowed(ground) if acts else ("passed",)
        if not any(_matches(outcome, one) for one in allowed):
            problems.append(f"{case} is {label(outcome)}, allowed: {', '.join(allowed)}")
        elif acts and entry.mark and entry.mark not in getattr(outcome, "marks", ()):
            problems.append(f"{case} is not marked {entry.mark!s}")
    shown = cells.get(f"n={entry.only or group.cases[0]}")
    outcomes = {case: label(outcome) for case, outcome in cells.items()}
    return Row(ground, entry, outcomes, _detail(shown), "; ".join(problems))


def label(outcome: Outcome) -> str:
    """The outcome, and what it is about."""
    match outcome:
        case Wrong():
            return f"wrong ({outcome.what})"
        case Failed():
            return f"failed ({outcome.phase})"
        case NotRun():
            return f"not-run ({outcome.why})"
        case Passed() if outcome.marks:
            return f"passed ({'; '.join(outcome.marks)})"
    return outcome.outcome


def _matches(outcome: Outcome, allowed: str) -> bool:
    return allowed in (outcome.outcome, label(outcome))


def _detail(outcome: Outcome | None) -> str:
    return (
        "" if isinstance(outcome, Passed) else str(getattr(outcome, "detail", getattr(outcome, "error", "")))
    )
