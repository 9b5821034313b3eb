"""``bundler host``: what this machine is, as a replay records it."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bundler.cli.console import console
from bundler.host import probe_host
from bundler.model.host import Host, Read, Reading

app = typer.Typer()


@app.command()
def host(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Print this machine: each field with its value, or why it could not be read, and who answered."""
    found = probe_host()
    if as_json:
        typer.echo(found.model_dump_json(indent=2))
    else:
        _print(found, console())


def _print(found: Host, out: Console) -> None:
    out.print(_table("System", found.system))
    software = Table("package", "version", title="Software", title_justify="left")
    for name, version in found.software.items():
        software.add_row(Text(name), Text(version))
    out.print(software)
    for gpu in found.gpus:
        out.print(_table(f"GPU {gpu.index}", gpu.fields))
    if found.no_gpu:
        out.print(Text(f"No GPU. {found.no_gpu}"))


def _table(title: str, fields: dict[str, Reading]) -> Table:
    table = Table(title=title, title_justify="left")
    for heading in ("field", "value", "asked"):
        table.add_column(heading, overflow="fold")
    for name, reading in fields.items():
        table.add_row(Text(name), _shown(reading), Text(reading.call))
    return table


def _shown(reading: Reading) -> Text:
    if not isinstance(reading, Read):
        words = reading.status.replace("_", " ")
        return Text(": ".join(filter(None, [words, reading.code])), style="yellow")
    value = reading.value
    return Text((", ".join(value) or "none") if isinstance(value, tuple) else str(value))
