"""Take the pictures of docs/reports.md again: ``python -m tests.report.screenshots`` (Chromium, Pillow)."""

from __future__ import annotations

import io
import tempfile
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from bundler.experiment.load import load
from bundler.report.gather import gather
from bundler.report.html.page import page
from tests.report.browser import Browser, browser

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Picture:
    """What is pictured: an entry's page from an element on, as a reader's screen shows it."""

    file: str
    entry: str
    scheme: str
    width: int
    height: int
    section: str = ""
    """The id of the element at the top; the page's own top without one."""


PICTURES = (
    Picture("report-desktop.png", "cuda/softmax", "light", 1280, 1340),
    Picture("report-errors.png", "cuda/softmax", "light", 1280, 600, "errors"),
    Picture("report-failures.png", "patterns/row-moments-brief", "light", 1280, 1560, "failures"),
    Picture("report-phone-dark.png", "patterns/row-moments-brief", "dark", 390, 1500),
)


def main() -> None:
    """All of them, each of 64 colours, which is what flat areas and text need."""
    with tempfile.TemporaryDirectory() as folder, browser() as window:
        for picture in PICTURES:
            file = Path(folder) / "report.html"
            file.write_text(page(gather(load(ROOT / "proof" / picture.entry))))
            _open(window, file, picture)
            image = (
                Image.open(io.BytesIO(window.screenshot()))
                .convert("RGB")
                .quantize(64, dither=Image.Dither.NONE)
            )
            image.save(ROOT / "docs" / picture.file, optimize=True)


def _open(window: Browser, file: Path, picture: Picture) -> None:
    window.scheme(picture.scheme)
    window.size(picture.width, picture.height)
    window.open(file.as_uri())
    if picture.section:
        window.run(f"document.getElementById('{picture.section}').scrollIntoView()")


if __name__ == "__main__":
    main()
