"""``bundler show --json``: everything that is frozen, by name and digest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bundler.bundle.content import replayer_entries
from bundler.bundle.freeze import freeze
from bundler.cli.main import app
from bundler.digest import Digest
from bundler.oci.archive import write_archive
from bundler.oci.image import append
from bundler.oci.layer import build_layer
from tests.small import CASES, HARNESS, ID, RIGHT, SKILL, TASK, Small, answer, evidence, ground


def shown(small: Small) -> dict[str, Any]:
    ended = CliRunner().invoke(app, ["show", str(small.write()), "--json"])
    assert ended.exit_code == 0, ended.output
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def test_what_is_frozen(small: Small) -> None:
    loaded = small.load()
    small.record(evidence(loaded, {"interpreter": ground(loaded)}))
    found = shown(small)
    assert (found["experiment"], found["skill"], found["cases"]) == (ID, SKILL, len(CASES))
    assert found["task"]["sha256"] == Digest.of(TASK)
    assert found["harness"]["sha256"] == Digest.of(HARNESS)
    assert found["runtime"] == loaded.experiment.runtime.model_dump(mode="json")
    (recorded,) = found["recorded"]
    assert (recorded["name"], recorded["grounds"]) == ("evidence/host.json", ["interpreter"])
    assert recorded["started"]
    assert found["plan"] is None


def test_arms(small: Small) -> None:
    experiment = small.load().experiment
    arms = {arm["name"]: arm for arm in shown(small)["arms"]}
    assert list(arms) == [arm.name for arm in experiment.arms]
    declared = {arm.name: arm for arm in experiment.arms}["with-skill"]
    assert declared.skill is not None
    taught = arms["with-skill"]
    assert (taught["origin"], taught["prompt_sha256"]) == ("generated", declared.prompt_sha256)
    assert taught["skill"]["version"] == declared.skill.version
    assert taught["outputs"][0] == {
        "candidate": "with-skill/01",
        "path": "outputs/with-skill/01.md",
        "sha256": Digest.of(answer()),
        "source_sha256": Digest.of(RIGHT),
    }
    assert arms["without-skill"]["skill"] is None
    control = arms["control-wrong"]
    assert (control["origin"], control["expect"]) == ("control", "fail")
    assert (control["model"], control["prompt_sha256"]) == (None, None)


def test_a_plan_is_what_was_said(small: Small) -> None:
    small.declared["plan"] = {"hardware": ["Tesla T4"], "runs": 2}
    assert shown(small)["plan"] == {"hardware": ["Tesla T4"], "runs": 2}


def test_no_escape_reaches_the_terminal(small: Small) -> None:
    small.declared["title"] = "\u202e\x9b turned"
    ended = CliRunner().invoke(app, ["show", str(small.write()), "--json"])
    assert ended.exit_code == 0, ended.output
    assert ended.stdout.isascii()


def _lines(target: Path, columns: str) -> list[str]:
    ended = CliRunner().invoke(app, ["show", str(target)], env={"COLUMNS": columns})
    assert ended.exit_code == 0, ended.output
    return [line.strip() for line in ended.output.splitlines()]


@pytest.mark.parametrize("columns", ["80", "", "200"])
def test_no_name_and_no_digest_is_cut(small: Small, columns: str) -> None:
    outputs = [small.file(f"outputs/with-skill-as-it-was/0{n}.md", answer()) for n in (1, 2)]
    small.arm("with-skill")["outputs"] = outputs
    text = "\n".join(_lines(small.write(), columns))
    for output in outputs:
        assert output["path"] in text
        assert output["sha256"] in text
    assert "…" not in text
    assert columns != "80" or max(map(len, text.split("\n"))) <= 80
    assert ("┏" in text) is (columns == "200")  # a table where it fits


def test_a_bundle_names_the_base_that_it_stands_on(small: Small, tmp_path: Path) -> None:
    labels = {"bundler.runtime": "toy"}
    base = append(
        None, [build_layer([])], entrypoint=[], cmd=[], user="", working_dir="/", env={}, labels=labels
    )
    for name, under, said in (
        ("on", base, f"toy, {base.digest}"),
        ("bare", None, "none: bundler rebase puts it"),
    ):
        tar = tmp_path / f"{name}.tar"
        write_archive(freeze(small.load(), under).image, tar, reference="x", thin=False)
        (told,) = [line for line in _lines(tar, "200") if line.startswith("base ")]
        assert told.split(maxsplit=1)[1].startswith(said)
        found = json.loads(CliRunner().invoke(app, ["show", str(tar), "--json"]).stdout)
        assert found["base"].startswith(said)
    assert shown(small)["base"] is None
    assert [line for line in _lines(small.folder, "200") if line.startswith("base ")] == []


def test_a_bundle_has_it_too() -> None:
    assert "bundler/cli/contents.py" in {entry.path for entry in replayer_entries()}


def test_architectures_are_told_as_one() -> None:
    row_max = Path(__file__).parents[2] / "proof/portability/row-max"
    shown = CliRunner().invoke(app, ["show", str(row_max)], env={"COLUMNS": "160"})
    assert shown.output.splitlines()[-1].endswith(", compile sm_75 80 86 89 90 100 120, interpreter")
