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
HEAD = "# Command line\n\nEvery command's `--help`. Generated: `make docs`.\n"


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
