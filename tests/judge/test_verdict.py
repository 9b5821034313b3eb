"""What came out otherwise on values of another seed: whose cells that excuses, and whose it does not."""

from __future__ import annotations

from typing import Any

import pytest

from bundler.errors import ExitCode
from bundler.judge.verdict import exit_code, hold
from bundler.model.evidence import Evidence
from bundler.model.outcome import NotRun, Why
from bundler.model.verdict import Judgement
from tests.small import PASSED, UNCOMPILABLE, WRONG_VALUES, Small, evidence, ground

WRONG = "control-wrong/control-wrong"


def _held(
    small: Small, candidate: str, outcome: Any, seed: int, recorded: Any = None
) -> tuple[Judgement, ExitCode]:
    loaded = small.load()
    old = evidence(loaded, {"device": ground(loaded, recorded)})
    now: Evidence = evidence(loaded, {"device": ground(loaded, {candidate: {"n=1": outcome}})})
    now = now.model_copy(update={"settings": now.settings.model_copy(update={"seed": seed})})
    verdict = hold(loaded.experiment, now, (("e", old),))
    (cell,) = (c for c in verdict.grounds[0].cells if (c.candidate, c.case) == (candidate, "n=1"))
    return cell.judgement, exit_code(now, verdict)


@pytest.mark.parametrize(
    ("candidate", "outcome", "seed", "judgement"),
    [
        (WRONG, PASSED, 7, Judgement.NOT_JUDGED),
        # On the same values the same cells fail.
        (WRONG, PASSED, 0, Judgement.DIFFERS),
        # Values do not decide whether a kernel compiles.
        (WRONG, UNCOMPILABLE, 7, Judgement.DIFFERS),
        # A model's answer, and the control that must pass, have no such excuse.
        ("with-skill/01", WRONG_VALUES, 7, Judgement.DIFFERS),
        ("control-right/control-right", WRONG_VALUES, 7, Judgement.DIFFERS),
    ],
)
def test_another_seed_excuses_what_no_claim_rests_on(
    small: Small, candidate: str, outcome: Any, seed: int, judgement: Judgement
) -> None:
    held, code = _held(small, candidate, outcome, seed)
    assert held is judgement
    assert (code is ExitCode.DIFFERS) == (judgement is Judgement.DIFFERS)


@pytest.mark.parametrize(
    ("recorded", "why", "judgement"),
    [
        # That it launches nothing is the word of a process that has run it.
        (PASSED, Why.NO_LAUNCH, Judgement.DIFFERS),
        (UNCOMPILABLE, Why.NO_LAUNCH, Judgement.DIFFERS),
        (NotRun(why=Why.NO_LAUNCH), Why.NO_LAUNCH, Judgement.NOT_JUDGED),
        # A host may lack what another had.
        (PASSED, Why.UNSUPPORTED_HOST, Judgement.NOT_JUDGED),
    ],
)
def test_what_launched_when_recorded_has_to_launch(
    small: Small, recorded: Any, why: Why, judgement: Judgement
) -> None:
    name = "with-skill/01"
    held, code = _held(small, name, NotRun(why=why), 0, {name: {"n=1": recorded}})
    assert held is judgement
    assert (code is ExitCode.DIFFERS) == (judgement is Judgement.DIFFERS)


def test_a_reconstruction_may_be_wrong_in_other_cells(small: Small) -> None:
    output = small.file("reconstructed/old.py", b"import torch\n\n\ndef double(x):\n    return x\n")
    small.declared["arms"].append({"name": "reconstructed", "origin": "reconstructed", "outputs": [output]})
    name, wrong_elsewhere = "reconstructed/old", {"n=1": PASSED, "n=100": WRONG_VALUES}
    recorded = {name: wrong_elsewhere}
    assert _held(small, name, WRONG_VALUES, 7, recorded)[0] is Judgement.NOT_JUDGED
    assert _held(small, name, WRONG_VALUES, 0, recorded)[0] is Judgement.DIFFERS
    # One that was right throughout, perhaps on the recorded values alone, has to be right on these.
    assert _held(small, name, WRONG_VALUES, 7)[0] is Judgement.DIFFERS
