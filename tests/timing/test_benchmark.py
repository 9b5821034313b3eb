"""What the comparison of timers prints: the words of the others, and a table that fits."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from benchmarks import timing
from benchmarks.kernels import KERNELS, NOTHING, Said
from benchmarks.other_timers import warnings_in
from tests.timing.fakes import GPU

pytestmark = pytest.mark.torch
NOISE = "Warn: Current measurement timed out (3.00s) while over noise threshold (1.37% > 0.50%)"
TIME = "Warn: Current measurement timed out (3.00s) before accumulating min_time (0.47s < 0.50s)"
THROTTLED = (
    "Info: GPU throttled below threshold (1.20 GHz / 1.98 GHz) (61% < 75%) on sample 7. Discarding "
    "previous sample and pausing for 0.05s."
)
SAYS = "Current measurement timed out while over noise threshold"


@pytest.mark.parametrize(
    ("log", "says"),
    [
        ("Run:  [1/1] measured [Device=0]\nPass: Cold: 0.016780ms GPU, 28x\n", NOTHING),
        (f"Run:  x\n{NOISE}\nPass: Cold\n", f"1 warning: {SAYS}"),
        (f"{NOISE}\n{TIME}\n", f"2 warnings: {SAYS}"),
        (TIME, "1 warning: Current measurement timed out before accumulating min_time"),
        (THROTTLED, "1 warning: throttled below threshold on sample 7"),
    ],
)
def test_what_nvbench_warns_of(log: str, says: str) -> None:
    assert warnings_in(log) == says


def test_a_warning_fits_into_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    said = Said((41_376.47, 41_378.62), warnings_in(f"{NOISE}\n" * 10))
    long = Said((90_452.87,), "word " * 40)
    ways = {"nvbench": lambda *_: said, "cupti": lambda *_: long}
    before = {(each.name, name): 1.0 for each in KERNELS for name in ways}
    timing._table("A device", ways, 10, GPU, before)
    lines = capsys.readouterr().out.splitlines()
    rows = [line for line in lines if SAYS in line]
    assert len(rows) == len(KERNELS)
    assert all("41,377.54" in row for row in rows)
    assert sum("word …" in line for line in lines) == len(KERNELS)
    assert max(map(len, lines)) <= 160
