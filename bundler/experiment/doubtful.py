"""Outputs that may not be as they came: empty ones, and line ends that a shell may have changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from bundler.experiment.extraction import EMPTY
from bundler.experiment.finding import Finding, Rule, warning
from bundler.experiment.load import DECLARATION, read_file
from bundler.experiment.parse import parse

_AS_IT_CAME = (
    "compare it with the answer as it came: its bytes are kept, and a shell or an editor may have "
    "changed them"
)


def doubtful(folder: Path) -> Iterator[Finding]:
    """A warning for each generated output of ``folder``. Raises BadExperiment for what cannot be read."""
    experiment = parse(read_file(folder, DECLARATION), str(folder / DECLARATION))
    paths = [output.path for arm in experiment.generated() for output in arm.outputs]
    outputs = {path: read_file(folder, path) for path in paths}
    for path, data in outputs.items():
        if not data.strip():
            yield warning(Rule.OUTPUT, f"{path} is empty", EMPTY)
    yield from carriage_returns(read_file(folder, experiment.base_task.path), outputs)


def carriage_returns(base_task: bytes, outputs: Mapping[str, bytes]) -> Iterator[Finding]:
    """A warning for each output with CRLF, where the base task or another output has LF alone."""
    if not any(b"\n" in data and b"\r\n" not in data for data in (base_task, *outputs.values())):
        return
    for path, data in outputs.items():
        if b"\r\n" in data:
            text = f"{path} has CRLF line ends, where the base task or another output has LF"
            yield warning(Rule.OUTPUT, text, _AS_IT_CAME)
