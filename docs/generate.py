"""Write the generated files again: ``python -m docs.generate``; ``--check`` only compares, and fails."""

from __future__ import annotations

import sys
from pathlib import Path

from typer.testing import CliRunner

from bundler.cli.main import app
from bundler.cli.schema import Schema, schema_json

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = (
    "verify",
    "freeze",
    "rebase",
    "show",
    "env",
    "extract",
    "record",
    "new",
    "declare",
    "check",
    "compare",
    "diff",
    "index",
    "report",
    "host",
    "schema",
    "completion",
    "skills check",
)
HEAD = """\
# Command line

Every command's `--help`. Generated: `make docs`.

Every command ends with one of these exit codes, and says an error in two lines: what is wrong, quoting what
was given, and after `→` the next step.

| exit code | |
|---|---|
| 0 | done; of `verify`, all that was judged is reproduced |
| 1 | something differs: a cell (`verify`, `compare`), a bundle (`diff`), a generated page (`--check`) |
| 2 | the command line cannot be used as given, or names what is not there or of another kind |
| 3 | what is there is damaged, tampered with, or breaks a rule: a bundle, an experiment, evidence, a skill |
| 4 | nothing could be judged, or nothing is recorded yet; of `compare`, no cell ran on two hosts |
| 5 | a control misbehaved, so a ground cannot be trusted |
| 6 | something that is needed could not be had: Docker, a runtime, a library, disk space |
| 7 | the replay was cut short; the evidence has the cells that it had, marked incomplete |
| 130 | interrupted, by Ctrl-C or SIGTERM, before a replay began or in a command without one |

A name that may be an image's, as `row-max` or `row-max:1`, only an engine can look up: it gives 6 where none
answers, and 2 where the engine has no such image. Where what reads the output has gone, as `head` does,
a command ends with 6 and says nothing.
"""


def generated() -> dict[Path, str]:
    """Each file and what it has to hold."""
    files = {ROOT / f"schemas/{which}.schema.json": schema_json(which) for which in Schema}
    return files | {ROOT / "docs/cli.md": cli()}


def cli() -> str:
    """The page of the commands."""
    helps = [f"\n## bundler {name}\n\n```\n{_help(*name.split())}```\n" for name in COMMANDS]
    return f"{HEAD}\n```\n{_help()}```\n" + "".join(helps)


def _help(*command: str) -> str:
    return CliRunner().invoke(app, [*command, "--help"], prog_name="bundler", env={"COLUMNS": "100"}).output


def main() -> int:
    """Write, or compare."""
    stale = [path for path, text in generated().items() if not path.is_file() or path.read_text() != text]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not up to date: make docs", file=sys.stderr)
        return bool(stale)
    for path in stale:
        path.parent.mkdir(exist_ok=True)
        path.write_text(generated()[path])
    return 0


if __name__ == "__main__":
    sys.exit(main())
