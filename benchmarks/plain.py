"""A plain script: import one candidate, loop over its cases, compare. What one would write without bundler.

    TRITON_INTERPRET=1 python -m benchmarks.plain EXPERIMENT GROUND CALLS CANDIDATE...

GROUND is interpreter, device, or compile: to PTX, for each of the experiment's architectures, and no further.
CALLS is ``once`` (each set of values once) or ``same`` (as many calls as verify makes). No isolation, no time
limit, no poison, no check of the form: whatever the candidate does to this process or to its inputs stays. It
prints how many cells agreed, and of how many.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

from bundler.experiment.load import Loaded, load
from bundler.judge import calls
from bundler.model.experiment import Case, Ground
from bundler.worker import standin
from bundler.worker.archs import ARCHITECTURES, INTERPRETER_SM
from bundler.worker.make import Make, Scaled, Tensor

GIB = 1 << 30


def main() -> None:
    """Run the candidates that the command line names, one after the other."""
    folder, ground, how, *names = sys.argv[1:]
    absent = standin.Standin(ARCHITECTURES[INTERPRETER_SM])
    loaded = load(Path(folder), evidence=False)
    cases = [case for case in loaded.experiment.expand() if Ground(ground) in case.grounds and _fits(case)]
    if ground != "device":  # wrappers ask for a GPU
        standin.install(absent)
    with tempfile.TemporaryDirectory() as scratch:
        harness = _module(Path(scratch) / "harness.py", loaded.harness, Scaled=Scaled)
        agreed = []
        for number, name in enumerate(names):
            with _pretending():
                module = _module(Path(scratch) / f"candidate{number}.py", loaded.sources[name])
                entry = getattr(module, loaded.experiment.entry)
            if ground == "compile":
                agreed += [_compiles(loaded, harness, entry, case, absent) for case in cases]
            else:
                agreed += [_agrees(loaded, harness, entry, case, how) for case in cases]
    print(sum(agreed), "of", len(agreed))


def _module(path: Path, source: bytes, **names: object) -> ModuleType:
    path.write_bytes(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    module.__dict__.update(names)
    spec.loader.exec_module(module)
    return module


def _fits(case: Case) -> bool:
    if not case.needs.device_memory_gib or sys.argv[2] != "device":
        return True
    return bool(torch.cuda.get_device_properties(0).total_memory > case.needs.device_memory_gib * GIB)


def _agrees(loaded: Loaded, harness: ModuleType, entry: Callable[..., Any], case: Case, how: str) -> bool:
    sets = range(loaded.experiment.harness.sets)
    arguments = [harness.inputs(dict(case.params), n, Make(0, case.id, n)) for n in sets]
    references = [harness.reference(dict(case.params), n, arguments[n]) for n in sets]
    elements = sum(int(np.prod(a.shape)) for a in arguments[0] if isinstance(a, Tensor))
    same = calls.plan(len(sets), elements=elements, on_device=_device() == "cuda")
    try:
        return all(
            _equal(_call(entry, arguments[n]), references[n], loaded)
            for n in (same if how == "same" else sets)
        )
    except Exception as error:  # noqa: BLE001 (a candidate may raise anything)
        print(type(error).__name__, str(error)[:200])
        return False


def _compiles(
    loaded: Loaded, harness: ModuleType, entry: Callable[..., Any], case: Case, absent: standin.Standin
) -> bool:
    """Whether the candidate's launches on this case compile for every architecture."""
    given = [_standin_for(a) for a in harness.inputs(dict(case.params), 0, Make(0, case.id, 0))]
    try:
        for sm in loaded.experiment.architectures:
            absent.arch = ARCHITECTURES[sm]
            with _pretending():
                entry(*given)
    except Exception as error:  # noqa: BLE001 (as above)
        print(type(error).__name__)
        return False
    return bool(absent.take_launches())


def _standin_for(argument: Any) -> Any:
    """A tensor of its form whose values, zeros, take no memory: some cases are of many GiB."""
    if not isinstance(argument, Tensor):
        return argument
    size = getattr(torch, argument.dtype).itemsize
    storage = torch.from_numpy(np.zeros(argument.storage, f"i{size}")).view(getattr(torch, argument.dtype))
    return storage.as_strided(argument.shape, argument.strides, argument.offset)


def _call(entry: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    given = [_tensor(argument) for argument in arguments]
    with _pretending():
        return entry(*given)


def _pretending() -> contextlib.AbstractContextManager[object]:
    return contextlib.nullcontext() if sys.argv[2] == "device" else standin.PoisonFresh(on_cpu=True)


def _device() -> str:
    return "cuda" if sys.argv[2] == "device" else "cpu"


def _tensor(argument: Any) -> Any:
    if not isinstance(argument, Tensor):
        return argument
    dtype = getattr(torch, argument.dtype)
    storage = torch.full((argument.storage,), argument.gap, dtype=dtype, device=_device())
    view = storage.as_strided(argument.shape, argument.strides, argument.offset)
    if argument.values is not None:
        view.copy_(torch.from_numpy(np.ascontiguousarray(argument.values)))
    for index, value in (argument.points or {}).items():
        view[tuple(int(i) for i in np.unravel_index(index, argument.shape))] = value
    return view


def _equal(returned: Any, reference: Any, loaded: Loaded) -> bool:
    outputs, answers = (x if isinstance(x, tuple) else (x,) for x in (returned, reference))
    return all(map(_close, outputs, answers, [each.compare for each in loaded.experiment.returns]))


def _close(output: torch.Tensor, answer: Any, rule: Any) -> bool:
    expected = answer.values if isinstance(answer, Scaled) else answer
    scale: Any = answer.scale if isinstance(answer, Scaled) else 1.0
    if rule is None:
        return True
    found = output.double().cpu().numpy()
    with np.errstate(invalid="ignore"):
        off = np.abs(found - expected) > rule.atol * scale + rule.rtol * np.abs(expected)
    return not bool((off & (found != expected)).any())


if __name__ == "__main__":
    main()
