"""``bundler show``, ``env`` and ``extract``: what is in a bundle, without running any of it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bundler.cli.console import console
from bundler.cli.contents import contents
from bundler.cli.targets import TargetArgument, default_target, targets_of
from bundler.digest import Digest
from bundler.errors import UnavailableError, UsageError
from bundler.experiment.load import Loaded
from bundler.files import cannot_write, filling, write_below
from bundler.host import probe_host
from bundler.model.experiment import Candidate, Ground, Language
from bundler.report.summary import title
from bundler.report.terminal.lines import say
from bundler.report.text import count, plain

RUNTIME = Path("/usr/share/bundler/runtime.json")
"""Where a runtime lists what it is made of."""
_SUFFIXES = {Language.TRITON: "py", Language.CUDA: "cu"}


def show(
    context: typer.Context,
    target: TargetArgument = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List what is frozen: task, arms, prompts, outputs, harness, recorded evidence. Runs nothing of it."""
    with targets_of(context).based(target or default_target()) as (loaded, base):
        if as_json:
            typer.echo(json.dumps(contents(loaded) | {"base": base or None}, indent=1))
            return
        out, experiment = console(), loaded.experiment
        say(out, Text.assemble((experiment.id, "bold"), "  ", plain(experiment.title)))
        out.print(_facts(loaded, base))
        _arms(out, loaded)
        for name, evidence in loaded.recorded:
            grounds = ", ".join(_alike(evidence.grounds))
            say(out, Text(plain(f"recorded {name}: {evidence.started}, {grounds}")))
        if not loaded.recorded:
            out.print(Text("no recorded evidence", "yellow"))


def _alike(grounds: Iterable[str]) -> list[str]:
    """Architectures as one: ``compile sm_75 80 86``."""
    found: dict[str, list[str]] = {}
    for ground in grounds:
        found.setdefault(ground.partition(":")[0], []).append(ground)
    return [title(names) for names in found.values()]


def _facts(loaded: Loaded, base: str) -> Table:
    experiment = loaded.experiment
    runtime = experiment.runtime
    rows = Table.grid(padding=(0, 2))
    rows.add_column(no_wrap=True)
    rows.add_column(overflow="fold")
    facts = {
        "skill": experiment.skill,
        "task": f"{experiment.base_task.path} {experiment.base_task.sha256}",
        "harness": f"{experiment.harness.path} {Digest.of(loaded.harness)}",
        "cases": _cases(loaded),
        "model": f"{experiment.model.name}; version {experiment.model.version}; {experiment.model.date}",
        "runtime": f"{runtime.name}: torch {runtime.torch}, triton {runtime.triton}",
    }
    for name, fact in (facts | ({"base": base} if base else {})).items():
        rows.add_row(Text(name, "dim"), Text(plain(fact)))
    return rows


def _cases(loaded: Loaded) -> str:
    experiment = loaded.experiment
    slow = [f"{n} slow on {ground}" for ground in Ground if (n := len(experiment.slow_cases(ground)))]
    left_out = f"; {', '.join(slow)} (run with --slow)" if slow else ""
    cases, sets = count(len(experiment.expand()), "case"), count(experiment.harness.sets, "set")
    return f"{cases}, {sets} of values each{left_out}"


def _arms(out: Console, loaded: Loaded) -> None:
    """A table where every name and digest fits into it whole; else the same, a few lines an output."""
    table = Table(*_HEADS)
    rows = [_output(candidate) for candidate in loaded.experiment.candidates()]
    for row in rows:
        table.add_row(*map(Text, row))
    if out.measure(table, options=out.options.update(max_width=_ANY)).maximum <= out.width:
        out.print(table)
        return
    for arm, origin, skill, path, digest in rows:
        given = f", skill {skill}" if skill != "-" else ""
        say(out, Text.assemble((arm, "bold"), f"  {origin}{given}"))
        say(out, Text(f"    {path}"))
        say(out, Text(f"    {digest}", "dim"))


_ANY = 10_000
"""Columns: more than any table takes."""
_HEADS = ("arm", "origin", "skill", "output", "sha256")


def _output(candidate: Candidate) -> tuple[str, ...]:
    arm, output = candidate.arm, candidate.output
    skill = arm.skill.version if arm.skill else "-"
    return tuple(plain(cell) for cell in (arm.name, arm.origin, skill, output.path, output.sha256))


def runtime_manifest() -> dict[str, Any] | None:
    """What this runtime is made of; None where it does not say."""
    try:
        found = json.loads(RUNTIME.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def env() -> None:
    """Print, as JSON, what this runtime is made of and what the host is."""
    runtime = runtime_manifest()
    host = probe_host().model_dump(mode="json")
    typer.echo(json.dumps({"runtime": runtime, "host": host}, indent=1))


def extract(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="A folder that does not exist yet, or is empty.")],
    target: Annotated[str | None, typer.Option("--from", help="An image, a tar, a folder.")] = None,
) -> None:
    """Write the experiment's files, its skill and every extracted candidate into a folder.

    Runs nothing of them. Of a tar or a folder it needs no Docker.
    """
    with targets_of(context).loaded(target or default_target()) as loaded:
        try:
            if folder.exists() and any(folder.iterdir()):
                hint = "name a folder that is empty or not there"
                raise UsageError(f"{str(folder)!r} is not empty", hint=hint)
            _extract(loaded, folder)
        except OSError as error:
            hint = "in a container, mount a folder and run it with --user $(id -u):$(id -g)"
            refused = cannot_write(folder, error)
            raise UnavailableError(refused.problem, hint=f"{refused.hint}; {hint}") from None
    typer.echo(f"{folder}")


def _extract(loaded: Loaded, folder: Path) -> None:
    with filling(folder):
        for part in (f"proof/{loaded.experiment.id}", f"skills/{loaded.experiment.skill}"):
            _copied(loaded.root / part, folder / part)
        for candidate in loaded.experiment.candidates():
            suffix = _SUFFIXES[loaded.experiment.language_of(candidate.arm)]
            write_below(folder, f"candidates/{candidate.id}.{suffix}", loaded.sources[candidate.id])


def _copied(source: Path, folder: Path) -> None:
    """File by file, so that what is refused is told in a word, as ``shutil.copytree`` does not."""
    for at, _, names in os.walk(source):
        to = folder / Path(at).relative_to(source)
        to.mkdir(parents=True, exist_ok=True)
        for name in names:
            shutil.copyfile(Path(at) / name, to / name)
