"""The report of a replay for a terminal, a file for each part of it; here the styles that the parts share."""

from __future__ import annotations

GOOD, BAD, DIM, WARN = "green", "bold red", "dim", "yellow"
