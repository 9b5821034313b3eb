"""The commands of a bundle's container: what a reviewer needs there, and no more."""

from __future__ import annotations

from bundler.cli import host, progress, show, verify
from bundler.cli.top import new_app, run
from bundler.engine.lifeline import end_with_asker

app = new_app()
app.command()(verify.verify)
app.command()(show.show)
app.command()(show.env)
app.command()(show.extract)
app.command()(host.host)


def main() -> None:
    """Run the command line and exit."""
    if progress.for_another():
        end_with_asker()
    run(app)
