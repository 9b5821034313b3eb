"""The generated files are what the code gives now."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from docs.generate import generated

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("path", generated(), ids=lambda path: path.name)
def test_up_to_date(path: Path) -> None:
    assert path.read_text() == generated()[path], "run: make docs"


@pytest.mark.parametrize(
    "path", [path for path in generated() if path.suffix == ".json"], ids=lambda p: p.name
)
def test_a_schema_is_one(path: Path) -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(path.read_text()))


@pytest.mark.parametrize("path", sorted(ROOT.glob("proof/*/*/experiment.yaml")), ids=lambda p: p.parent.name)
def test_every_experiment_fits_the_published_schema(path: Path) -> None:
    schema = json.loads((ROOT / "schemas/experiment.schema.json").read_text())
    jsonschema.validate(yaml.safe_load(path.read_text()), schema)


@pytest.mark.parametrize("path", sorted(ROOT.glob("skills/*/*/skill.json")), ids=lambda p: p.parent.name)
def test_every_skill_fits_the_published_schema(path: Path) -> None:
    schema = json.loads((ROOT / "schemas/skill.schema.json").read_text())
    jsonschema.validate(json.loads(path.read_text()), schema)


def test_the_schema_refuses_what_the_types_refuse() -> None:
    schema = json.loads((ROOT / "schemas/experiment.schema.json").read_text())
    sound = yaml.safe_load((ROOT / "proof/portability/row-max/experiment.yaml").read_text())
    for change in ({"unknown": 1}, {"id": "no slash"}, {"language": "cobol"}, {"arms": []}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(sound | change, schema)
