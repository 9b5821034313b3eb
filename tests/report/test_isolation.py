"""What confined the workers, in one line: all that did not hold, the same thing once, and what did."""

from __future__ import annotations

import pytest

from bundler.experiment.load import Loaded
from bundler.report.terminal.host import isolation
from tests.small import Small, evidence, ground

NOT_BOUND = "RLIMIT_NPROC does not bind root; the replay counts the processes instead"
SAME = f"process-limit: {NOT_BOUND}"
NO_LANDLOCK = "landlock: the kernel has none"
BOTH = f"{SAME}; {NO_LANDLOCK}"
ROOT = {"process-limit": NOT_BOUND, "seccomp": "held"}
OLD_KERNEL = {"process-limit": NOT_BOUND, "landlock": "the kernel has none"}


def _said(missing: str, held: str = "seccomp") -> str:
    return f"not held: {missing}. Held: {held}"


@pytest.fixture
def loaded(small: Small) -> Loaded:
    return small.load()


@pytest.mark.parametrize(
    ("harness", "workers", "said"),
    [
        pytest.param(SAME, [ROOT], _said(SAME), id="the same of both"),
        pytest.param(SAME, [ROOT, ROOT], _said(SAME), id="the same on every ground"),
        pytest.param(BOTH, [OLD_KERNEL], _said(BOTH, "nothing"), id="two steps of both"),
        pytest.param("held", [ROOT], _said(SAME), id="a worker only"),
        pytest.param("held", [ROOT, {"seccomp": "no"}], _said(f"{SAME}; seccomp: no", "nothing"), id="apart"),
        pytest.param(SAME, [{"seccomp": "held"}], _said(f"harness: {SAME}"), id="the harness only"),
        pytest.param(
            f"{SAME}; {NO_LANDLOCK}",
            [ROOT],
            _said(f"harness: {SAME}; {NO_LANDLOCK}; {SAME}"),
            id="the harness lacks more",
        ),
        pytest.param("held", [{"user": "held", "seccomp": "held"}], "all held: user, seccomp", id="nothing"),
        pytest.param(SAME, [{}], "no worker was started", id="no worker"),
    ],
)
def test_what_did_not_hold_is_said_once(
    loaded: Loaded, harness: str, workers: list[dict[str, str]], said: str
) -> None:
    grounds = {f"compile:sm_{n}": ground(loaded, isolation=steps) for n, steps in enumerate(workers, 80)}
    judge = {"undumpable": "held", "harness": harness}
    assert isolation(evidence(loaded, grounds, judge_isolation=judge)).plain == said


def test_another_step_of_the_judge_is_said_whatever_the_workers_lack(loaded: Loaded) -> None:
    judge = {"undumpable": SAME, "harness": SAME}
    found = evidence(loaded, {"interpreter": ground(loaded, isolation=ROOT)}, judge_isolation=judge)
    assert isolation(found).plain == _said(f"undumpable: {SAME}; {SAME}")
