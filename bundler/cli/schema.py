"""``bundler schema``: the JSON Schemas, generated from the types."""

from __future__ import annotations

import enum
import json
from typing import Annotated

import typer
from pydantic import BaseModel

from bundler.model.evidence import Evidence
from bundler.model.experiment import Experiment
from bundler.skills.types import Metadata


class Schema(enum.StrEnum):
    """Whose schema."""

    EXPERIMENT = "experiment"
    EVIDENCE = "evidence"
    SKILL = "skill"


_TYPES: dict[Schema, type[BaseModel]] = {
    Schema.EXPERIMENT: Experiment,
    Schema.EVIDENCE: Evidence,
    Schema.SKILL: Metadata,
}


def schema(which: Annotated[Schema, typer.Argument(help="Which file's.")]) -> None:
    """Print the JSON Schema (2020-12) of experiment.yaml, of an evidence file, or of skill.json."""
    typer.echo(schema_json(which), nl=False)


def schema_json(which: Schema) -> str:
    """What schemas/ holds."""
    value = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    value |= _TYPES[which].model_json_schema(by_alias=True)
    return json.dumps(value, indent=1) + "\n"
