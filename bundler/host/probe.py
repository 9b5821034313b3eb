"""Read the machine once."""

from __future__ import annotations

from pathlib import Path

from bundler.host.child import Asked
from bundler.host.devices import NvmlReport, read_nvml
from bundler.host.driver import DriverLibrary, DriverReport, read_driver
from bundler.host.join import join
from bundler.host.nvml import NvmlLibrary
from bundler.host.system import ROOT, read_software, read_system
from bundler.model.host import Host, Read, Unread


def probe_host(
    nvml: NvmlLibrary | None = None, driver: DriverLibrary | None = None, *, root: Path = ROOT
) -> Host:
    """This machine: system, software, and every NVIDIA device, with a reason for all that was not read.

    The real libraries are asked in processes of their own, within ``child.DEADLINE_S``. Makes no CUDA
    context and leaves neither library initialised in this process. Raises nothing. ``root`` is where the
    machine's own files are looked for.
    """
    asked_nvml = Asked("nvml") if nvml is None else None
    asked_driver = Asked("driver") if driver is None else None
    system = read_system(root)
    wsl2 = system["wsl2"]
    return join(
        system,
        read_software(),
        _nvml_report(asked_nvml)
        if nvml is None
        else read_nvml(nvml, wsl2=isinstance(wsl2, Read) and bool(wsl2.value)),
        _driver_report(asked_driver) if driver is None else read_driver(driver),
    )


def _nvml_report(asked: Asked | None) -> NvmlReport:
    answer = asked.answer(NvmlReport) if asked else "not asked"
    return NvmlReport(failure=answer) if isinstance(answer, str) else answer


def _driver_report(asked: Asked | None) -> DriverReport:
    answer = asked.answer(DriverReport) if asked else "not asked"
    if isinstance(answer, str):
        return DriverReport(failure=answer, version=Unread(status="error", code=answer, call="cuInit"))
    return answer
