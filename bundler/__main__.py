"""``python -m bundler``."""

from bundler.cli.main import main

main()
