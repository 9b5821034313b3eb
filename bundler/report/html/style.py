"""The page's style sheet: the file beside this one, and the outcomes' colours, which the charts share."""

from __future__ import annotations

from bundler.report import signs


def sheet(fixed: str) -> str:
    """CSS in the light scheme, the dark one on a screen that asks for it."""
    dark = f"@media screen and (prefers-color-scheme:dark){{{_rules(signs.DARK)}}}"
    return f"{fixed}\n{_rules(signs.LIGHT)}\n{dark}\n"


def _rules(colours: dict[str, tuple[str, str]]) -> str:
    return "".join(f".o-{name}{{background:{back};color:{front}}}" for name, (back, front) in colours.items())
