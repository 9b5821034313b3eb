"""Freeze a before/after experiment on GPU kernels into an OCI image, and verify it anywhere."""

__version__ = "0.1.0"
