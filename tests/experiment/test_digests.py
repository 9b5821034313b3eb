"""The digests are written again where they stand, and only while nothing was recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from bundler.digest import Digest
from bundler.errors import BadExperiment, UsageError
from bundler.experiment.digests import declare
from bundler.experiment.doubtful import doubtful
from bundler.experiment.load import load
from bundler.experiment.scaffold import scaffold

SKILL = "toy/doubling"
GUIDANCE = "---\nname: doubling\ndescription: Doubles.\nversion: 0.1.0\n---\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A new experiment, all of whose outputs have the same bytes in an arm."""
    (tmp_path / "skills" / SKILL).mkdir(parents=True)
    (tmp_path / "skills" / SKILL / "SKILL.md").write_text(GUIDANCE)
    return scaffold(tmp_path, "toy/row-max", SKILL)


def test_what_did_not_change_stays(folder: Path) -> None:
    before = (folder / "experiment.yaml").read_bytes()
    assert declare(folder) == ()
    assert (folder / "experiment.yaml").read_bytes() == before


def test_one_output_of_several_that_were_equal(folder: Path) -> None:
    answer = folder / "outputs/with-skill/02.md"
    answer.write_bytes(b"```python\nx = 1\n```\n")
    before = (folder / "experiment.yaml").read_text().splitlines()
    assert declare(folder) == (("outputs/with-skill/02.md", Digest.of(answer.read_bytes())),)
    after = (folder / "experiment.yaml").read_text().splitlines()
    assert [old != new for old, new in zip(before, after, strict=True)].count(True) == 1
    load(folder)


def test_the_base_task_changes_both_prompts(folder: Path) -> None:
    (folder / "base_task.md").write_bytes(b"Another task.\n")
    changed = dict(declare(folder))
    assert changed == {
        "base_task.md": Digest.of(b"Another task.\n"),
        "the prompt of without-skill": Digest.of(b"Another task.\n"),
        "the prompt of with-skill": Digest.of(GUIDANCE.encode() + b"\nAnother task.\n"),
    }
    load(folder)


@pytest.mark.parametrize("listed", [True, False])
def test_nothing_is_written_once_evidence_is_there(folder: Path, listed: bool) -> None:
    (folder / "evidence").mkdir()
    (folder / "evidence/t4.json.gz").write_bytes(b"")
    if listed:
        declaration = folder / "experiment.yaml"
        declaration.write_text(
            declaration.read_text().replace("evidence: []", "evidence: [evidence/t4.json.gz]")
        )
    (folder / "base_task.md").write_bytes(b"Another task.\n")
    before = (folder / "experiment.yaml").read_bytes()
    with pytest.raises(UsageError, match="has recorded evidence"):
        declare(folder)
    assert (folder / "experiment.yaml").read_bytes() == before


def test_a_declaration_in_another_style_is_refused(folder: Path) -> None:
    declaration = folder / "experiment.yaml"
    lines = declaration.read_text()
    first = lines.index("base_task:\n")
    digest = lines[lines.index("sha256:", first) :].splitlines()[0].removeprefix("sha256: ")
    turned = lines.replace(
        f"base_task:\n  path: base_task.md\n  sha256: {digest}\n",
        f"base_task:\n  sha256: {digest}\n  path: base_task.md\n",
    )
    declaration.write_text(turned)
    (folder / "base_task.md").write_bytes(b"Another task.\n")
    with pytest.raises(UsageError, match="its digest was not found"):
        declare(folder)
    assert declaration.read_text() == turned


def test_a_file_that_is_not_there(folder: Path) -> None:
    (folder / "outputs/with-skill/02.md").unlink()
    with pytest.raises(BadExperiment, match=r"02\.md' cannot be read"):
        declare(folder)


def test_outputs_that_may_not_be_as_they_came(folder: Path) -> None:
    """Empty, or with the line ends that a shell makes; where all have CRLF nothing tells."""
    assert list(doubtful(folder)) == []
    (folder / "outputs/with-skill/01.md").write_bytes(b"```python\r\nx = 1\r\n```\r\n")
    (folder / "outputs/with-skill/02.md").write_bytes(b"")
    (folder / "base_task.md").write_bytes(b"No line end")
    assert [(one.severity.value, one.text) for one in doubtful(folder)] == [
        ("warning", "outputs/with-skill/02.md is empty"),
        (
            "warning",
            "outputs/with-skill/01.md has CRLF line ends, where the base task or another output has LF",
        ),
    ]
    for file in (folder / "outputs").rglob("*.md"):
        file.write_bytes(b"```python\r\nx = 1\r\n```\r\n")
    assert list(doubtful(folder)) == []
    (folder / "base_task.md").write_bytes(b"One line\n")
    assert len(list(doubtful(folder))) == 6
