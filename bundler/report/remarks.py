"""What a reader of the headline has to know beside it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from bundler.experiment.deviations import device_names
from bundler.model.experiment import Experiment, Origin
from bundler.report import runs, source_kernel
from bundler.report.across import Column, cases_judged, columns, every_case
from bundler.report.decided import Answers, baseline, decided, fault, generated, verdict
from bundler.report.headline import headline
from bundler.report.summary import LIMIT, Named
from bundler.report.text import count, few


def remarks(
    experiment: Experiment,
    shown: Sequence[Column],
    stale_since: str = "",
    recorded: Sequence[Named] = (),
) -> list[str]:
    """What a reader of the headline has to know beside it, a sentence each.

    ``stale_since``: the skill's version that the experiment was not run with, where it is stale.
    ``recorded``: the experiment's own evidence, which is told of where it has a device and ``shown`` none.
    """
    ground, arms = decided(experiment, shown) or ("", [])
    found = _on_a_device(experiment, recorded) if ground != "device" else []
    found += [f"Stale: the skill is at {stale_since} now, of which nothing is said."] if stale_since else []
    found += [
        f"{fault(experiment, c)} on {c.title}, so nothing there was counted." for c in shown if not c.valid
    ]
    found += _chances(arms, "compile" if ground == "compile" else "are right")
    found += [
        f"On the ground {column.title}, {said}."
        for column in shown
        if ground and column.valid and column.kind != ground
        if (said := _elsewhere(experiment, column, ground))
    ]
    for column in shown:
        ports = source_kernel.said(experiment, column.group.report)
        if ports and column.valid:
            found.append(f"On {column.title}, {ports}.")
    if any(arm.origin is Origin.RECONSTRUCTED for arm in experiment.arms):
        found.append("What was reconstructed is shown, and counts neither for nor against the skill.")
    return found


def _on_a_device(experiment: Experiment, recorded: Sequence[Named]) -> list[str]:
    """What the recorded evidence of a GPU says, beside a replay that had none."""
    there = [column for column in columns(recorded) if column.kind == "device"]
    if decided(experiment, there) is None:
        return []
    hosts = ", ".join(dict.fromkeys(host for column in there if column.valid for host in column.hosts))
    said = headline(experiment, there, device_names(recorded))
    return [f"The recorded device evidence ({hosts}) says: {said}"]


def _elsewhere(experiment: Experiment, column: Column, other: str) -> str:
    """What a ground that does not decide saw else; of the interpreter beside the compiler also passes."""
    verdicts = {c.id: v for c in generated(experiment) if (v := verdict(c, [column])) is not None}
    failed = [name for name, passed in verdicts.items() if not passed]
    interpreted = column.kind == "interpreter"
    if not failed:
        kernels = count(len(verdicts), "kernel")
        untold = interpreted and other == "compile" and verdicts
        cases = every_case(experiment, cases_judged(generated(experiment), [column.group.report]))
        return f"{kernels} passed {cases}, which counts for nothing" if untold else ""
    every = len(failed) == len(verdicts) > 1
    who = f"none of the {len(verdicts)} kernels passed" if every else f"{few(failed)} did not pass"
    return f"{who} every case; {LIMIT}" if interpreted else f"{who} every case"


def _chances(arms: Sequence[Answers], does: str) -> list[str]:
    """What chance explains of the arms' difference, for each arm with the skill that has one."""
    without = baseline(arms)
    return [
        said
        for a in arms
        if without and a.arm.skill and a.model == without.model
        if (said := runs.chance((without.right, without.judged), (a.right, a.judged), a.arm.name, does))
    ]
