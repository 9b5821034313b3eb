"""``python -m bundler``, and the command ``bundler``."""

from bundler import interrupts


def main() -> None:
    """Run the command line and exit."""
    interrupts.handle()  # before what is imported below, which is most of a start
    from bundler.cli.main import main as run  # noqa: PLC0415

    run()


if __name__ == "__main__":
    main()
