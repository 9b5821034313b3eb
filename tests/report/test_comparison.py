"""What compare prints."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from bundler.errors import ExitCode
from bundler.experiment.load import Loaded
from bundler.judge.across_hosts import across_hosts
from bundler.model.evidence import Evidence
from bundler.model.host import Gpu, Host, Read
from bundler.model.outcome import Failed, Outcome, Passed, Phase
from bundler.report.comparison import exit_code, show
from tests.small import KERNEL_MADE, UNCOMPILABLE, Small, evidence, ground

GOLDEN = Path(__file__).parent / "golden"
HOSTILE = Failed(phase=Phase.RUN, error="\x1b[31mAGREE\n\u202e[bold]forged")


def seen(loaded: Loaded, outcome: Outcome, name: str, sm: str) -> Evidence:
    fields = {"name": Read(value=name, call="nvml"), "compute_capability": Read(value=sm, call="nvml")}
    found = Host(
        system={"driver_version": Read(value="580.1", call="nvml")},
        software={"torch": "2.13.0", "triton": "3.7.1"},
        gpus=(Gpu(index=0, fields=dict(fields)),),
    )
    return evidence(loaded, {"device": ground(loaded, {"with-skill/01": outcome})}, host=found)


def printed(found: list[tuple[str, Evidence]], width: int = 120) -> str:
    text = io.StringIO()
    show(Console(file=text, width=width, soft_wrap=True, highlight=False), across_hosts(found))
    return text.getvalue()


def hosts(loaded: Loaded) -> list[tuple[str, Evidence]]:
    """The author's, the reviewer's, and a runner without a GPU."""
    compiled = {
        f"compile:sm_{sm}": ground(
            loaded, {"with-skill/01": UNCOMPILABLE if sm == "86" else Passed(kernels=(0,))}
        )
        for sm in ("86", "90")
    }
    return [
        ("author.json", seen(loaded, UNCOMPILABLE, "NVIDIA GeForce RTX 3050 Laptop GPU", "8.6")),
        ("reviewer.json", seen(loaded, Passed(error=0.25), "NVIDIA H200", "9.0")),
        ("runner.json", evidence(loaded, compiled, kernels=(KERNEL_MADE,))),
    ]


def test_a_difference(small: Small) -> None:
    found = hosts(small.load())
    assert printed(found) == (GOLDEN / "across-hosts.txt").read_text()
    assert exit_code(across_hosts(found)) is ExitCode.DIFFERS


def test_agreement(small: Small) -> None:
    found = hosts(small.load())
    same = [found[1], ("again.json", found[1][1])]
    assert printed(same).endswith("AGREE: 8 cells on two hosts or more; 0 ran on one host only, 0 on none\n")
    assert exit_code(across_hosts(same)) is ExitCode.OK


def test_nothing_to_compare(small: Small) -> None:
    found = hosts(small.load())[1:]
    assert "NOTHING TO COMPARE" in printed(found)
    assert exit_code(across_hosts(found)) is ExitCode.NOTHING_JUDGED


def test_a_stranger_forges_nothing(small: Small) -> None:
    loaded = small.load()
    found = [
        ("a\x1b[31m.json", seen(loaded, HOSTILE, "\x1b]0;x\x07[bold]GPU", "8.6")),
        ("b.json", seen(loaded, Passed(), "[red]\u202e", "9.0")),
    ]
    text = printed(found)
    assert [c for c in text if c != "\n" and not c.isprintable()] == []
    assert "[bold]forged" in text
    assert not any(line.startswith("AGREE") for line in text.splitlines())


def test_no_name_is_broken_where_the_table_does_not_fit(small: Small) -> None:
    found = [(f"a/folder/with/a/long/name/{name}", one) for name, one in hosts(small.load())]
    for width in (80, 160):
        text = printed(found, width)
        assert [name for name, _ in found if name not in text] == []
