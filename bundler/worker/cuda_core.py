"""cuda.core as it is installed, and the driver's functions that it lacks: which names, and which versions do.

Loaded once, before the fork. That asks the driver for a word and its version, so that libcuda is bound, and
initialises nothing. After that a launch opens no file, which Landlock could deny.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import re
from dataclasses import dataclass
from typing import Any

_HOMES = ("cuda.core", "cuda.core.experimental")
"""Where the names are: since 0.5 in the first, before in the second."""
_NAMES = ("LaunchConfig", "ObjectCode", "Stream", "launch")
_OLDEST = (0, 3)
"""The oldest release that launches were tried with."""


@dataclass(frozen=True)
class Cuda:
    """Two modules that launch a kernel between them."""

    core: Any
    """cuda.core: loads machine code and launches it."""
    driver: Any
    """cuda.bindings.driver: one attribute, and CUDA's words for an error."""


class Unusable(Exception):
    """There is no cuda.core that can be used here; ``str`` says why."""


@functools.cache
def load() -> Cuda:
    """Both modules, bound to this machine's libcuda. Raises Unusable."""
    # It would import readline otherwise, which may write to the standard output.
    os.environ.setdefault("CUDA_CORE_DONT_FIX_TAB_COMPLETION", "1")
    try:
        driver = importlib.import_module("cuda.bindings.driver")
        core = _home()
        driver.cuGetErrorName(driver.CUresult.CUDA_SUCCESS)
        # Up to 0.3 the first of each reads the metadata of packages. No code is loaded yet.
        core.LaunchConfig(grid=(1, 1, 1), block=(1, 1, 1), shmem_size=0)
        core.ObjectCode.from_cubin(b"")
    except Unusable:
        raise
    except Exception as error:  # cuda.bindings has exceptions of its own for a missing library
        raise Unusable(f"cuda.core could not be loaded: {error}"[:400]) from error
    return Cuda(core, driver)


def _home() -> Any:
    found = str(importlib.import_module("cuda.core").__version__)
    numbers = re.match(r"(\d+)\.(\d+)", found)
    if numbers and tuple(map(int, numbers.groups())) >= _OLDEST:
        for name in _HOMES:
            with contextlib.suppress(ModuleNotFoundError):
                module = importlib.import_module(name)
                if all(hasattr(module, wanted) for wanted in _NAMES):
                    return module
    oldest = ".".join(map(str, _OLDEST))
    raise Unusable(f"cuda.core {found} has not what launches a kernel here; {oldest} or newer has")
