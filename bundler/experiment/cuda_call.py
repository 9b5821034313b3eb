"""What a ``cuda`` block names has to be there: returned tensors, and parameters of every case. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from bundler.errors import BadExperiment
from bundler.model.cuda import CudaArgument, CudaCall
from bundler.model.experiment import Case, Experiment, Ground
from bundler.model.expression import BadExpression, Number, names


def check_cuda(experiment: Experiment, name: str) -> None:
    """Raise BadExperiment for a block that no case could be launched by; ``name`` is the file's."""
    if experiment.cuda is None:
        return
    for problem in _problems(experiment, experiment.cuda):
        raise BadExperiment(f"{name}: cuda: {problem}", hint="docs/experiments.md, CUDA C++, shows a block")


def _problems(experiment: Experiment, call: CudaCall) -> Iterator[str]:
    returned = [one.name for one in experiment.returns]
    outputs = [argument.output for argument in call.arguments if argument.output is not None]
    for output in outputs:
        if output not in returned:
            yield f"the output {output!r} is none of what is returned: {', '.join(returned)}"
        if outputs.count(output) > 1:
            yield f"{output!r} is the output of two arguments"
    for missing in set(returned).difference(outputs):
        yield f"no argument is the output {missing!r}, which has to be returned"
    for group in experiment.cases:
        if group.returns and {one.name for one in group.returns} != set(returned):
            yield f"the cases {group.id!r} return other tensors than the block has outputs for"
    cases = [case for case in experiment.expand() if {Ground.DEVICE, Ground.COMPILE} & {*case.grounds}]
    for where, expression in _expressions(call):
        yield from _unknown(where, expression, cases)


def _expressions(call: CudaCall) -> Iterator[tuple[str, str | Number]]:
    """Every expression of the block, with where it stands."""
    yield from ((f"grid.{axis}", one) for axis, one in zip("xyz", call.grid, strict=False))
    yield from ((f"block.{axis}", one) for axis, one in zip("xyz", call.block, strict=False))
    yield "shared_bytes", call.shared_bytes
    yield from ((_about(one), one.value) for one in call.arguments if one.value is not None)


def _about(argument: CudaArgument) -> str:
    return f"argument {argument.name!r}"


def _unknown(where: str, expression: str | Number, cases: list[Case]) -> Iterator[str]:
    try:
        wanted = names(expression)
    except BadExpression as why:
        yield f"{where} {expression!r}: {why}"
        return
    for case in cases:
        for name in sorted(wanted):
            if not isinstance(case.params.get(name), int | float):
                yield f"{where} {expression!r}: {name!r} is no number of case {case.id!r}"
