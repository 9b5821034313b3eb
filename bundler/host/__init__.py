"""The machine of a replay, read through NVML and the CUDA driver; a reason for all that was not read."""

from bundler.host.driver import DriverLibrary
from bundler.host.nvml import NvmlLibrary
from bundler.host.probe import probe_host
from bundler.host.sampling import Sample, Sampler, sample

__all__ = ["DriverLibrary", "NvmlLibrary", "Sample", "Sampler", "probe_host", "sample"]
