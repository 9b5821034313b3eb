"""What is laid out passes the check but for the marked places, and nothing is overwritten."""

from __future__ import annotations

import ast
import errno
import os
from pathlib import Path
from string import Template

import pytest
from typer.testing import CliRunner

from bundler.cli.main import app
from bundler.errors import UnavailableError, UsageError
from bundler.experiment.check import MARK, check, errors_of
from bundler.experiment.digests import declare
from bundler.experiment.finding import Severity
from bundler.experiment.load import load
from bundler.experiment.scaffold import RUNTIME, entry_of, scaffold
from bundler.experiment.template import TRITON
from bundler.experiment.template_cuda import CUDA
from bundler.model.experiment import Ground, Language
from bundler.runtime.lock import load_lock

ROOT = Path(__file__).parents[2]
ID, SKILL = "toy/row-max", "toy/doubling"


def guidance(version: str) -> str:
    return f"---\nname: doubling\ndescription: Doubles.\nversion: {version}\n---\n\n# Skill\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a skill in two versions."""
    skill = tmp_path / "skills" / SKILL
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(guidance("0.1.0"))
    (skill / "SKILL-0.2.0.md").write_text(guidance("0.2.0"))
    return tmp_path


def fill_in(folder: Path) -> None:
    """As an author would: every mark's words replaced, and the digests that changed with them."""
    for path in folder.rglob("*"):
        if path.is_file():
            path.write_text(path.read_text().replace(MARK, f"Filled in {path.name}:"))
    declare(folder)


@pytest.mark.parametrize("language", Language)
def test_only_marks_are_left(root: Path, language: Language) -> None:
    folder = scaffold(root, ID, SKILL, language=language)
    assert folder == root / "proof" / ID
    findings = check(folder).findings
    assert {f.rule for f in findings if f.severity is Severity.ERROR} == {"todo"}
    assert {f.rule for f in findings if f.severity is Severity.WARNING} == {"no-evidence"}


@pytest.mark.parametrize("language", Language)
def test_each_marked_place_is_listed(root: Path, language: Language) -> None:
    folder = scaffold(root, ID, SKILL, runs=1, language=language)
    marks = sum(path.read_text().count(MARK) for path in folder.rglob("*") if path.is_file())
    listed = [finding.text for finding in check(folder).findings if finding.rule == "todo"]
    assert len(listed) == len(set(listed)) == marks
    for name in ("experiment.yaml", "base_task.md", "harness.py", "analysis.md", "outputs/with-skill/01.md"):
        assert any(text.startswith(f"{name}:") for text in listed), name


@pytest.mark.parametrize("language", Language)
def test_filled_in_it_passes(root: Path, language: Language) -> None:
    folder = scaffold(root, ID, SKILL, language=language)
    fill_in(folder)
    one = check(folder)
    assert (one.errors, one.deviations) == (0, ())
    assert {finding.rule for finding in one.findings} == {"no-evidence"}


def test_it_loads_as_it_is(root: Path) -> None:
    loaded = load(scaffold(root, ID, SKILL, runs=2))
    experiment = loaded.experiment
    assert (experiment.id, experiment.skill, experiment.entry) == (ID, SKILL, "row_max")
    assert [len(arm.outputs) for arm in experiment.generated()] == [2, 2]
    assert experiment.plan is not None
    assert experiment.plan.runs_an_arm == 2
    (state,) = [arm.skill for arm in experiment.generated() if arm.skill]
    assert (state.version, state.path) == ("0.2.0", f"skills/{SKILL}/SKILL-0.2.0.md"), "the newest"
    for source in (*loaded.sources.values(), loaded.harness):
        ast.parse(source)


def test_in_cuda_it_says_how_a_kernel_is_launched(root: Path) -> None:
    loaded = load(scaffold(root, ID, SKILL, language=Language.CUDA))
    call = loaded.experiment.cuda
    assert call is not None
    assert [argument.name for argument in call.arguments] == ["x", "out", "n", "stride"]
    assert {ground for case in loaded.experiment.expand() for ground in case.grounds} == {
        Ground.DEVICE,
        Ground.COMPILE,
    }
    for candidate in loaded.experiment.candidates():
        assert b'extern "C" __global__ void row_max(' in loaded.sources[candidate.id], candidate.id


@pytest.mark.parametrize("sm", [75, 120])
def test_its_controls_in_cuda_compile_as_they_say(
    sm: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    from bundler.worker import nvrtc

    monkeypatch.chdir(tmp_path)
    right, wrong, uncompilable = (
        Template(text).substitute(entry="saxpy").encode()
        for text in (CUDA.right, CUDA.wrong_tail, CUDA.uncompilable)
    )
    parameters = [("x", 8, 8), ("out", 8, 8), ("n", 4, 4), ("stride", 8, 8)]
    for source in (right, wrong):
        assert nvrtc.compile_source(source, "saxpy", sm, (), parameters).cubin
    with pytest.raises(nvrtc.CompileFailed, match='"FLT_MAX" is undefined'):
        nvrtc.compile_source(uncompilable, "saxpy", sm, (), parameters)


def test_an_extracted_kernel_is_named_by_its_language(root: Path, tmp_path: Path) -> None:
    folder = scaffold(root, ID, SKILL, language=Language.CUDA)
    ended = CliRunner().invoke(app, ["extract", str(tmp_path / "out"), "--from", str(folder)])
    assert ended.exit_code == 0
    files = {path.name for path in (tmp_path / "out/candidates").rglob("*") if path.is_file()}
    assert files == {"01.cu", "02.cu", "03.cu", "right.cu", "wrong-tail.cu", "uncompilable.cu"}


def test_its_controls_differ_in_what_they_say() -> None:
    assert "triton.cdiv(n, _BLOCK)" in TRITON.right
    assert "blocks = n // _BLOCK" in TRITON.wrong_tail
    assert "            break" in TRITON.uncompilable
    assert "break" not in TRITON.right.replace("breaks", "")
    assert "if (i < n)" in CUDA.right
    assert "if (i < whole)" in CUDA.wrong_tail
    assert "FLT_MAX)" in CUDA.uncompilable
    assert "FLT_MAX" not in CUDA.right + CUDA.wrong_tail


def test_the_runtime_is_the_locked_one() -> None:
    locked = {wheel.name: wheel.version for wheel in load_lock(ROOT / "images" / RUNTIME.name).wheels}
    assert (RUNTIME.torch, RUNTIME.triton) == (locked["torch"].split("+")[0], locked["triton"])


def test_nothing_is_overwritten(root: Path) -> None:
    folder = scaffold(root, ID, SKILL)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(UsageError, match="is there already"):
        scaffold(root, ID, SKILL, runs=1)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_dangling_link_is_not_overwritten(root: Path) -> None:
    (root / "proof/toy").mkdir(parents=True)
    (root / "proof" / ID).symlink_to(root / "nowhere")
    with pytest.raises(UsageError, match="is there already"):
        scaffold(root, ID, SKILL)


@pytest.mark.parametrize(
    ("experiment", "skill", "said"),
    [
        ("row-max", SKILL, "'row-max' is no experiment's name"),
        ("../x/y", SKILL, "'../x/y' is no experiment's name"),
        ("toy/Row", SKILL, "'toy/Row' is no experiment's name"),
        (ID, "doubling", "'doubling' is no skill's name"),
        (ID, "toy/tripling", "there is no skill 'toy/tripling' in '"),
    ],
)
def test_names_that_are_none(root: Path, experiment: str, skill: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        scaffold(root, experiment, skill)
    assert said in error.value.problem
    assert not (root / "proof").exists()


def test_an_unknown_skill_is_told_with_those_that_are_there(root: Path) -> None:
    (root / "skills/cuda/saxpy").mkdir(parents=True)
    (root / "skills/cuda/saxpy/SKILL.md").write_text("# no version\n")
    with pytest.raises(UsageError) as error:
        scaffold(root, ID, "toy/tripling")
    assert error.value.hint == f"there are: cuda/saxpy, {SKILL}; another repository's: --root"
    with pytest.raises(UsageError, match=r"skills/cuda/saxpy' has no SKILL\.md that states its version"):
        scaffold(root, ID, "cuda/saxpy")


def test_outside_a_repository_the_root_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        scaffold(tmp_path, ID, SKILL)
    assert error.value.problem == f"{str(tmp_path)!r} has no folder skills/"
    assert "--root" in error.value.hint
    (tmp_path / "skills").mkdir()
    with pytest.raises(UsageError, match=f"there is no skill '{SKILL}'") as error:
        scaffold(tmp_path, ID, SKILL)
    assert error.value.hint.startswith("there is none; ")


def test_what_a_scaffold_lacks_is_counted_from_what_is_loaded(root: Path) -> None:
    folder = scaffold(root, ID, SKILL)
    assert len(errors_of(load(folder))) == check(folder).errors > 20
    fill_in(folder)
    assert errors_of(load(folder)) == ()


@pytest.mark.parametrize("language", Language)
def test_a_mark_is_told_without_what_stands_around_it(root: Path, language: Language) -> None:
    folder = scaffold(root, ID, SKILL, language=language)
    told = [finding.text for finding in check(folder).findings if finding.rule == "todo"]
    assert [text for text in told if text.endswith(('"', "]", ",", "}", "'"))] == []
    assert any(text.endswith(": TODO(author): the GPU's name, as nvidia-smi -L prints it") for text in told)
    assert any(
        ": TODO(author): " in text and text.endswith("set number `which`, as a list.") for text in told
    )


@pytest.mark.parametrize(
    ("experiment", "entry"),
    [("a/row-max", "row_max"), ("a/2d.sum", "kernel_2d_sum"), ("a/lambda", "kernel_lambda")],
)
def test_the_entry_is_a_name_of_python(experiment: str, entry: str) -> None:
    assert entry_of(experiment) == entry
    assert entry.isidentifier()


def test_a_full_disk_leaves_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = set(root.rglob("*"))
    written: list[int] = []

    def full(descriptor: int) -> None:
        written.append(descriptor)
        if len(written) > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(UnavailableError, match="No space left on device"):
        scaffold(root, "other/kernel", SKILL)
    assert set(root.rglob("*")) == before
