"""What a candidate made of Triton: how many kernels of its own it launched, what the autotuned ones chose."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import triton
from triton.runtime.autotuner import Autotuner
from triton.runtime.interpreter import GridExecutor

from bundler.worker import faults

_MOST_TUNED = 64


class LaunchCounter:
    """Counts from its making on. Triton's hooks tell, so it is a claim."""

    def __init__(self, flavour: str) -> None:
        self.count = 0
        if flavour == "device":
            triton.knobs.runtime.launch_enter_hook.add(self._seen)
        elif flavour == "interpreter":
            self._wrap_interpreter()

    def _seen(self, *_: object) -> None:
        self.add()

    def add(self) -> None:
        """Count one more."""
        self.count += 1

    def _wrap_interpreter(self) -> None:
        original = GridExecutor.__call__

        def counted(executor: Any, *args: Any, **kwargs: Any) -> Any:
            self.count += 1
            return original(executor, *args, **kwargs)

        GridExecutor.__call__ = counted


def tuned(module: ModuleType | None) -> dict[str, str]:
    """The configuration that each autotuned kernel chose."""
    found = {}
    for name, value in list(vars(module).items()) if module else ():
        if type(name) is str and type(value) is Autotuner and vars(value).get("best_config") is not None:
            found[faults.clean(name, 100)] = faults.text_of(vars(value)["best_config"], 300)
        if len(found) == _MOST_TUNED:
            break
    return found
