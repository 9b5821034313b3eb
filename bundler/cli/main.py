"""Every command."""

from __future__ import annotations

from bundler.cli import (
    check,
    compare,
    completion,
    diff,
    freeze,
    host,
    index,
    new,
    record,
    report,
    schema,
    show,
    skills,
    verify,
)
from bundler.cli.top import new_app, run

app = new_app()
app.command()(verify.verify)
app.command()(freeze.freeze)
app.command()(freeze.rebase)
app.command()(show.show)
app.command()(show.env)
app.command()(show.extract)
app.command()(record.record)
app.command()(new.new)
app.command()(check.check)
app.command()(compare.compare)
app.command()(diff.diff)
app.command()(index.index)
app.command()(report.report)
app.command()(host.host)
app.command()(schema.schema)
app.command()(completion.completion)
app.add_typer(skills.app, name="skills", help="The skills of this repository.")


def main() -> None:
    """Run the command line and exit."""
    run(app, completing=completion.asked())


if __name__ == "__main__":
    main()
