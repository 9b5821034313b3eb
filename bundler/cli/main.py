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
from bundler.cli.examples import epilog
from bundler.cli.top import new_app, run

app = new_app()
app.command(epilog=epilog("verify"))(verify.verify)
app.command(epilog=epilog("freeze"))(freeze.freeze)
app.command()(freeze.rebase)
app.command(epilog=epilog("show"))(show.show)
app.command()(show.env)
app.command()(show.extract)
app.command(epilog=epilog("record"))(record.record)
app.command(epilog=epilog("new"))(new.new)
app.command(epilog=epilog("check"))(check.check)
app.command(epilog=epilog("compare"))(compare.compare)
app.command(epilog=epilog("diff"))(diff.diff)
app.command()(index.index)
app.command(epilog=epilog("report"))(report.report)
app.command()(host.host)
app.command()(schema.schema)
app.command()(completion.completion)
app.add_typer(skills.app, name="skills", help="The skills of this repository.")


def main() -> None:
    """Run the command line and exit."""
    run(app, completing=completion.asked())


if __name__ == "__main__":
    main()
