"""The experiment as a walk of a few frames in one SVG: before, after, and what came of it. Pure.

CSS alone moves it. Whoever asks for less motion, and whatever knows no animation, sees the last frame.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from bundler.model.experiment import Arm, Candidate, Origin, by_arm
from bundler.report import charts, signs, summary
from bundler.report.across import Column, Facts
from bundler.report.decided import deciding
from bundler.report.markdown import first_line

FILE = "walk.svg"
_SCALE = 0.75
_STEP = charts.CELL * _SCALE
_PER_LINE = 36
_SECONDS = 3
_LETTERS = 58
"""Of a line of the headline."""
_TOP = 70
_STYLE = ".big{font-size:18px}.head{font-size:16px;font-weight:600}.frame{opacity:0}.last{opacity:1}"
_Strip = tuple[str, ...]


def walk(facts: Facts) -> str:
    """``charts/walk.svg``; empty where no kernel that a model wrote was judged."""
    columns = deciding(facts.loaded.experiment, facts.columns)
    if not columns:
        return ""
    arms = _arms(facts, columns)
    kinds = _kinds(facts, columns, arms)
    left = 32 + 7 * max(len(c.id) for _, candidates in arms for c in candidates)
    frames = [_arm(facts, columns, arm, candidates, kinds, left) for arm, candidates in arms]
    frames.append(_last(facts, columns, [arm for arm, _ in arms]))
    cases = len(facts.loaded.experiment.expand())
    width = max(700, round(left + min(cases, _PER_LINE) * _STEP + 16))
    height = max(bottom for _, bottom in frames) + 40
    seen = [name for name in signs.SIGNS if any(name in strip for strip in kinds)]
    defined = [*map(charts.sign_of, seen), *(charts.row_of(i, strip) for i, strip in enumerate(kinds))]
    drawn = [_frame(i, len(frames), body) for i, (body, _) in enumerate(frames)]
    legend = ", ".join(f"{signs.SIGNS[name]} {name}" for name in seen)
    parts = ["<defs>" + "\n".join(defined) + "</defs>", *drawn, charts.text(16, height - 14, legend)]
    title = f"{facts.loaded.experiment.id}, step by step: {', '.join(arm.name for arm, _ in arms)}"
    return charts.svg(width, height, title, first_line(facts), parts, _STYLE + _motion(len(frames)))


def _arms(facts: Facts, columns: Sequence[Column]) -> list[tuple[Arm, list[Candidate]]]:
    """What a model wrote and was judged: first without the skill, then with it."""
    found = []
    for arm, candidates in by_arm(facts.loaded.experiment):
        there = [c for c in candidates if any(c.id in column.group.report.cells for column in columns)]
        if arm.origin is Origin.GENERATED and there:
            found.append((arm, there))
    return sorted(found, key=lambda pair: pair[0].skill is not None)


def _strips(facts: Facts, column: Column, candidate: Candidate) -> list[_Strip]:
    """The candidate's outcomes on every case, in lines that fit."""
    cases = [case.id for case in facts.loaded.experiment.expand()]
    outcomes = [charts.outcomes_of(column, [candidate.id], case)[0] for case in cases]
    return [tuple(outcomes[i : i + _PER_LINE]) for i in range(0, len(outcomes), _PER_LINE)]


def _kinds(
    facts: Facts, columns: Sequence[Column], arms: Sequence[tuple[Arm, list[Candidate]]]
) -> list[_Strip]:
    every = [
        strip
        for _, candidates in arms
        for column in columns
        for candidate in candidates
        if candidate.id in column.group.report.cells
        for strip in _strips(facts, column, candidate)
    ]
    return list(dict.fromkeys(every))


def _arm(
    facts: Facts,
    columns: Sequence[Column],
    arm: Arm,
    candidates: Sequence[Candidate],
    kinds: Sequence[_Strip],
    left: int,
) -> tuple[str, int]:
    """The frame of an arm, and where it ends."""
    skill = f"with the skill {arm.skill.version}" if arm.skill else "without the skill"
    parts, y = [charts.text(16, 30, f"{arm.name}: {skill}", "head")], float(_TOP)
    for column in columns:
        parts.append(charts.text(16, y - 14, f"{column.title}: {_passed(facts, [column], arm)}"))
        for candidate in candidates:
            if candidate.id in column.group.report.cells:
                parts.append(charts.text(left - 8, y + 12, candidate.id, "end"))
                for strip in _strips(facts, column, candidate):
                    place = f"translate({left} {y:g}) scale({_SCALE})"
                    parts.append(f'<use href="#r{kinds.index(strip)}" transform="{place}"/>')
                    y += _STEP
                y += 4
        y += 30
    return "\n".join(parts), round(y) - 30


def _passed(facts: Facts, columns: Sequence[Column], arm: Arm) -> str:
    counts = [summary.counts(facts.loaded.experiment, c.group.report)[arm.name] for c in columns]
    passed, judged = sum(c.passed for c in counts), sum(c.judged for c in counts)
    return f"{passed:,} of {judged:,} cells that ran passed"


def _last(facts: Facts, columns: Sequence[Column], arms: Sequence[Arm]) -> tuple[str, int]:
    """The headline, and below it each arm's count."""
    lines = textwrap.wrap(first_line(facts), _LETTERS)
    parts = [charts.text(16, 34 + 25 * i, line, "big") for i, line in enumerate(lines)]
    y = 34 + 25 * len(lines) + 8
    for arm in arms:
        parts.append(charts.text(16, y, f"{arm.name}: {_passed(facts, columns, arm)}"))
        y += 20
    return "\n".join(parts), y - 12


def _frame(number: int, frames: int, body: str) -> str:
    last = " last" if number == frames - 1 else ""
    return f'<g class="frame{last} f{number}">\n{body}\n</g>'


def _motion(frames: int) -> str:
    """Each frame in its turn; the last, which has to be read, for two turns."""
    turns = frames + 1
    share, fade = 100 / turns, 8 / turns
    shown = "".join(
        f"@keyframes {name}{{0%{{opacity:0}}{fade:.2f}%,{end - fade:.2f}%{{opacity:1}}"
        f"{end:.2f}%,100%{{opacity:0}}}}"
        for name, end in (("turn", share), ("turns", 2 * share))
    )
    total = turns * _SECONDS
    # A negative delay starts every frame in the midst of the round, so that the first round is like the rest.
    rules = "".join(
        f".f{i}{{animation:{'turns' if i == frames - 1 else 'turn'} {total}s linear "
        f"{i * _SECONDS - total}s infinite}}"
        for i in range(frames)
    )
    return f"{shown}@media (prefers-reduced-motion:no-preference){{{rules}}}"
