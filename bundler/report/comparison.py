"""What several hosts say of one experiment, for a terminal: cells that agree are counted, not listed."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bundler.errors import ExitCode
from bundler.judge.across_hosts import AcrossHosts, Agreement, Column, DifferingCell, GroundAcross
from bundler.judge.cause import Cause
from bundler.report import summary
from bundler.report.terminal.lines import say
from bundler.report.text import count, each, few, plain

GOOD, BAD, DIM = "green", "bold red", "dim"


def show(console: Console, across: AcrossHosts) -> None:
    """Hosts, counts a ground, every kind of difference with its explanation, result; in this order."""
    say(console, Text(across.experiment, "bold"))
    _hosts(console, across.hosts)
    console.print()
    console.print(_counts(across))
    for group in _groups(across):
        _difference(console, across, group)
    console.print()
    say(console, result(across))


def exit_code(across: AcrossHosts) -> ExitCode:
    """Something differs, or nothing could be held against anything, or all agrees."""
    if across.count(Agreement.DIFFER):
        return ExitCode.DIFFERS
    return ExitCode.OK if across.count(Agreement.AGREE) else ExitCode.NOTHING_JUDGED


def result(across: AcrossHosts) -> Text:
    """The last line."""
    agree, differ = across.count(Agreement.AGREE), across.count(Agreement.DIFFER)
    alone, none = across.count(Agreement.ONE_HOST), across.count(Agreement.NO_HOST)
    rest = f"{alone:,} ran on one host only, {none:,} on none"
    if differ:
        return Text(f"DIFFER: {count(differ, 'cell')}; {agree:,} agree, {rest}", BAD)
    if agree:
        return Text(f"AGREE: {count(agree, 'cell')} on two hosts or more; {rest}", GOOD)
    return Text(f"NOTHING TO COMPARE: no cell ran on two hosts; {rest}", "yellow")


# --- hosts -----------------------------------------------------------------------------------------------


_ANY = 10_000
"""Columns: more than any table takes."""


def _hosts(console: Console, hosts: Sequence[Column]) -> None:
    """Side by side where every name fits into it whole; else below each other."""
    table = _beside(hosts)
    if console.measure(table, options=console.options.update(max_width=_ANY)).maximum <= console.width:
        console.print(table)
        return
    for host in hosts:
        say(console, Text.assemble((host.label, "bold"), f"  {plain(_machine(host))}"))
        for line in (plain(host.source), plain(_versions(host)), _replay(host)):
            say(console, Text(f"   {line}", DIM))


def _beside(hosts: Sequence[Column]) -> Table:
    rows = Table.grid(padding=(0, 2))
    for _ in range(3):
        rows.add_column(overflow="fold")
    for host in hosts:
        rows.add_row(Text(host.label, "bold"), Text(plain(_machine(host))), Text(plain(host.source)))
        rows.add_row("", Text(plain(_versions(host)), DIM), Text(_replay(host), DIM))
    return rows


def _machine(host: Column) -> str:
    if not host.gpu:
        return f"no GPU, {host.processor or 'processor not read'}"
    return f"{host.gpu}, {host.architecture or 'architecture not read'}"


def _versions(host: Column) -> str:
    return ", ".join(f"{name} {version}" for name, version in host.versions.items())


def _replay(host: Column) -> str:
    cut = "" if host.complete else ", cut short"
    return plain(f"{host.started}, seed {host.seed}{cut}")


# --- counts ----------------------------------------------------------------------------------------------


def _counts(across: AcrossHosts) -> Table:
    table = Table(title="Cells, by how many hosts say the same", title_justify="left", title_style="bold")
    table.add_column("ground")
    table.add_column("ran on")
    for name in ("agree", "differ", "one host", "no host"):
        table.add_column(name, justify="right")
    table.add_column("PTX of cells that two compiled")
    for names, ground in _alike(across.grounds):
        of = each(names)
        differ = Text(f"{ground.differ:,}{of}", BAD if ground.differ else "")
        numbers = (Text(f"{n:,}{of}") for n in (ground.one_host, ground.no_host))
        ptx = Text(_ptx(ground, of))
        table.add_row(
            Text(summary.title(names)),
            Text(_judges(ground, across.hosts)),
            Text(f"{ground.agree:,}{of}"),
            differ,
            *numbers,
            ptx,
        )
    return table


def _alike(grounds: Sequence[GroundAcross]) -> list[tuple[tuple[str, ...], GroundAcross]]:
    """Architectures of which there is nothing different to say share a row; the numbers are each one's."""
    found: dict[object, list[GroundAcross]] = {}
    for ground in grounds:
        key = ground.model_copy(update={"ground": ground.ground.split(":")[0]})
        found.setdefault(key.model_dump_json(), []).append(ground)
    return [(tuple(g.ground for g in alike), alike[0]) for alike in found.values()]


def _judges(ground: GroundAcross, hosts: Sequence[Column]) -> str:
    """The hosts that judged it; those on which a control misbehaved are named as such."""
    by_status = [(status, host.label) for status, host in zip(ground.status, hosts, strict=True)]
    known = " ".join(label for status, label in by_status if status == "judged")
    invalid = [f"{label} invalid" for status, label in by_status if status == "invalid"]
    return ", ".join(filter(None, [known, *invalid])) or "none"


def _ptx(ground: GroundAcross, of: str) -> str:
    if not ground.ptx_same and not ground.ptx_other:
        return ""
    if not ground.ptx_other:
        return f"identical in all {ground.ptx_same:,}{of}"
    return f"identical in {ground.ptx_same:,}, other in {ground.ptx_other:,}{of}"


# --- differences -----------------------------------------------------------------------------------------

Group = tuple[tuple[str, ...], tuple[DifferingCell, ...]]
"""Grounds, and the cells of one candidate that differ on each of them in one way."""


def _groups(across: AcrossHosts) -> list[Group]:
    """By ground, candidate, outcomes and cause; architectures with the very same cells together."""
    by_ground: dict[tuple[str, str, object], list[DifferingCell]] = {}
    for ground in across.grounds:
        for cell in ground.cells:
            key = (ground.ground, cell.candidate, (*(seen.kind for seen in cell.seen), cell.cause))
            by_ground.setdefault(key, []).append(cell)
    found: dict[object, tuple[list[str], list[DifferingCell]]] = {}
    for (ground_name, candidate, outcomes), cells in by_ground.items():
        cases = tuple(cell.case for cell in cells)
        names, _ = found.setdefault((ground_name.split(":")[0], candidate, outcomes, cases), ([], cells))
        names.append(ground_name)
    return [(tuple(names), tuple(cells)) for names, cells in found.values()]


def _difference(console: Console, across: AcrossHosts, group: Group) -> None:
    """One cell x host table, the cases, and the first cell's explanation."""
    grounds, cells = group
    first = cells[0]
    console.print()
    say(
        console,
        Text.assemble(
            (first.candidate, "bold"), f" on {summary.title(grounds)}: ", (count(len(cells), "cell"), BAD)
        ),
    )
    table = Table()
    table.add_column("case")
    for host in across.hosts:
        table.add_column(Text(f"{host.label} {plain(host.gpu or 'no GPU')}"))
    for cell in cells[:_ROWS]:
        table.add_row(Text(plain(cell.case)), *(_seen(seen.kind, seen.error) for seen in cell.seen))
    console.print(table)
    if len(cells) > _ROWS:
        say(console, Text(f"  and {few([plain(cell.case) for cell in cells[_ROWS:]])}", DIM))
    cause = "cause " if first.cause is Cause.UNDECIDED else "because of "
    say(console, Text.assemble("  ", cause, (str(first.cause), "bold"), f": {plain(first.why[0])}"))
    for line in first.why[1:]:
        say(console, Text(f"      {plain(line)}", DIM))


_ROWS = 12
"""Cells that are listed in one table; the rest is named below it."""


def _seen(kind: str, error: float | None) -> Text:
    units = "" if error is None else f" ({error:.3g} of the tolerance)"
    style = GOOD if kind == "passed" else DIM if kind in _NO_WORD else BAD
    return Text(plain(kind) + units, style)


_NO_WORD = {"not-run", "not asked", "not-available", "invalid", "no such cell"}
