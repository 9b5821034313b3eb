"""The row-max experiment is what its declaration says, and its reference is what the CUDA source gives."""

from __future__ import annotations

import subprocess
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bundler.digest import Digest
from bundler.experiment.load import Loaded, load
from bundler.model.experiment import Case, Expect, Ground, Origin
from bundler.worker.make import Make, Tensor

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "proof/portability/row-max"
FLT_MAX = float(np.finfo(np.float32).max)
SMALL_ELEMENTS = 5_000


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return load(FOLDER)


@pytest.fixture(scope="module")
def harness(loaded: Loaded) -> Any:
    module = types.ModuleType("harness")
    exec(compile(loaded.harness, "harness.py", "exec"), module.__dict__)
    return module


def _case(loaded: Loaded, wanted: str) -> Case:
    return next(case for case in loaded.experiment.expand() if case.id == wanted)


def _inputs(harness: Any, case: Case, which: int) -> Any:
    (x,) = harness.inputs(dict(case.params), which, Make(0, case.id, which))
    assert isinstance(x, Tensor)
    return x


def _reference(harness: Any, case: Case, which: int, x: Any) -> Any:
    return harness.reference(dict(case.params), which, [x])


def _as_the_cuda_source(values: Any) -> list[float]:
    """Element by element: start at -FLT_MAX, keep the larger."""
    answer = []
    for row in values.tolist():
        best = -FLT_MAX
        for value in row:
            best = value if value > best else best
        answer.append(best)
    return answer


# --- the declaration -----------------------------------------------------------------------------------


def test_every_file_has_its_declared_digest(loaded: Loaded) -> None:
    declared = [loaded.experiment.base_task, *(c.output for c in loaded.experiment.candidates())]
    assert len(declared) == 15
    for output in declared:
        assert Digest.of((FOLDER / output.path).read_bytes()) == output.sha256, output.path


def test_every_kernel_in_the_folder_is_declared(loaded: Loaded) -> None:
    declared = {c.output.path for c in loaded.experiment.candidates() if c.arm.origin is not Origin.SOURCE}
    found = [*FOLDER.glob("outputs/*/*"), *FOLDER.glob("controls/*.py"), *FOLDER.glob("reconstructed/*.py")]
    assert {path.relative_to(FOLDER).as_posix() for path in found} == declared


def test_prompts_are_derived_from_the_task_and_the_skill(loaded: Loaded) -> None:
    task = (FOLDER / "base_task.md").read_bytes()
    skill = ROOT / "skills/portability/port-cuda-kernel-to-triton"
    derived = {
        "without-skill": task,
        "with-skill": (skill / "SKILL.md").read_bytes() + b"\n" + task,
        "with-skill-0.2.0": (skill / "SKILL-0.2.0.md").read_bytes() + b"\n" + task,
    }
    arms = {a.name: a for a in loaded.experiment.arms if a.origin is Origin.GENERATED}
    assert {name: Digest.of(prompt) for name, prompt in derived.items()} == {
        name: arm.prompt_sha256 for name, arm in arms.items()
    }


def test_outputs_are_the_bytes_that_git_has(loaded: Loaded) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("no git checkout")
    for candidate in loaded.experiment.candidates():
        if candidate.arm.origin is not Origin.GENERATED:
            continue
        path = (FOLDER / candidate.output.path).relative_to(ROOT).as_posix()
        shown = subprocess.run(["git", "show", f"HEAD:{path}"], cwd=ROOT, check=True, capture_output=True)
        assert shown.stdout == loaded.outputs[candidate.id], path


def test_every_candidate_is_python_that_defines_the_entry(loaded: Loaded) -> None:
    for name, source in loaded.sources.items():
        if name == "source/base-task":
            assert b'extern "C" __global__ void row_max(' in source
        else:
            assert "row_max" in compile(source, name, "exec").co_names, name


def test_cases(loaded: Loaded) -> None:
    cases = loaded.experiment.expand()
    assert len(cases) == len({case.id for case in cases}) == 36
    layouts = [case.params["layout"] for case in cases if not case.needs.device_memory_gib]
    assert [layouts.count(name) for name in ("contiguous", "transposed", "sliced")] == [12, 11, 11]
    large = [case for case in cases if case.needs.device_memory_gib]
    assert [case.id for case in large] == ["65537x32768/contiguous", "65537x32768/transposed"]
    assert all(case.grounds == (Ground.DEVICE, Ground.COMPILE) for case in large)


def test_every_ground_has_a_control_that_must_pass_and_one_that_must_fail(loaded: Loaded) -> None:
    controls = [arm for arm in loaded.experiment.arms if arm.origin is Origin.CONTROL]
    for expect in Expect:
        assert {g for arm in controls if arm.expect is expect for g in arm.on} == set(Ground)


# --- the harness ---------------------------------------------------------------------------------------


def _small(loaded: Loaded) -> list[Case]:
    small = [
        c
        for c in loaded.experiment.expand()
        if int(c.params["rows"]) * int(c.params["cols"]) < SMALL_ELEMENTS
    ]
    assert len(small) == 16
    return small


def test_reference_is_what_the_cuda_source_gives(loaded: Loaded, harness: Any) -> None:
    for case in _small(loaded):
        for which in range(loaded.experiment.harness.sets):
            x = _inputs(harness, case, which)
            expected = _as_the_cuda_source(x.values)
            assert _reference(harness, case, which, x).tolist() == expected, (case.id, which)


def test_a_row_of_minus_infinity_gives_minus_flt_max(harness: Any) -> None:
    x = Make(0, "by hand", 0).tensor(np.full((2, 3), -np.inf))
    assert harness.reference({}, 0, [x]).tolist() == [-FLT_MAX, -FLT_MAX]


def test_every_row_is_of_every_kind_once(loaded: Loaded, harness: Any) -> None:
    case = _case(loaded, "33x100/sliced")
    sets = [_inputs(harness, case, which) for which in range(3)]
    kinds = []
    for x in sets:
        assert x.gap == np.inf
        assert not np.isnan(x.values).any()
        lost, negative = np.isneginf(x.values).all(axis=1), (x.values < 0).all(axis=1)
        kinds.append(np.where(lost, 2, np.where(negative, 1, 0)))
    assert (np.sort(np.stack(kinds), axis=0) == np.arange(3)[:, None]).all()


def test_maxima_stand_in_the_first_and_in_the_last_column(loaded: Loaded, harness: Any) -> None:
    x = _inputs(harness, _case(loaded, "64x4097/contiguous"), 0)
    at = x.values.argmax(axis=1)
    assert set(at[0::3]) == {4096}
    assert set(at[4::6]) == {0}
    assert len(set(at[1::6])) > 5


def test_no_rows_give_no_answers(loaded: Loaded, harness: Any) -> None:
    case = _case(loaded, "0x128/contiguous")
    x = _inputs(harness, case, 0)
    assert x.shape == (0, 128)
    assert _reference(harness, case, 0, x).shape == (0,)


@pytest.mark.parametrize("layout", ["contiguous", "transposed"])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_sparse_inputs(loaded: Loaded, harness: Any, layout: str, which: int) -> None:
    """The rule is checked on a small size; of the real one, where its points lie."""
    small = {"rows": 50, "cols": 400, "layout": layout, "sparse": True}
    (x,) = harness.inputs(small, which, Make(0, "small", which))
    dense = np.full(50 * 400, x.gap)
    for index, value in x.points.items():
        dense[index] = value
    assert harness.reference(small, which, [x]).tolist() == _as_the_cuda_source(dense.reshape(50, 400))

    large = _inputs(harness, _case(loaded, f"65537x32768/{layout}"), which)
    assert large.values is None
    assert large.storage * 4 < 9 << 30
    row, column = np.divmod(np.asarray(list(large.points)), 32768)
    places = row * large.strides[0] + column * large.strides[1]
    assert np.count_nonzero(places >= 2**31) >= 1
    assert 0 in places
