"""What several hosts say of one experiment: counted where they agree, explained where they do not."""

from __future__ import annotations

from typing import Any

import pytest

from bundler.digest import Digest
from bundler.errors import BadEvidence
from bundler.experiment.load import Loaded
from bundler.judge.across_hosts import Agreement, across_hosts
from bundler.judge.cause import Cause
from bundler.model.evidence import Evidence, GroundReport, Settings
from bundler.model.host import Gpu, Host, Read
from bundler.model.outcome import Failed, NotRun, Outcome, Passed, Phase, Unstable, Why, Wrong
from tests.small import KERNEL_MADE, PASSED, UNCOMPILABLE, Small, evidence, ground

CANDIDATE = "with-skill/01"
OVER = Wrong(what="values", call=0, detail="1 of 100 elements", error=1.3)
UNDER = Passed(error=0.9)
CRASHED = Failed(phase=Phase.LAUNCH, error="out of resource: shared memory", resource="out-of-resources")
MADE = Passed(kernels=(0,))


@pytest.fixture
def loaded(small: Small) -> Loaded:
    return small.load()


def host(sm: str = "9.0", gpu: str = "H200", triton: str = "3.7.1", driver: str = "580") -> Host:
    read = {"name": Read(value=gpu, call="nvml")}
    if sm:
        read["compute_capability"] = Read(value=sm, call="nvml")
    return Host(
        system={"driver_version": Read(value=driver, call="nvml")},
        software={"torch": "2.13.0+cu130", "triton": triton},
        gpus=(Gpu(index=0, fields=dict(read)),),
    )


def seen(
    loaded: Loaded,
    outcome: Outcome,
    on: str = "device",
    seed: int = 0,
    more: dict[str, GroundReport] | None = None,
    **of: str,
) -> Evidence:
    """Evidence whose candidate gave ``outcome`` on the case n=1, and passed elsewhere."""
    grounds = {on: ground(loaded, {CANDIDATE: {"n=1": outcome}})} | (more or {})
    settings = Settings(seed=seed, grounds=tuple(grounds))
    return evidence(loaded, grounds, host=host(**of), settings=settings, kernels=(KERNEL_MADE,))


def difference(*found: Evidence) -> tuple[Cause, str]:
    across = across_hosts([(f"{n}.json", item) for n, item in enumerate(found)])
    ((cell,),) = [ground.cells for ground in across.grounds if ground.cells]
    assert (cell.candidate, cell.case) == (CANDIDATE, "n=1")
    return cell.cause, "\n".join(cell.why)


# --- counts ----------------------------------------------------------------------------------------------


def test_counts(loaded: Loaded) -> None:
    absent = NotRun(why=Why.NEEDS)
    one = seen(loaded, PASSED, more={"interpreter": ground(loaded, {CANDIDATE: absent})})
    across = across_hosts([("a", one), ("b", seen(loaded, absent)), ("c", seen(loaded, absent))])
    device, interpreter = across.grounds
    assert (device.agree, device.differ, device.one_host, device.no_host) == (7, 0, 1, 0)
    assert (interpreter.agree, interpreter.one_host, interpreter.no_host) == (0, 6, 2)
    assert device.status == ("judged",) * 3
    assert interpreter.status == ("judged", "not asked", "not asked")
    assert across.count(Agreement.ONE_HOST) == 7
    assert [column.architecture for column in across.hosts] == ["sm_90"] * 3


def test_an_invalid_ground_is_not_compared(loaded: Loaded) -> None:
    bad = ground(loaded, {CANDIDATE: OVER}, status="invalid", reason="the right control failed")
    across = across_hosts([("a", seen(loaded, PASSED)), ("b", evidence(loaded, {"device": bad}))])
    assert across.grounds[0].differ == 0
    assert across.grounds[0].one_host == 8
    assert across.grounds[0].status == ("judged", "invalid")


def test_ptx(loaded: Loaded) -> None:
    on = "compile:sm_90"
    one, same = (seen(loaded, MADE, on=on) for _ in range(2))
    made = KERNEL_MADE.model_copy(update={"ptx": Digest.of(b"other")})
    other = same.model_copy(update={"kernels": (made,)})
    equal = across_hosts([("a", one), ("b", same)]).grounds[0]
    assert (equal.ptx_same, equal.ptx_other) == (1, 0)
    changed = across_hosts([("a", one), ("b", other), ("c", same)]).grounds[0]
    assert (changed.ptx_same, changed.ptx_other) == (0, 1)
    assert changed.differ == 0


# --- causes ----------------------------------------------------------------------------------------------


def test_the_architecture(loaded: Loaded) -> None:
    cause, why = difference(seen(loaded, PASSED), seen(loaded, CRASHED, sm="8.6", gpu="RTX 3050"))
    assert cause is Cause.ARCHITECTURE
    assert "B: failed (launch), for want of a resource of the device: out of resource: shared memory" in why


def test_the_compile_grounds_are_witnesses(loaded: Loaded) -> None:
    compiled = {
        "compile:sm_86": ground(loaded, {CANDIDATE: UNCOMPILABLE}),
        "compile:sm_90": ground(loaded, {CANDIDATE: MADE}),
    }
    runner = evidence(loaded, compiled, kernels=(KERNEL_MADE,))
    _, why = difference(seen(loaded, PASSED), seen(loaded, UNCOMPILABLE, sm="8.6"), runner)
    assert "compile:sm_86, on C: failed (compile) for the same cell" in why
    assert "compile:sm_90, on C: passed for the same cell" in why
    assert "AttributeError: 'int' object has no attribute 'to'" in why


def test_another_model_of_one_architecture(loaded: Loaded) -> None:
    assert difference(seen(loaded, PASSED), seen(loaded, OVER, gpu="H100"))[0] is Cause.DEVICE


def test_the_versions(loaded: Loaded) -> None:
    cause, why = difference(seen(loaded, PASSED), seen(loaded, OVER, triton="3.6.0"))
    assert cause is Cause.VERSIONS
    assert "triton: 3.7.1 on A, 3.6.0 on B" in why


def test_the_values_and_by_how_much_the_tolerance_was_crossed(loaded: Loaded) -> None:
    cause, why = difference(seen(loaded, UNDER), seen(loaded, OVER, seed=7))
    assert cause is Cause.VALUES
    assert "passed, with an error of 0.9 of the tolerance" in why
    assert "B: wrong by 1.3 times the tolerance; 1 of 100 elements" in why


def test_the_kernel_itself(loaded: Loaded) -> None:
    cause, why = difference(seen(loaded, PASSED), seen(loaded, OVER))
    assert cause is Cause.KERNEL
    assert "hosts that are equal in" in why
    unstable = Unstable(detail="repeats differ")
    cause, why = difference(seen(loaded, PASSED), seen(loaded, unstable, sm="8.6", triton="3.6.0"))
    assert cause is Cause.KERNEL
    assert "its own repeats disagree on B" in why


def test_what_cannot_be_told_apart_is_left_undecided(loaded: Loaded) -> None:
    passed, failed = seen(loaded, PASSED), seen(loaded, OVER, sm="8.6", triton="3.6.0")
    cause, why = difference(passed, failed)
    assert cause is Cause.UNDECIDED
    assert "it may be the versions or the architecture" in why
    third = seen(loaded, PASSED, triton="3.6.0")
    assert difference(passed, failed, third)[0] is Cause.ARCHITECTURE


def test_only_the_package_that_tells_the_outcomes_apart_is_named(loaded: Loaded) -> None:
    found = [
        seen(loaded, OVER if triton == "3.6.0" else PASSED, triton=triton, driver=driver)
        for triton, driver in (("3.7.1", "570"), ("3.7.1", "580"), ("3.6.0", "580"))
    ]
    cause, why = difference(*found)
    assert cause is Cause.VERSIONS
    assert "triton: 3.7.1 on A B, 3.6.0 on C" in why
    assert "driver" not in why


def test_labels(loaded: Loaded) -> None:
    across = across_hosts([("x", seen(loaded, PASSED))] * 27)
    assert [host.label for host in across.hosts][::25] == ["A", "Z"]
    assert across.hosts[26].label == "#27"


def test_nothing_alone(loaded: Loaded) -> None:
    """Both are needed: an old Triton on an old architecture."""
    found = [
        seen(loaded, OVER if (sm, triton) == ("8.6", "3.6.0") else PASSED, sm=sm, triton=triton)
        for sm in ("8.6", "9.0")
        for triton in ("3.6.0", "3.7.1")
    ]
    cause, why = difference(*found)
    assert cause is Cause.UNDECIDED
    assert "none of the versions and the architecture alone" in why
    assert "triton: 3.6.0 on A C, 3.7.1 on B D" in why, "where no package alone will do, all are named"


def test_an_unread_architecture_equals_no_other(loaded: Loaded) -> None:
    """Two devices of which nobody knows the architecture are no proof that the kernel is at fault."""
    cause, _ = difference(seen(loaded, PASSED, sm=""), seen(loaded, OVER, sm=""))
    assert cause is Cause.ARCHITECTURE


def test_values_are_no_cause_of_a_compile_ground(loaded: Loaded) -> None:
    one = seen(loaded, PASSED, on="compile:sm_90")
    assert difference(one, seen(loaded, UNCOMPILABLE, on="compile:sm_90", seed=7))[0] is Cause.KERNEL


def test_a_local_suffix_is_no_other_version(loaded: Loaded) -> None:
    one = seen(loaded, PASSED, on="compile:sm_90")
    plain = host().model_copy(update={"software": {"torch": "2.13.0+cpu", "triton": "3.7.1"}})
    other = seen(loaded, UNCOMPILABLE, on="compile:sm_90").model_copy(update={"host": plain})
    assert difference(one, other)[0] is Cause.KERNEL


def test_the_interpreter_has_no_architecture(loaded: Loaded) -> None:
    one, two = (
        seen(loaded, outcome, on="interpreter", sm=sm) for outcome, sm in ((PASSED, "9.0"), (OVER, "8.6"))
    )
    cause, why = difference(one, two)
    assert cause is Cause.PROCESSOR
    assert "compile" not in why


# --- subjects --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"experiment": "toy/other"}, "the experiment is another: toy/double and toy/other"),
        ({"harness": Digest.of(b"x")}, "the harness is another: sha256:"),
        (
            {"cases": Digest.of(b"x")},
            "what a case means (its parameters or the comparison rules) is another: sha256:",
        ),
        ({"candidates": {CANDIDATE: Digest.of(b"x")}}, "the candidate 'with-skill/01' is another"),
    ],
)
def test_another_subject_is_refused(loaded: Loaded, change: dict[str, Any], part: str) -> None:
    one = seen(loaded, PASSED)
    other = one.model_copy(update={"subject": one.subject.model_copy(update=change)})
    with pytest.raises(BadEvidence) as refused:
        across_hosts([("a.json", one), ("b.json", one), ("c.json", other)])
    assert "'a.json' and 'c.json' are not of the same subject" in refused.value.problem
    assert part in refused.value.problem


def test_a_candidate_that_only_one_has_is_no_other_subject(loaded: Loaded) -> None:
    one = seen(loaded, PASSED)
    fewer = {name: digest for name, digest in one.subject.candidates.items() if name != CANDIDATE}
    cells = {n: row for n, row in one.grounds["device"].cells.items() if n != CANDIDATE}
    other = one.model_copy(
        update={
            "subject": one.subject.model_copy(update={"candidates": fewer}),
            "grounds": {"device": one.grounds["device"].model_copy(update={"cells": cells})},
        }
    )
    across = across_hosts([("a", one), ("b", other)])
    assert (across.grounds[0].agree, across.grounds[0].one_host) == (6, 2)
