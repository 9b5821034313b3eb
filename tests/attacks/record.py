"""A run of the corpus as text: for the terminal, as Markdown, as JSON."""

from __future__ import annotations

import html
import json

from tests.attacks.corpus import FOLDER
from tests.attacks.run import Result, Row


def terminal(result: Result) -> str:
    """One line a row; whatever a candidate wrote is escaped."""
    lines = []
    for row in result.rows:
        state = "ok" if not row.problem else "NOT ALLOWED"
        lines.append(f"{row.ground:<12}{row.entry.name:<30}{_outcomes(row):<40}{state}")
        lines.append(f"{'':<12}{_plain(row.detail)[:120]}" if row.detail else "")
        lines.append(f"{'':<12}{_plain(row.problem)}" if row.problem else "")
    lines += [f"PROBLEM     {_plain(problem)}" for problem in result.problems]
    return "\n".join(filter(None, (*lines, _summary(result), ""))) + "\n"


def _summary(result: Result) -> str:
    bad = sum(bool(row.problem) for row in result.rows) + len(result.problems)
    verdict = "held" if result.held else f"{bad} not as required"
    return f"{len(result.rows)} attacks and reports in {result.seconds} s, seed {result.seed}: {verdict}"


def _outcomes(row: Row) -> str:
    return ", ".join(dict.fromkeys(row.outcomes.values()))


def _plain(text: str) -> str:
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)


def markdown(result: Result) -> str:
    """The table that docs/security/ keeps."""
    lines = [
        f"{_summary(result)}.",
        "",
        *_isolation(result),
        "| attack | what it tries | ground | outcome | allowed | |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in result.rows:
        allowed = " or ".join(row.entry.allowed(row.ground))  # type: ignore[arg-type]
        if row.entry.only:
            allowed += f" in n={row.entry.only}, passed elsewhere"
        cells = (row.entry.name, row.entry.what, row.ground, _outcomes(row), allowed, row.problem or "ok")
        lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    lines += ["", *(f"- {_cell(problem)}" for problem in result.problems)]
    return "\n".join(lines).rstrip() + "\n"


def _isolation(result: Result) -> list[str]:
    lines = []
    for key, evidence in result.evidence.items():
        states = {f"judge: {k}": v for k, v in evidence.judge_isolation.items()}
        states |= next(iter(evidence.grounds.values())).isolation
        lines.append(f"- {_cell(key)}: " + ", ".join(f"{_cell(k)} {_cell(v)}" for k, v in states.items()))
    return [*lines, ""] if lines else []


def _cell(text: str) -> str:
    escaped = html.escape(_plain(text), quote=False)
    return "".join(f"\\{char}" if char in "\\`*_[]|" else char for char in escaped)


def evidence_json(result: Result) -> str:
    """Everything: rows, and each replay's evidence as it would be stored."""
    rows = [
        {
            "ground": row.ground,
            "attack": row.entry.name,
            "outcomes": row.outcomes,
            "detail": row.detail,
            "problem": row.problem,
        }
        for row in result.rows
    ]
    evidence = {key: json.loads(one.model_dump_json(by_alias=True)) for key, one in result.evidence.items()}
    record = {
        "corpus": FOLDER.name,
        "seed": result.seed,
        "seconds": result.seconds,
        "held": result.held,
        "rows": rows,
        "problems": result.problems,
        "evidence": evidence,
    }
    return json.dumps(record, indent=1, ensure_ascii=True) + "\n"
