"""Hosts and origins as rows of a name and a text: the same in every form of report."""

from __future__ import annotations

from bundler.digest import Digest
from bundler.model.evidence import Evidence
from bundler.model.experiment import Arm, Experiment
from bundler.model.host import Gpu, Read
from bundler.report.across import Facts
from bundler.report.terminal.host import isolation, machine, unused_gpus, value
from bundler.report.text import count

Rows = list[tuple[str, str]]


def host_rows(experiment: Experiment, evidence: Evidence) -> Rows:
    """What a replay ran on, and when."""
    rows = [("machine", machine(evidence.host))]
    rows += [("GPU", gpu_line(gpu)) for gpu in evidence.host.used_gpus]
    if others := unused_gpus(evidence.host):
        rows.append(("GPU", others))
    if evidence.host.no_gpu:
        rows.append(("GPU", f"none: {evidence.host.no_gpu}"))
    rows.append(("driver", value(evidence.host, "driver_version") or "not read"))
    rows.append(("software", ", ".join(f"{name} {v}" for name, v in evidence.host.software.items())))
    pinned = evidence.not_as_pinned or experiment.runtime.differences(evidence.host.software)
    rows.append(("not as pinned", ", ".join(f"{name}: {said}" for name, said in pinned.items()) or "nothing"))
    rows.append(("isolation", isolation(evidence).plain))
    rows.append(("replay", f"{evidence.started}, {evidence.seconds:.0f} s, seed {evidence.settings.seed}"))
    if evidence.settings.slow is not None:
        rows.append(("slow cells", "run" if evidence.settings.slow else "left out"))
    rows.append(("complete", "yes" if evidence.complete else "no: the replay was cut short"))
    return rows


def gpu_line(gpu: Gpu) -> str:
    """Name, capability, memory, L2 and the highest clock; what was not read is said to be so."""
    return ", ".join(
        (
            _field(gpu, "name"),
            f"compute capability {_field(gpu, 'compute_capability')}",
            f"memory {_field(gpu, 'memory_total_bytes', 2**30, 'GiB')}",
            f"L2 {_field(gpu, 'l2_bytes', 2**20, 'MiB')}",
            f"SM clock at most {_field(gpu, 'sm_clock_max_mhz', 1, 'MHz')}",
        )
    )


def _field(gpu: Gpu, name: str, unit: int = 0, of: str = "") -> str:
    reading = gpu.fields.get(name)
    if not isinstance(reading, Read):
        return reading.status if reading else "not asked"
    if unit and isinstance(reading.value, int):
        return f"{reading.value / unit:,.{1 if unit > 1 else 0}f} {of}"
    return str(reading.value)


def provenance(facts: Facts) -> Rows:
    """Model, dates and digests: what has to be known to repeat or to doubt a result."""
    experiment = facts.loaded.experiment
    rows = [("experiment", experiment.id), ("skill", experiment.skill)]
    models = {experiment.model_of(arm): None for arm in experiment.generated()}
    for model in models:
        rows.append(("model", f"{model.name}; version {model.version}; asked on {model.date}"))
        rows.append(("sampling", f"{model.sampling}; system prompt: {model.system_prompt}"))
        rows.append(("procedure", model.procedure))
    rows.append(("base task", experiment.base_task.sha256))
    rows += [("prompt", f"{arm.name}: {arm.prompt_sha256}") for arm in experiment.generated()]
    rows.append(("harness", f"{Digest.of(facts.loaded.harness)}, {cases(facts)}"))
    rows.append(("cases", facts.loaded.cases_digest))
    runtime = experiment.runtime
    rows.append(("runtime", f"{runtime.name}: torch {runtime.torch}, triton {runtime.triton}"))
    for name, evidence in facts.evidence:
        bundle = f", bundle {evidence.subject.bundle}" if evidence.subject.bundle else ""
        rows.append((f"evidence {name}", f"{evidence.started}, bundler {evidence.subject.replayer}{bundle}"))
    return rows


def cases(facts: Facts) -> str:
    """``36 cases, 3 sets of values each``."""
    experiment = facts.loaded.experiment
    return (
        f"{count(len(experiment.expand()), 'case')}, {count(experiment.harness.sets, 'set')} of values each"
    )


def arm_note(arm: Arm) -> str:
    """What an arm is, where no model wrote it or a skill was given."""
    if arm.expect:
        return f"{'source kernel' if arm.origin == 'source' else 'control'}, must {arm.expect}"
    if arm.origin != "generated":
        return "no model's output"
    return f"skill {arm.skill.version}" if arm.skill else "no skill"
