"""Where a run is not as planned is found without anyone mentioning it."""

from __future__ import annotations

from typing import Any

import pytest

from bundler.errors import BadExperiment
from bundler.experiment.deviations import derive_deviations, device_names, unneeded_notes
from bundler.model.evidence import Evidence
from bundler.model.host import Gpu, Host, Read, Unread
from bundler.model.plan import Bearing, PlanField
from tests.small import HOST, Small, evidence, ground

MODEL = dict.fromkeys(("name", "version", "sampling", "system_prompt", "date", "procedure"), "unknown")
T4, LAPTOP = "Tesla T4", "NVIDIA GeForce RTX 3050 Laptop GPU"


def host(*names: str) -> Host:
    """A machine with these GPUs, the first of them CUDA's."""
    gpus = [
        Gpu(
            index=n,
            fields={
                "name": Read(value=name, call="nvmlDeviceGetName"),
                "cuda_ordinal": Read(value=n, call="cuDeviceGet"),
            },
        )
        for n, name in enumerate(names)
    ]
    return HOST.model_copy(update={"gpus": tuple(gpus), "no_gpu": ""})


def recorded(small: Small, *gpus: str, grounds: tuple[str, ...] = ("device",)) -> list[tuple[str, Evidence]]:
    """Evidence of ``small`` from one host for each GPU."""
    loaded = small.load()
    reports = {name: ground(loaded) for name in grounds}
    return [(f"evidence/{n}.json", evidence(loaded, reports, host=host(g))) for n, g in enumerate(gpus)]


def derived(small: Small, given: list[tuple[str, Evidence]]) -> dict[str, tuple[str, str]]:
    found = derive_deviations(small.load().experiment, given)
    return {deviation.field: (deviation.planned, deviation.found) for deviation in found}


@pytest.mark.parametrize(
    ("planned", "there", "deviates"),
    [
        ([T4], [LAPTOP], True),
        ([T4], [T4], False),
        (["NVIDIA T4"], [T4], False),
        (["rtx 3050 laptop"], [LAPTOP], False),
        (["RTX 3050"], [LAPTOP], True),
        (["Quadro RTX 6000"], ["NVIDIA RTX 6000"], True),
        ([T4, "NVIDIA H200"], ["NVIDIA H200", T4], False),
        ([T4, "NVIDIA H200"], [T4], True),
        ([T4], [T4, "NVIDIA H200"], True),
        ([], [LAPTOP], False),
    ],
)
def test_hardware(small: Small, planned: list[str], there: list[str], deviates: bool) -> None:
    small.declared["plan"] = {"hardware": planned}
    found = derived(small, recorded(small, *there))
    assert found == ({"hardware": (", ".join(planned), ", ".join(there))} if deviates else {})


def test_hardware_that_was_planned_and_never_used(small: Small) -> None:
    small.declared["plan"] = {"hardware": [T4]}
    assert derived(small, []) == {}, "nothing is recorded yet"
    found = derived(small, recorded(small, LAPTOP, grounds=("interpreter",)))
    assert found == {"hardware": (T4, "no GPU: no recorded evidence has the device ground")}


def test_a_ground_that_was_not_judged_is_no_evidence_of_its_gpu(small: Small) -> None:
    loaded = small.load()
    report = ground(loaded, status="invalid", reason="a control misbehaved")
    one = evidence(loaded, {"device": report}, host=host(T4))
    assert device_names([("a", one)]) == ()


def test_a_gpu_without_a_name(small: Small) -> None:
    loaded = small.load()
    unread = Gpu(index=0, fields={"name": Unread(status="no_permission", call="nvmlDeviceGetName")})
    one = evidence(loaded, {"device": ground(loaded)}, host=HOST.model_copy(update={"gpus": (unread,)}))
    assert device_names([("a", one)]) == ("a GPU whose name could not be read",)


def test_the_gpu_is_the_one_that_cuda_used(small: Small) -> None:
    loaded = small.load()
    two = host(T4, LAPTOP)
    swapped = two.model_copy(update={"gpus": two.gpus[::-1]})
    assert device_names([("a", evidence(loaded, {"device": ground(loaded)}, host=swapped))]) == (T4,)


@pytest.mark.parametrize(
    ("plan", "found"),
    [
        ({"models": ["Unknown "]}, {}),
        ({"models": ["A"]}, {"models": ("1: A", "1: unknown")}),
        ({"models": ["unknown", "A"]}, {"models": ("2: unknown; A", "1: unknown")}),
        ({"runs": 2, "runs_an_arm": 1}, {}),
        ({"runs": 4}, {"runs": ("4", "2")}),
        ({"runs_an_arm": 3}, {"runs_an_arm": ("3", "1 in without-skill, 1 in with-skill")}),
        ({"path": "proof/toy/double"}, {}),
        ({"path": "proofs/doubling"}, {"path": ("proofs/doubling", "proof/toy/double")}),
        ({"reference": "float64  by numpy"}, {}),
        ({"reference": "torch in float32"}, {"reference": ("torch in float32", "float64 by NumPy")}),
        ({"grounds": ["device", "compile", "compile:sm_90"]}, {}),
        (
            {"grounds": ["device", "compile:sm_75"]},
            {"grounds": ("device, compile:sm_75", "device, compile:sm_90")},
        ),
        ({"grounds": ["interpreter"]}, {"grounds": ("interpreter", "device, compile:sm_90")}),
        ({"link": "https://example.org/1", "date": "2026-11-01"}, {}),
    ],
)
def test_each_field(small: Small, plan: dict[str, Any], found: dict[str, Any]) -> None:
    small.declared["harness"]["reference"] = "float64 by NumPy"
    small.declared["plan"] = plan
    assert derived(small, recorded(small, LAPTOP, grounds=("device", "compile:sm_90"))) == found


def test_a_reference_that_nobody_states(small: Small) -> None:
    small.declared["plan"] = {"reference": "float64"}
    assert derived(small, []) == {"reference": ("float64", "not stated in harness.reference")}


def test_an_arm_of_another_model(small: Small) -> None:
    small.declared["plan"] = {"models": ["unknown"]}
    small.arm("with-skill")["model"] = MODEL | {"name": "B"}
    assert derived(small, []) == {"models": ("1: unknown", "2: unknown; B")}


def test_without_a_plan_nothing_deviates(small: Small) -> None:
    assert derived(small, recorded(small, LAPTOP)) == {}


def test_two_notes_on_one_field(small: Small) -> None:
    note = {"field": "hardware", "note": "No T4.", "load_bearing": "timing"}
    small.declared["deviations"] = [note, note]
    with pytest.raises(BadExperiment, match="deviation 'hardware' is there twice"):
        small.load()


def test_a_control_has_no_model(small: Small) -> None:
    small.arm("control-right")["model"] = MODEL
    with pytest.raises(BadExperiment, match="model belongs to generated arms"):
        small.load()


@pytest.mark.parametrize(
    ("bearing", "bears_on"),
    [("timing", (Bearing.TIMING,)), (["timing", "none"], (Bearing.TIMING, Bearing.NONE))],
)
def test_a_note(small: Small, bearing: str | list[str], bears_on: tuple[Bearing, ...]) -> None:
    small.declared["plan"] = {"hardware": [T4], "runs": 4}
    small.declared["deviations"] = [
        {"field": "hardware", "note": "No T4 was free.", "load_bearing": bearing},
        {"field": "path", "note": "Moved.", "load_bearing": "none"},
    ]
    experiment = small.load().experiment
    hardware, runs = derive_deviations(experiment, recorded(small, LAPTOP))
    assert (hardware.noted, hardware.note, hardware.bears_on) == (True, "No T4 was free.", bears_on)
    assert (runs.noted, runs.bears_on) == (False, ())
    assert [note.field for note in unneeded_notes(experiment, (hardware, runs))] == [PlanField.PATH]
