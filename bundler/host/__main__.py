"""One half of the probe, for the parent process: ``python -m bundler.host nvml|driver`` prints its report."""

from __future__ import annotations

import sys

from bundler.host.devices import read_nvml
from bundler.host.driver import DriverReport, read_driver, real_driver
from bundler.host.nvml import real_nvml
from bundler.host.system import is_wsl2
from bundler.model.host import Unread


def _driver() -> DriverReport:
    driver = real_driver()
    if isinstance(driver, str):
        missing = Unread(status="not_available", code=driver, call="cuDriverGetVersion")
        return DriverReport(failure=driver, version=missing)
    return read_driver(driver)


def main(half: str) -> None:
    """Print the report as one line of JSON."""
    report = _driver() if half == "driver" else read_nvml(real_nvml(), wsl2=is_wsl2())
    sys.stdout.write(f"\n{report.model_dump_json()}\n")


if __name__ == "__main__":
    main(sys.argv[1])
