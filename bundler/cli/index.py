"""``bundler index``: what the skills' experiments show."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from bundler.errors import ExitCode, UsageError
from bundler.experiment.load import DECLARATION, Loaded, load, read_file
from bundler.experiment.parse import parse_evidence
from bundler.experiment.skill_versions import Current, current, stale_since
from bundler.files import read_at_most, write_below
from bundler.model.evidence import Evidence
from bundler.report import index as report
from bundler.report.index_page import markdown
from bundler.skills import Skill, load_skill

PAGE = Path("proof/README.md")
KEPT = Path("docs/reverifications")


def index(
    root: Annotated[Path, typer.Option(help="The folder that has skills/ and proof/ in it.")] = Path(),
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 when the page is out of date.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, and write nothing.")
    ] = False,
) -> None:
    """Write proof/README.md: every skill, its entries, what they show, and on which hosts.

    Needs scipy: pip install '.[stats]' in bundler's checkout.
    """
    found = gather(root)
    if as_json:
        typer.echo(json.dumps(found.model_dump(mode="json"), indent=1))
        return
    page, text = root / PAGE, markdown(found).encode()
    if not check:
        write_below(root, str(PAGE), text)
        typer.echo(f"{page}")
    elif not page.is_file() or read_at_most(page, len(text)) != text:
        typer.echo(f"{page} is out of date: bundler index", err=True)
        raise typer.Exit(ExitCode.DIFFERS)


def gather(root: Path) -> report.Index:
    """Read every skill, entry and kept evidence below ``root``."""
    folders = sorted(path.parent for path in root.glob("skills/*/*/SKILL.md"))
    if not folders:
        raise UsageError(
            f"{str(root)!r} has no skills/<category>/<name>/SKILL.md", hint="name it with --root"
        )
    skills = [_skill(folder, root) for folder in folders]
    sources = [_source(path.parent) for path in sorted(root.glob(f"proof/*/*/{DECLARATION}"))]
    return report.index(skills, sources, list(_kept(root)))


def _skill(folder: Path, root: Path) -> tuple[Skill, Current]:
    skill = load_skill(folder)
    now = current(root, folder.relative_to(root / "skills").as_posix())
    assert now is not None  # load_skill refuses a SKILL.md without a version
    return skill, now


def _source(folder: Path) -> report.Source:
    loaded = load(folder)
    return report.Source(loaded, _pages(loaded), stale_since(loaded.experiment, loaded.root))


def _kept(root: Path) -> Iterator[tuple[str, Evidence]]:
    for path in sorted((root / KEPT).glob("*.json*")):
        name = (KEPT / path.name).as_posix()
        yield name, parse_evidence(read_file(root / KEPT, path.name), name)


def _pages(entry: Loaded) -> tuple[str, ...]:
    kernel = entry.experiment.id.partition("/")[2]
    names = (f"{kernel}-proof.md", "code-diff.md", "analysis.md")
    return tuple(name for name in names if (entry.folder / name).is_file())
