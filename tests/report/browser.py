"""Headless Chromium over the W3C WebDriver protocol, and a server that remembers what was asked of it."""

from __future__ import annotations

import base64
import contextlib
import functools
import http.server
import json
import shutil
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bundler.report.across import Facts
from bundler.report.html.page import page
from tests.conftest import BROWSERS

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


class Browser:
    """One session."""

    def __init__(self, address: str, binary: str, profile: str) -> None:
        self._address = address
        options = {"binary": binary, "args": [*FLAGS, f"--user-data-dir={profile}"]}
        wanted = {"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options}}}
        self._session = f"/session/{self._call('POST', '/session', wanted)['sessionId']}"

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._address + path, data, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def open(self, url: str) -> None:
        self._call("POST", f"{self._session}/url", {"url": url})

    def run(self, script: str) -> Any:
        """What ``script`` returns; of a promise, what it gives."""
        return self._call("POST", f"{self._session}/execute/sync", {"script": script, "args": []})

    def command(self, name: str, **params: Any) -> Any:
        """One of the DevTools' commands."""
        return self._call("POST", f"{self._session}/goog/cdp/execute", {"cmd": name, "params": params})

    def size(self, width: int, height: int) -> None:
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def scheme(self, name: str) -> None:
        feature = {"name": "prefers-color-scheme", "value": name}
        self.command("Emulation.setEmulatedMedia", features=[feature])

    def screenshot(self) -> bytes:
        return base64.b64decode(self._call("GET", f"{self._session}/screenshot"))

    def close(self) -> None:
        self._call("DELETE", self._session)


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """A browser for as long as the block runs; what it was started with is gone afterwards."""
    driver, binary = shutil.which("chromedriver"), next(filter(None, map(shutil.which, BROWSERS)))
    assert driver, "chromedriver is needed beside Chromium"
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process,
    ):
        try:
            started = Browser(f"http://127.0.0.1:{_port(process)}", str(binary), profile)
            try:
                yield started
            finally:
                started.close()
        finally:
            process.terminate()


def _port(process: subprocess.Popen[bytes]) -> int:
    assert process.stdout
    until = time.monotonic() + 30
    while time.monotonic() < until and (line := process.stdout.readline()):
        if b"on port " in line and line.strip().rstrip(b".").split()[-1].isdigit():
            port = int(line.strip().rstrip(b".").split()[-1])
            if port:
                return port
    raise AssertionError("chromedriver did not start")


@contextlib.contextmanager
def served(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """``folder`` on this machine, and the paths that were asked of it so far."""
    asked: list[str] = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            asked.append(self.path)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the base class's name)
            pass

    handler = functools.partial(Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", asked
        finally:
            server.shutdown()


def read(window: Browser, selector: str) -> list[str]:
    """The visible text of every element that ``selector`` finds."""
    script = "return [...document.querySelectorAll(%s)].map(e => e.innerText)" % json.dumps(selector)  # noqa: UP031
    found: list[str] = window.run(script)
    return found


def axe_finds_nothing(facts: Facts, window: Browser, folder: Path, axe: str, scheme: str) -> None:
    """On the page of ``facts``, every part of it open: on a phone in the dark, on a desktop in the light."""
    (folder / "report.html").write_text(page(facts))
    window.size(390 if scheme == "dark" else 1280, 844)
    window.scheme(scheme)
    window.open((folder / "report.html").as_uri())
    window.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    found = window.run(axe + ";return axe.run().then(r => r.violations)")
    assert [(v["impact"], v["id"], [n["html"][:200] for n in v["nodes"][:3]]) for v in found] == []
