"""What is laid out passes the check but for the marked places, and nothing is overwritten."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from bundler.digest import Digest
from bundler.errors import UsageError
from bundler.experiment.check import MARK, check
from bundler.experiment.finding import Severity
from bundler.experiment.load import load
from bundler.experiment.scaffold import RUNTIME, entry_of, scaffold
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
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "experiment.yaml"]
    before = {path: Digest.of(path.read_bytes()) for path in files}
    base_before = (folder / "base_task.md").read_bytes()
    for path in [*files, folder / "experiment.yaml"]:
        path.write_text(path.read_text().replace(MARK, "Filled in:"))
    declared = (folder / "experiment.yaml").read_text()
    for path, digest in before.items():
        declared = declared.replace(digest, Digest.of(path.read_bytes()))
    base = (folder / "base_task.md").read_bytes()
    for prefix in (b"", guidance("0.2.0").encode() + b"\n"):
        declared = declared.replace(Digest.of(prefix + base_before), Digest.of(prefix + base))
    (folder / "experiment.yaml").write_text(declared)


def test_only_marks_are_left(root: Path) -> None:
    folder = scaffold(root, ID, SKILL)
    assert folder == root / "proof" / ID
    findings = check(folder).findings
    assert {f.rule for f in findings if f.severity is Severity.ERROR} == {"todo"}
    assert {f.rule for f in findings if f.severity is Severity.WARNING} == {"no-evidence"}


def test_each_marked_place_is_listed(root: Path) -> None:
    folder = scaffold(root, ID, SKILL, runs=1)
    marks = sum(path.read_text().count(MARK) for path in folder.rglob("*") if path.is_file())
    listed = [finding.text for finding in check(folder).findings if finding.rule == "todo"]
    assert len(listed) == len(set(listed)) == marks
    for name in ("experiment.yaml", "base_task.md", "harness.py", "analysis.md", "outputs/with-skill/01.md"):
        assert any(text.startswith(f"{name}:") for text in listed), name


def test_filled_in_it_passes(root: Path) -> None:
    folder = scaffold(root, ID, SKILL)
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


def test_its_controls_differ_in_what_they_say() -> None:
    from bundler.experiment import template

    assert "triton.cdiv(n, _BLOCK)" in template.RIGHT
    assert "blocks = n // _BLOCK" in template.WRONG_TAIL
    assert "            break" in template.UNCOMPILABLE
    assert "break" not in template.RIGHT.replace("breaks", "")


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
        (ID, "toy/tripling", "skills/toy/tripling' holds no skill with a version"),
    ],
)
def test_names_that_are_none(root: Path, experiment: str, skill: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        scaffold(root, experiment, skill)
    assert said in error.value.problem
    assert not (root / "proof").exists()


@pytest.mark.parametrize(
    ("experiment", "entry"),
    [("a/row-max", "row_max"), ("a/2d.sum", "kernel_2d_sum"), ("a/lambda", "kernel_lambda")],
)
def test_the_entry_is_a_name_of_python(experiment: str, entry: str) -> None:
    assert entry_of(experiment) == entry
    assert entry.isidentifier()
