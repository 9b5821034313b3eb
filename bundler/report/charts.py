"""Charts as SVG, written by hand: the same bytes on every machine, whatever plotting library is installed.

They take colours from the reader's light or dark scheme, name every outcome by a sign too, and hold their
content as text in ``<title>`` and ``<desc>``. ``plots`` draws the same facts
with matplotlib, as files to keep.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from html import escape

from bundler.experiment.load import Loaded
from bundler.model.experiment import Candidate
from bundler.report import signs
from bundler.report.across import Column, Point, Series
from bundler.report.text import plain

CELL = 22
_STYLE = (
    "text{font:12px system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;fill:#1c2128}"
    ".mid{text-anchor:middle}.end{text-anchor:end}.grid{stroke:#c9ced6}"
    ".limit{stroke:#7a0c05;stroke-dasharray:6 4}"
    ".ok{fill:none;stroke:#0b4d1f;stroke-width:1.5}.bad{fill:#a3160c;stroke:#a3160c;stroke-width:1.5}"
    ".back{fill:#fff}"
)
_STYLE_DARK = (
    "text{fill:#e6e9ee}.grid{stroke:#3b4149}.limit{stroke:#ffb3ab}.ok{stroke:#8fe0a3}.bad{fill:#ffb3ab;stroke:#ffb3ab}"
    ".back{fill:#15181c}"
)


def file_name(column: Column) -> str:
    """Of a column's stored heat map, as ``heatmap-compile-sm_75-cpu.svg``."""
    ground = column.group.names[0].replace(":", "-")
    return re.sub(r"[^A-Za-z0-9._-]+", "-", f"heatmap-{ground}-{'-'.join(column.hosts)}.svg")


def heat_map(loaded: Loaded, column: Column) -> str:
    """Cases against candidates, a sign and a colour each."""
    names = {c.id: label(c) for c in loaded.experiment.candidates() if c.id in column.group.report.cells}
    cases = [case.id for case in loaded.experiment.expand()]
    longest = max(map(len, names.values()), default=0)
    left, top = 24 + 7 * max(map(len, cases)), 24 + 6 * longest
    width = left + len(names) * CELL + 16 + 4 * longest
    height = top + len(cases) * CELL + 44
    parts = [_column_head(left + i * CELL + 15, top - 8, name) for i, name in enumerate(names.values())]
    rows = [outcomes_of(column, names, case) for case in cases]
    kinds = list(dict.fromkeys(rows))
    for y, (case, row) in enumerate(zip(cases, rows, strict=True)):
        parts.append(text(left - 8, top + y * CELL + 15, case, "end"))
        parts.append(f'<use href="#r{kinds.index(row)}" x="{left}" y="{top + y * CELL}"/>')
    seen = [name for name in signs.SIGNS if any(name in row for row in kinds)]
    legend = ", ".join(f"{signs.SIGNS[name]} {name}" for name in seen)
    parts.append(text(16, height - 14, legend))
    defined = [*map(sign_of, seen), *(row_of(number, row) for number, row in enumerate(kinds))]
    parts.insert(0, "<defs>" + "\n".join(defined) + "</defs>")
    return svg(width, height, f"Outcomes on {column.title}", legend, parts)


def outcomes_of(column: Column, names: Iterable[str], case: str) -> tuple[str, ...]:
    """Of one case, by candidate; what the evidence lacks was not run."""
    outcomes = [column.group.report.cells[name].get(case) for name in names]
    return tuple(outcome.outcome if outcome else "not-run" for outcome in outcomes)


def row_of(number: int, row: Sequence[str]) -> str:
    """A row is defined once, however many cases have it: the file goes into the bundle, and stays small."""
    cells = "".join(f'<use href="#{name}" x="{x * CELL}"/>' for x, name in enumerate(row))
    return f'<g id="r{number}">{cells}</g>'


def label(candidate: Candidate) -> str:
    """The candidate's name, or its arm's alone where the arm has no other."""
    return candidate.id if len(candidate.arm.outputs) > 1 else candidate.arm.name


def _column_head(x: int, y: int, name: str) -> str:
    return f'<g transform="translate({x} {y}) rotate(-60)">{text(0, 0, name)}</g>'


def sign_of(name: str) -> str:
    """One outcome, to be placed by ``use``."""
    return (
        f'<g id="{name}"><rect class="{name}" width="{CELL - 2}" height="{CELL - 2}" rx="3"/>'
        f'<text class="mid t-{name}" x="10" y="15">{signs.SIGNS[name]}</text></g>'
    )


def errors(points: Sequence[Point], title: str, size: str) -> str:
    """Error in units of the tolerance against size, both on a log axis; the tolerance is the line at 1.

    An error of 0 has no place on a log axis and is drawn on the lowest line, which says so; what is beyond
    ``MOST``, or no number at all, on the highest.
    """
    width, height, left, top = 720, 380, 80, 24
    right, bottom = width - 70, height - 64
    powers = [math.log10(p.error) for p in points if 0 < p.error <= MOST]
    low = min([math.floor(power) for power in powers] + [-1]) - 1
    beyond = any(p.error > MOST for p in points)
    high = max([math.ceil(power) for power in powers] + [1]) + beyond
    sizes = [math.log10(p.size) for p in points] or [0.0]
    first, last = math.floor(min(sizes)), max(math.ceil(max(sizes)), math.floor(min(sizes)) + 1)

    def at_x(size_: int) -> float:
        return left + _ROOM + (math.log10(size_) - first) / (last - first) * (right - left - 2 * _ROOM)

    def at_y(error: float) -> float:
        power = low if error == 0 else high if error > MOST else math.log10(error)
        return bottom - (power - low) / (high - low) * (bottom - top)

    parts = []
    for power in range(low, high + 1):
        y = at_y(10.0**power)
        parts.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        name = "0" if power == low else "beyond" if beyond and power == high else _power(power)
        parts.append(text(left - 8, y + 4, name, "end"))
    for power in range(first, last + 1):
        parts.append(text(at_x(10**power), bottom + 18, _power(power), "mid"))
    limit = at_y(1)
    parts.append(f'<line class="limit" x1="{left}" x2="{right}" y1="{limit:.1f}" y2="{limit:.1f}"/>')
    parts.append(text(right + 6, limit + 4, "tolerance"))
    parts += [_mark(at_x(p.size), at_y(p.error), p) for p in points]
    parts.append(text((left + right) / 2, height - 26, f"size: {size}", "mid"))
    parts.append(text((left + right) / 2, height - 8, _key(points), "mid"))
    parts.append(f'<g transform="translate(16 {(top + bottom) / 2:.1f}) rotate(-90)">')
    parts.append(text(0, 0, "error / tolerance", "mid") + "</g>")
    worst = max((p.error for p in points if p.error <= MOST), default=0)
    said = f"{len(points)} cells; largest error {worst:.3g} tolerances"
    if beyond:
        said += f"; {sum(p.error > MOST for p in points)} beyond {_power(9)}, or no number"
    return svg(width, height, title, said, parts)


MOST = 1e9
"""Tolerances: an error over this many has no scale, since it only says how small the right value was."""


def _key(points: Sequence[Point]) -> str:
    series = [name for name in Series if any(p.series is name for p in points)]
    return ", ".join(f"{_SHAPES[name][0]} {name}" for name in series) + "; filled: wrong"


def _power(power: int) -> str:
    return f"{10**power:,}" if 0 <= power <= 3 else f"1e{power}"


_SHAPES = {
    Series.WITHOUT: ("○", "M{x} {y}m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z"),
    Series.WITH: ("□", "M{x} {y}m-4 -4h8v8h-8z"),
    Series.RECONSTRUCTED: ("◇", "M{x} {y}m0 -5.5l4.5 5.5l-4.5 5.5l-4.5 -5.5z"),
    Series.OTHER: ("△", "M{x} {y}m0 -5l4.5 8.5h-9z"),
}
"""A shape for each series; a filled one is wrong."""
_ASIDE = {Series.WITHOUT: -9, Series.WITH: 0, Series.RECONSTRUCTED: 9, Series.OTHER: 18}
"""Pixels beside the size's place, so that one series does not hide another."""
_ROOM = 24
"""For what stands aside at both ends of the axis."""


def _mark(x: float, y: float, point: Point) -> str:
    error = f"{point.error:.3g} tolerances" if math.isfinite(point.error) else "no number"
    said = f"{point.candidate}, size {point.size:,}: {error}"
    path = _SHAPES[point.series][1].format(x=f"{x + _ASIDE[point.series]:.1f}", y=f"{y:.1f}")
    return f'<path class="{"ok" if point.passed else "bad"}" d="{path}"><title>{safe(said)}</title></path>'


def text(x: float, y: float, said: str, classes: str = "") -> str:
    """One line of text, escaped."""
    named = f' class="{classes}"' if classes else ""
    return f'<text{named} x="{x:g}" y="{y:g}">{safe(said)}</text>'


def safe(said: str) -> str:
    """A stranger's text, fit to stand in XML."""
    return escape(plain(said))


def svg(width: int, height: int, title: str, description: str, parts: Sequence[str], style: str = "") -> str:
    """The whole file; ``style`` is appended to the common one."""
    light, dark = _coloured(signs.LIGHT), _coloured(signs.DARK)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img">\n<title>{safe(title)}</title><desc>{safe(description)}</desc>\n'
        f"<style>{_STYLE}{light}@media (prefers-color-scheme:dark){{{_STYLE_DARK}{dark}}}{style}</style>\n"
        f'<rect class="back" width="{width}" height="{height}"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _coloured(colours: dict[str, tuple[str, str]]) -> str:
    return "".join(
        f".{name}{{fill:{back}}}.t-{name}{{fill:{front}}}" for name, (back, front) in colours.items()
    )
