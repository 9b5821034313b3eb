"""Every error that a user may meet.

    BundlerError                    1 is never used here: it means "something differs"
    ├── UsageError          exit 2  the command line or its arguments cannot be used as given
    ├── BadDataError        exit 3  what was given breaks a rule: an experiment, a bundle, evidence
    │   ├── BadExperiment
    │   ├── BadBundle
    │   ├── BadEvidence
    │   └── BadSkill
    └── UnavailableError    exit 6  what was given may be fine; something needed could not be had

A message says what was wrong, quotes the offending input, and says what to do next. The command
line prints it and exits with ``exit_code``; nothing else in bundler exits the process.
"""

from __future__ import annotations

import enum
from typing import ClassVar


class ExitCode(enum.IntEnum):
    """What a process of bundler says by how it ends. Stable: scripts and CI rely on the numbers."""

    OK = 0
    """All that was judged is reproduced."""
    DIFFERS = 1
    """At least one cell differs from the recorded evidence."""
    USAGE = 2
    BAD_DATA = 3
    NOTHING_JUDGED = 4
    """The replay finished and could not hold a single cell against the recorded evidence."""
    INVALID = 5
    """A control misbehaved, so a ground cannot be trusted to tell right from wrong."""
    UNAVAILABLE = 6
    INCOMPLETE = 7
    """The replay was cut short; the evidence has the cells that it had, marked incomplete."""
    INTERRUPTED = 130
    """Ctrl-C, by the shells' convention of 128 + SIGINT."""


class BundlerError(Exception):
    """Root of the errors that are shown to a user without a traceback."""

    exit_code: ClassVar[ExitCode]

    def __init__(self, problem: str, *, hint: str) -> None:
        """``problem``: what is wrong, quoting the input. ``hint``: what to do next."""
        super().__init__(problem)
        self.problem = problem
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.problem}\n  → {self.hint}"


class UsageError(BundlerError):
    """The command line, or an argument of it, cannot be used as given."""

    exit_code = ExitCode.USAGE


class BadDataError(BundlerError):
    """Data breaks a rule; it would break it on every machine."""

    exit_code = ExitCode.BAD_DATA


class BadExperiment(BadDataError):
    """An experiment folder breaks a rule."""


class BadBundle(BadDataError):
    """A bundle is truncated, tampered with, or is no bundle."""


class BadEvidence(BadDataError):
    """An evidence file is malformed or belongs to something else."""


class BadSkill(BadDataError):
    """A skill breaks a rule."""


class UnavailableError(BundlerError):
    """Something that is needed could not be had here: an engine, a base image, a disk with space."""

    exit_code = ExitCode.UNAVAILABLE
