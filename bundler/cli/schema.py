"""``bundler schema``: the JSON Schemas, generated from the types."""

from __future__ import annotations

import enum
import json
from typing import Annotated, Any

import typer

from bundler.model.evidence import Evidence
from bundler.model.experiment import Experiment
from bundler.skills.types import Metadata


class Schema(enum.StrEnum):
    EXPERIMENT = "experiment"
    EVIDENCE = "evidence"
    SKILL = "skill"


_TYPES = {Schema.EXPERIMENT: Experiment, Schema.EVIDENCE: Evidence, Schema.SKILL: Metadata}


def schema(which: Annotated[Schema, typer.Argument(help="Which file's.")]) -> None:
    """Print the JSON Schema (2020-12) of experiment.yaml, of an evidence file, or of skill.json."""
    value: dict[str, Any] = _TYPES[which].model_json_schema(by_alias=True)
    value = {"$schema": "https://json-schema.org/draft/2020-12/schema", **value}
    typer.echo(json.dumps(value, indent=1, sort_keys=False))
