"""Bytes into types, with every problem in words: the declaration, and evidence, which may be a stranger's."""

from __future__ import annotations

import json
import lzma
import zlib
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from bundler.errors import BadEvidence, BadExperiment
from bundler.experiment import strict_yaml
from bundler.experiment.cuda_call import check_cuda
from bundler.experiment.problems import problems
from bundler.model.evidence import Evidence
from bundler.model.experiment import Experiment

MAX_FILE_BYTES = 16 << 20
"""Of evidence, unpacked. The largest here, with 4,536 cells, takes 0.8 MiB."""
MAX_EVIDENCE_VALUES = 500_000
_UNPACKERS: dict[bytes, Callable[[], Any]] = {
    b"\x1f\x8b": lambda: zlib.decompressobj(wbits=31),
    b"\xfd7zXZ\0": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=64 << 20),
}
"""By what a packed file begins with: gzip, xz."""


def parse(declaration: bytes, name: str) -> Experiment:
    """The declaration alone; BadExperiment lists every field that is wrong."""
    value = strict_yaml.load(declaration, name)
    if not isinstance(value, dict):
        raise BadExperiment(f"{name} is no mapping", hint="docs/experiments.md shows one")
    try:
        # Through JSON, so that a list in the file is taken as the tuple it means, and nothing else is bent.
        experiment = Experiment.model_validate_json(json.dumps(value))
    except (TypeError, ValueError) as error:
        told = problems(error, Experiment, value) if isinstance(error, ValidationError) else f"  {error}"
        raise BadExperiment(
            f"{name} breaks the schema:\n{told}",
            hint="schemas/experiment.schema.json says what each field may be",
        ) from None
    check_cuda(experiment, name)
    return experiment


def parse_evidence(data: bytes, name: str) -> Evidence:
    """Evidence from JSON, plain or in gzip or xz, perhaps a stranger's; BadEvidence says what is wrong."""
    for magic, unpacker in _UNPACKERS.items():
        if data.startswith(magic):
            data = _unpacked(data, unpacker(), name)
            break
    if not data:
        raise BadEvidence(f"{name} is empty", hint="ask for the file again, or name the right one")
    if len(data) > MAX_FILE_BYTES:
        raise BadEvidence(f"{name} is over {MAX_FILE_BYTES >> 20} MiB", hint="is it the right file?")
    # Every value may be a problem of its own, and a problem takes a KiB of memory.
    values = sum(map(data.count, (b",", b"[", b"{")))
    if values > MAX_EVIDENCE_VALUES:
        raise BadEvidence(
            f"{name} has about {values} values, over {MAX_EVIDENCE_VALUES}", hint="is it the right file?"
        )
    try:
        return Evidence.model_validate_json(data)
    except ValidationError as error:
        raise BadEvidence(
            f"{name} is no evidence:\n{problems(error, Evidence)}", hint="ask for the file again"
        ) from None


def _unpacked(data: bytes, stream: Any, name: str) -> bytes:
    """At most one byte more than the limit, whatever a bomb promises."""
    try:
        plain: bytes = stream.decompress(data, MAX_FILE_BYTES + 1)
    except (zlib.error, lzma.LZMAError) as error:
        raise BadEvidence(f"{name} is damaged: {error}", hint="ask for the file again") from None
    if len(plain) <= MAX_FILE_BYTES and (not stream.eof or stream.unused_data):
        problem = "goes on after its end" if stream.eof else "is cut short"
        raise BadEvidence(f"{name} {problem}", hint="ask for the file again")
    return plain
