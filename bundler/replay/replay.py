"""Run an experiment's candidates again, on every ground that was asked for, and record what came of it."""

from __future__ import annotations

import contextlib

from bundler.errors import UnavailableError
from bundler.experiment.load import Loaded
from bundler.model.evidence import Evidence
from bundler.model.experiment import Language
from bundler.model.words import not_held
from bundler.replay.compile import Assembler
from bundler.replay.cross_check import cross_checked
from bundler.replay.grounds_compiled import judge_compiled
from bundler.replay.grounds_executed import judge_on_device, judge_on_interpreter
from bundler.replay.oracle import Oracle
from bundler.replay.process import SpawnFailed
from bundler.replay.record import Record
from bundler.replay.request import Request, Watch
from bundler.replay.zygote import start


def replay(loaded: Loaded, request: Request, watch: Watch) -> Evidence:
    """Judge every cell of ``request`` and return the record; an interrupted replay returns what it had.

    Raises BadExperiment when the harness fails, UnavailableError when no process can be started.
    """
    record = Record(loaded, request, watch)
    complete = False
    with contextlib.ExitStack() as stack:
        try:
            _judge(record, stack)
            complete = True
        except KeyboardInterrupt:
            record.stop.set()
    return record.evidence(complete=complete)


def _judge(record: Record, stack: contextlib.ExitStack) -> None:
    """All grounds in turn; the processes that several of them ask live as long as ``stack``."""
    oracle = _oracle(record, stack)
    if record.experiment.cross_check is not None:
        record.cross_check = dict(cross_checked(record.experiment, record.cases, oracle))
    device, architectures = record.request.device, record.request.architectures
    assembler = None
    if device or (architectures and Language.TRITON in record.languages):
        assembler = Assembler(stack.enter_context(start("assembler")))
        stack.callback(assembler.close)
    if device:
        assert assembler is not None
        judge_on_device(record, oracle, assembler)
    if architectures:
        judge_compiled(record, oracle, assembler)
    if record.request.interpreter:
        judge_on_interpreter(record, oracle)


def _oracle(record: Record, stack: contextlib.ExitStack) -> Oracle:
    """The harness's process, and what confines it. Raises UnavailableError where it cannot be had."""
    zygote = stack.enter_context(start("oracle"))
    try:
        oracle = stack.enter_context(
            Oracle(zygote, record.experiment, record.loaded.harness, record.request.seed)
        )
    except SpawnFailed as reason:
        raise UnavailableError(
            f"the harness has no confined process to run in: {reason}",
            hint="stop other programs of this user or container, or let it start more processes (ulimit -u, "
            "--pids-limit)",
        ) from None
    record.judge_isolation["harness"] = "; ".join(not_held(oracle.isolation)) or "held"
    return oracle
