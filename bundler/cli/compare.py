"""``bundler compare``: one experiment on several hosts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from bundler.cli.console import console
from bundler.cli.evidence import SUFFIXES, read_evidence, refuse_twice
from bundler.cli.outside import loaded_target
from bundler.engine.folder import load_folder
from bundler.errors import BadEvidence, UsageError
from bundler.experiment.load import DECLARATION
from bundler.experiment.subject import mismatch
from bundler.judge.across_hosts import across_hosts
from bundler.model.evidence import Evidence
from bundler.model.experiment import Experiment
from bundler.report import comparison
from bundler.report.terminal import screen
from bundler.report.text import plain


def compare(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Evidence files (.json, .json.gz, .json.xz), folders of them; or experiments, bundles' "
            "images, tars and folders, for their recorded evidence.",
        ),
    ],
    experiment: Annotated[
        Path | None, typer.Option(help="Hold every evidence against this experiment's folder first.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show where hosts agree on an experiment's cells, where they differ, and why as far as can be told.

    Exits with 1 when a cell differs, with 4 when no cell ran on two hosts.
    """
    evidence = [item for source in sources for item in _evidence(source)]
    if len(evidence) < 2:
        raise UsageError(
            f"{', '.join(map(repr, sources))}: {len(evidence)} evidence, and a comparison needs two",
            hint="name another host's evidence as well: bundler verify TARGET --json evidence.json",
        )
    refuse_twice(evidence)
    declared = None
    if experiment is not None:
        declared = _hold(experiment, evidence)
    across = across_hosts(evidence)
    if as_json:
        typer.echo(json.dumps(across.model_dump(mode="json"), indent=1))
    else:
        out = console()
        comparison.show(out, across)
        for source, item in evidence:
            if item.timings:
                out.print(Text(f"\n{plain(source)}", "bold"))
                screen.timings(out, declared, item)
    raise typer.Exit(comparison.exit_code(across))


def _hold(folder: Path, evidence: Sequence[tuple[str, Evidence]]) -> Experiment:
    loaded = load_folder(folder)
    for source, item in evidence:
        if problem := mismatch(loaded, item):
            raise BadEvidence(
                f"{source!r} was recorded with {problem}",
                hint=f"compare evidence of {loaded.experiment.id} as it is now",
            )
    return loaded.experiment


def _evidence(source: str) -> Iterator[tuple[str, Evidence]]:
    path = Path(source)
    if source.endswith(SUFFIXES):
        yield source, read_evidence(source)
    elif path.is_dir() and not _holds_an_experiment(path):
        files = sorted(file for file in path.iterdir() if file.name.endswith(SUFFIXES))
        if not files:
            raise UsageError(f"{source!r} has no evidence in it", hint="name a folder of .json files")
        for file in files:
            yield str(file), read_evidence(str(file))
    else:
        with loaded_target(source) as loaded:
            for name, item in loaded.recorded:
                yield f"{source}: {name}", item


def _holds_an_experiment(path: Path) -> bool:
    return any((path / name).is_file() for name in (DECLARATION, "bundle.json", "oci-layout"))
