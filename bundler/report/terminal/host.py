"""What a replay ran on: host, GPUs, software, and what confined the workers."""

from __future__ import annotations

from itertools import chain

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bundler.model.evidence import Evidence
from bundler.model.host import Gpu, Host, Read, Value
from bundler.model.words import not_held
from bundler.report.terminal import DIM, WARN
from bundler.report.text import count, plain


def setup(console: Console, evidence: Evidence) -> None:
    """Host, GPUs, software, what is not as pinned, isolation and seed."""
    rows = Table.grid(padding=(0, 2))
    rows.add_column(no_wrap=True)
    rows.add_column(overflow="fold")
    rows.add_row(Text("host", DIM), Text(machine(evidence.host)))
    for gpu in evidence.host.used_gpus:
        rows.add_row(Text("gpu", DIM), Text(_gpu(gpu)))
    if others := unused_gpus(evidence.host):
        rows.add_row("", Text(others, DIM))
    if evidence.host.no_gpu:
        rows.add_row(Text("gpu", DIM), Text(f"none: {plain(evidence.host.no_gpu)}", WARN))
    software = ", ".join(f"{name} {version}" for name, version in evidence.host.software.items())
    rows.add_row(Text("software", DIM), Text(plain(software)))
    if evidence.not_as_pinned:
        other = ", ".join(f"{name} {difference}" for name, difference in evidence.not_as_pinned.items())
        rows.add_row(Text("", DIM), Text(plain(f"not the pinned runtime: {other}"), WARN))
    rows.add_row(Text("isolation", DIM), isolation(evidence))
    rows.add_row(Text("seed", DIM), Text(str(evidence.settings.seed)))
    console.print(rows)


def machine(host: Host) -> str:
    """Operating system and processor in one line."""
    parts = [value(host, name) for name in ("os", "kernel", "cpu_model")]
    return plain(", ".join(part for part in parts if part) or "unknown")


def value(host: Host, name: str) -> str:
    """A system field's value; empty where it was not read."""
    reading = host.system.get(name)
    return _said(reading.value) if isinstance(reading, Read) else ""


def unused_gpus(host: Host) -> str:
    """``1 more GPU, not used``; empty where there is none."""
    others = len(host.gpus) - len(host.used_gpus)
    return f"{count(others, 'more GPU')}, not used" if others else ""


def _said(value: Value) -> str:
    return (", ".join(value) or "none") if isinstance(value, tuple) else str(value)


def _gpu(gpu: Gpu) -> str:
    def field(name: str) -> str:
        reading = gpu.fields.get(name)
        if reading is None:
            return "not asked"
        return _said(reading.value) if isinstance(reading, Read) else reading.status

    memory = field("memory_total_bytes")
    gib = f"{int(memory) / 2**30:.1f} GiB" if memory.isdigit() else memory
    l2 = field("l2_bytes")
    mib = f"{int(l2) / 2**20:.1f} MiB" if l2.isdigit() else l2
    return plain(
        f"{field('name')}, compute capability {field('compute_capability')}, {gib}, L2 {mib}, "
        f"SM clock {field('sm_clock_mhz')} of {field('sm_clock_max_mhz')} MHz, "
        f"limiting now: {field('event_reasons')}"
    )


def isolation(evidence: Evidence) -> Text:
    """What confined the workers: all of it, or what did not hold and what did."""
    reports = [report.isolation for report in evidence.grounds.values() if report.isolation]
    if not reports:
        return Text("no worker was started", WARN)
    workers = [not_held(report) for report in reports]
    judge = evidence.judge_isolation
    # The harness's process says in one line what it lacks: nothing new where a worker lacks the very same.
    if judge.get("harness") in ["; ".join(lacking) for lacking in workers if lacking]:
        judge = {step: state for step, state in judge.items() if step != "harness"}
    missing = dict.fromkeys(chain(not_held(judge), *workers))
    held = plain(", ".join(step for step in reports[0] if all(r.get(step) == "held" for r in reports)))
    if missing:
        return Text(f"not held: {plain('; '.join(missing))}. Held: {held or 'nothing'}", WARN)
    return Text(f"all held: {held}")
