"""The charts as SVG and PNG files, by matplotlib: for slides and papers. The one import site of matplotlib.

The same facts give the same SVG bytes under one version of matplotlib: identifiers come from a fixed salt,
text stays text, and no date is written. Between versions it may differ, so what CI compares is drawn by
``charts``.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, StrMethodFormatter

from bundler.report import charts, signs, walk
from bundler.report.across import Column, Facts, Series, exact, points, size_names
from bundler.report.text import plain

_SETTINGS: Any = {"svg.hashsalt": "bundler", "svg.fonttype": "none", "font.size": 9, "text.parse_math": False}
_SVG_METADATA = {"Date": None, "Creator": "bundler"}
_PNG_METADATA = {"Software": None}
_NAMES = list(signs.SIGNS)


def files(facts: Facts) -> dict[str, bytes]:
    """``heatmap-device-h200.svg`` and ``.png``, and so on: each ground's outcomes, and its errors if any.

    ``walk.svg`` moves, so it is not matplotlib's, and there is no picture of it.
    """
    walked = walk.walk(facts)
    found = {walk.FILE: walked.encode()} if walked else {}
    for column in facts.columns:
        stem = charts.file_name(column).removesuffix(".svg")
        found |= _both(stem, _heat_map, facts, column)
        if not exact(facts.loaded) and points(facts.loaded, column):
            found |= _both(stem.replace("heatmap-", "errors-", 1), _errors, facts, column)
    return found


def _both(
    stem: str, draw: Callable[[Facts, Column], Figure], facts: Facts, column: Column
) -> dict[str, bytes]:
    with mpl.rc_context(_SETTINGS):
        figure = draw(facts, column)
        return {
            f"{stem}.svg": _saved(figure, format="svg", metadata=_SVG_METADATA),
            f"{stem}.png": _saved(figure, format="png", metadata=_PNG_METADATA, dpi=150),
        }


def _saved(figure: Figure, **how: Any) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, bbox_inches="tight", **how)
    return stream.getvalue()


def _heat_map(facts: Facts, column: Column) -> Figure:
    cells = column.group.report.cells
    candidates = [c for c in facts.loaded.experiment.candidates() if c.id in cells]
    cases = [case.id for case in facts.loaded.experiment.expand()]
    grid = [[_outcome(column, c.id, case) for c in candidates] for case in cases]
    figure = Figure(figsize=(2.4 + 0.3 * len(candidates), 1.6 + 0.22 * len(cases)))
    axes = figure.add_subplot()
    colours = ListedColormap([signs.LIGHT[name][0] for name in _NAMES])
    numbers = [[_NAMES.index(name) for name in row] for row in grid]
    axes.imshow(numbers, cmap=colours, norm=BoundaryNorm(range(len(_NAMES) + 1), len(_NAMES)), aspect="auto")
    for y, row in enumerate(grid):
        for x, name in enumerate(row):
            axes.text(x, y, signs.SIGNS[name], ha="center", va="center", color=signs.LIGHT[name][1])
    axes.set_xticks(range(len(candidates)), [charts.label(c) for c in candidates], rotation=60, ha="right")
    axes.set_yticks(range(len(cases)), cases)
    seen = [name for name in _NAMES if any(name in row for row in grid)]
    legend = ", ".join(f"{signs.SIGNS[name]} {name}" for name in seen)
    axes.set_title(f"{plain(column.title)}\n{legend}", fontsize=9)
    return figure


def _outcome(column: Column, candidate: str, case: str) -> str:
    outcome = column.group.report.cells[candidate].get(case)
    return outcome.outcome if outcome else "not-run"


def _errors(facts: Facts, column: Column) -> Figure:
    """An error of 0 stands at a tenth of the smallest other, since a log axis has no place for it; what is
    beyond the largest that has a scale, or no number, at ten times that."""
    drawn = points(facts.loaded, column)
    floor = min([p.error for p in drawn if p.error > 0] + [0.1]) / 10
    figure = Figure(figsize=(7, 4))
    axes = figure.add_subplot()
    for series, marker in zip(Series, "osD^", strict=True):
        for passed in (True, False):
            chosen = [p for p in drawn if p.passed is passed and p.series is series]
            said = f"{series}{'' if passed else ', wrong'}" if chosen else None
            colour = signs.LIGHT["passed"][1] if passed else "#a3160c"
            sizes, heights = (
                [p.size for p in chosen],
                [min(max(p.error, floor), charts.MOST * 10) for p in chosen],
            )
            fill = "none" if passed else colour
            axes.scatter(sizes, heights, marker=marker, facecolors=fill, edgecolors=colour, label=said)
    axes.axhline(1, color="#7a0c05", linestyle="--", label="tolerance")
    axes.set(xscale="log", yscale="log", ylabel="error / tolerance", title=f"{plain(column.title)}")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(f"size: {' x '.join(size_names(facts.loaded))}")
    axes.legend()
    return figure
