"""The command line's top: the one place where an error becomes an exit code."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Annotated

import typer

import bundler
from bundler import interrupts
from bundler.cli.targets import Targets
from bundler.errors import BundlerError, ExitCode, UnavailableError
from bundler.report.text import plain

HELP = """Freeze a before/after experiment on GPU kernels into an image, and verify it anywhere.

Where a command writes a file or a folder, the folder above has to be there; what is written appears whole or
not at all."""


def new_app(targets: Targets) -> typer.Typer:
    """An application without commands; those that it gets can be pointed at ``targets``."""
    app = typer.Typer(
        name="bundler",
        help=HELP,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"obj": targets},
    )
    app.callback(help=HELP)(_options)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(bundler.__version__)
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """What every command takes."""


def run(app: typer.Typer, *, completing: bool = False) -> None:
    """Run the command line and exit; ``completing``, a shell asks, and reads typer's own exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A file's name need not be UTF-8, nor what the terminal takes.
            stream.reconfigure(errors="backslashreplace")
    code = _code(app, completing)
    if code == ExitCode.INTERRUPTED and not completing:  # typer says nothing of it
        print(interrupts.line(), end="", file=sys.stderr)
    try:
        sys.stdout.flush()
    except OSError as error:
        # Python would try again as it ends, and fail with a traceback.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = _unprinted(error)
    interrupts.ignore()
    sys.exit(code)


def _code(app: typer.Typer, completing: bool) -> int:
    try:
        code = app(standalone_mode=False)
    except BundlerError as error:
        return _told(error)
    except (KeyboardInterrupt, typer.Abort):
        return ExitCode.INTERRUPTED
    except SystemExit as ended:
        if completing:
            return int(ended.code or 0)
        # typer and rich end so, outside standalone mode, only when who read our output has gone.
        return ExitCode.UNAVAILABLE
    except OSError as error:
        return _refused(error)
    except Exception as error:
        # typer's own errors, whose class moves from release to release, know how to show themselves.
        if not (hasattr(error, "show") and hasattr(error, "format_message")):
            raise
        said = vars(error)
        message = said.get("message") or getattr(said.get("param"), "help", None) or ""  # it was left out
        said["message"] = str(message).removeprefix("Value error, ")  # pydantic's words
        error.show()
        return ExitCode.USAGE
    return int(code or 0)


def _told(error: BundlerError) -> int:
    """Line by line, since a part of it may be a stranger's, as what a harness raised is."""
    first, *more = f"error: {error}".splitlines()
    print(plain(first, 2000), file=sys.stderr)
    for line in more:  # indented, so that none can pass for a line of bundler's own
        print(plain(f"  {line.removeprefix('  ')}", 2000), file=sys.stderr)
    return error.exit_code


def _refused(error: OSError) -> int:
    """What was foreseen is a BundlerError by now; left are the temporary folder, a file, our own output."""
    if error.filename is None and error.errno != errno.ENOENT:  # tempfile's own error names no file
        return _unprinted(error)
    what = f"{error.filename!r} was refused: {error.strerror}" if error.filename else str(error.strerror)
    hint = "bundler has to write to TMPDIR or /tmp (in a container: --tmpfs /tmp:exec), and to start Python"
    return _told(UnavailableError(what, hint=hint))


def _unprinted(error: OSError) -> int:
    what = f"the output cannot be written: {error.strerror}"
    return _told(UnavailableError(what, hint="free some space, or let what reads it read to the end"))
