"""Take the pictures of docs/reports.md again: ``python -m tests.report.screenshots`` (needs Chromium)."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bundler.experiment.load import load
from bundler.report.gather import gather
from bundler.report.html.page import page
from tests.report.browser import browser

ROOT = Path(__file__).parents[2]
PICTURES = (("report-desktop.png", "light", 1280, 1500), ("report-phone-dark.png", "dark", 390, 1500))


def main() -> None:
    """The page of row-max, by day on a desktop, by night on a phone."""
    with tempfile.TemporaryDirectory() as folder, browser() as window:
        file = Path(folder) / "report.html"
        file.write_text(page(gather(load(ROOT / "proof/portability/row-max"))))
        for name, scheme, width, height in PICTURES:
            window.scheme(scheme)
            window.size(width, height)
            window.open(file.as_uri())
            (ROOT / "docs" / name).write_bytes(window.screenshot())


if __name__ == "__main__":
    main()
