"""``bundler report``: an experiment and what was seen of it, for those who did not run it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from bundler.cli.evidence import SUFFIXES, read_evidence, refuse_twice
from bundler.cli.outside import loaded_target
from bundler.engine.folder import load_folder
from bundler.errors import ExitCode, UnavailableError, UsageError
from bundler.experiment.load import Loaded
from bundler.files import (
    cannot_write,
    check_folder_writable,
    check_writable,
    filling,
    write_below,
    write_whole,
)
from bundler.model.evidence import Evidence
from bundler.report.text import plain

if TYPE_CHECKING:
    from bundler.report.across import Facts

_T = TypeVar("_T")
_NEEDED = "pip install '.[report]' in bundler's checkout"


def report(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TARGET|EVIDENCE",
            help="An image, a tar, an experiment's folder, or evidence files of --experiment.",
        ),
    ] = None,
    experiment: Annotated[
        str | None, typer.Option(help="The folder, tar or image that the evidence files are of.")
    ] = None,
    markdown: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Markdown for a pull request; - is stdout, and the default."),
    ] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="One self-contained HTML file.")] = None,
    plots: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="A folder for the charts as SVG and PNG files.")
    ] = None,
    pages: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write the generated pages of this experiment's folder again."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="With --pages: write nothing, exit with 1 where one is stale.")
    ] = False,
) -> None:
    """Report an experiment: Markdown for a pull request, an HTML page, charts, or an entry's own pages."""
    if check and pages is None:
        raise UsageError("--check is for --pages", hint="name the experiment's folder with --pages")
    if pages is not None and not what and experiment is None:
        raise typer.Exit(_pages(pages, check=check))
    if pages is not None:
        raise UsageError("--pages takes the recorded evidence alone", hint="leave the other targets out")
    _check_outputs(markdown, html, plots)
    with _opened(what or [], experiment) as (loaded, evidence):
        _write(_gathered(loaded, evidence), markdown, html, plots)


@contextlib.contextmanager
def _opened(what: list[str], experiment: str | None) -> Iterator[tuple[Loaded, list[tuple[str, Evidence]]]]:
    """The experiment, and the evidence files if any were named."""
    files = [name for name in what if name.endswith(SUFFIXES)]
    named = [name for name in what if name not in files]
    if len(named) + (experiment is not None) > 1:
        raise UsageError(
            f"more than one experiment was named: {', '.join(filter(None, [*named, experiment]))}",
            hint="bundler compare holds several against one another",
        )
    if files and not named and experiment is None:
        raise UsageError(
            f"{files[0]!r} is evidence: it names candidates, and not of which arm and origin they are",
            hint="name the experiment too: --experiment proof/<category>/<kernel>, or its tar",
        )
    evidence = [(name, read_evidence(name)) for name in files]
    refuse_twice(evidence)
    with loaded_target(experiment or (named[0] if named else None)) as loaded:
        yield loaded, evidence


def _gathered(loaded: Loaded, evidence: list[tuple[str, Evidence]]) -> Facts:
    from bundler.report.gather import gather  # noqa: PLC0415

    return gather(loaded, evidence)


def _write(facts: Facts, markdown: str | None, html: Path | None, plots: Path | None) -> None:
    """What a report needs beside the base is imported here: the replayer in an image has none of it."""
    if html is not None:
        write_whole(html, _needing("jinja2", lambda: _html(facts)))
        _written(html)
    if plots is not None:
        _write_plots(plots, _needing("matplotlib", lambda: _plots(facts)))
        _written(plots)
    if markdown is not None or (html is None and plots is None):
        from bundler.report.markdown import pull_request  # noqa: PLC0415

        text = pull_request(facts)
        if markdown is None or markdown == "-":
            typer.echo(text, nl=False)
        else:
            write_whole(Path(markdown), text.encode())
            _written(markdown)


def _written(path: Path | str) -> None:
    typer.echo(f"written: {plain(str(path))}", err=True)


def _check_outputs(markdown: str | None, html: Path | None, plots: Path | None) -> None:
    if html is not None:
        check_writable(html)
    if markdown not in (None, "-"):
        check_writable(Path(str(markdown)))
    if plots is not None:
        check_folder_writable(plots)


def _write_plots(folder: Path, files: dict[str, bytes]) -> None:
    try:
        with filling(folder):
            for name, data in files.items():
                write_whole(folder / name, data)
    except OSError as error:
        raise cannot_write(folder, error) from None


def _html(facts: Facts) -> bytes:
    from bundler.report.html.page import page  # noqa: PLC0415

    return page(facts).encode()


def _plots(facts: Facts) -> dict[str, bytes]:
    from bundler.report.plots import files  # noqa: PLC0415

    return files(facts)


def _needing(library: str, make: Callable[[], _T]) -> _T:
    try:
        return make()
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in (library, "markupsafe"):
            raise
        raise UnavailableError(f"{library} is not installed", hint=_NEEDED) from None


def _pages(folder: Path, *, check: bool) -> ExitCode:
    from bundler.report.pages import outdated, pages  # noqa: PLC0415

    made = pages(_gathered(load_folder(folder), []))
    stale = outdated(folder, made)
    for path in stale:
        if not check and path in made:
            write_below(folder, path, made[path])
        elif not check:
            (folder / path).unlink()
        typer.echo(f"{folder / path}: {'not up to date' if check else 'brought up to date'}", err=True)
    return ExitCode.DIFFERS if check and stale else ExitCode.OK
