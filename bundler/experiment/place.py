"""What a command line names has to be there, and of the kind that the command takes: else it is misused.

Only what is there can be damaged or break a rule, which is another error (BadDataError).
"""

from __future__ import annotations

from pathlib import Path

from bundler.errors import UsageError
from bundler.experiment.load import DECLARATION

NAME_ONE = "name proof/<category>/<kernel>, an unpacked bundle, a tar or an image"
NAME_FOLDER = "name proof/<category>/<kernel>"


def existing(path: Path, hint: str) -> Path:
    """``path``, which has to be there. Raises UsageError, with ``hint`` as the next step."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"{str(path)!r} does not exist", hint=hint) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{str(path)!r} cannot be looked at: {why}", hint=hint) from None
    return path


def experiment_folder(path: Path, hint: str = NAME_FOLDER) -> Path:
    """``path``, which has to be a folder with a declaration in it. Raises UsageError."""
    if not existing(path, hint).is_dir():
        raise UsageError(f"{str(path)!r} is no folder", hint=hint)
    try:
        declared = (path / DECLARATION).is_file()
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be looked at: {error.strerror}", hint=hint) from None
    if not declared:
        raise UsageError(f"{str(path)!r} is no experiment: it has no {DECLARATION}", hint=hint)
    return path
