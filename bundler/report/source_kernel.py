"""Ports beside the kernel that they port, in a sentence."""

from __future__ import annotations

from bundler.model.evidence import Evidence, GroundReport
from bundler.model.experiment import Experiment, Ground
from bundler.model.outcome import Passed
from bundler.report.text import count, few


def said(experiment: Experiment, report: GroundReport) -> str:
    """How many of the ports' passing cells agree with the source kernel; empty where none was compared."""
    ports = [c.id for c in experiment.candidates() if not c.arm.is_control]
    differing = {
        f"{port} on {case}": outcome.differs_from_source
        for port in ports
        for case, outcome in report.cells.get(port, {}).items()
        if isinstance(outcome, Passed) and outcome.differs_from_source is not None
    }
    if not differing:
        return ""
    apart = [cell for cell, elements in differing.items() if elements]
    agree = f"{len(differing) - len(apart)} of {count(len(differing), 'passing port cell')}"
    return f"{agree} agree with the source kernel within the tolerance" + (
        f"; apart: {few(tuple(apart), 3)}" if apart else ""
    )


def on_device(experiment: Experiment, evidence: Evidence) -> str:
    """The sentence about the device ground."""
    report = evidence.grounds.get(Ground.DEVICE.value)
    return said(experiment, report) if report is not None and report.status == "judged" else ""
