"""What a process without the candidate says: the candidate's own is believed only where a cell then fails."""

from __future__ import annotations

from typing import Any

from bundler.model.base import Frozen
from bundler.model.outcome import Crashed, NotRun, Outcome, Shown, Why
from bundler.replay.allowance import Allowance
from bundler.replay.answers import OutOfForm, read
from bundler.replay.process import HELLO_S, Refused, SpawnFailed
from bundler.replay.zygote import Zygote
from bundler.worker import wire


class NoRoom(Frozen):
    """Why the inputs find no room; None where they do."""

    no_memory: Shown | None


class _Support(Frozen):
    """Why a host cannot run what the request names; empty where it can."""

    unsupported: Shown


class NotTold(Exception):
    """No such process could be had, or it gave no answer; ``str`` is why."""


def asked(zygote: Zygote, allowance: Allowance, header: dict[str, Any]) -> dict[str, Any]:
    """The answer of a fresh process that loads nothing. Raises NotTold."""
    try:
        worker = zygote.spawn(allowance)
        try:
            worker.hello(HELLO_S)
            return worker.ask(header, seconds=HELLO_S, limits=wire.Limits()).header
        finally:
            worker.close()
    except (SpawnFailed, wire.WireError) as error:
        raise NotTold(str(error)) from None


def why_no_room(zygote: Zygote, allowance: Allowance, arguments: list[dict[str, Any]]) -> str | None:
    """Why one set's arguments find no room in a process of their own; None where they do. Raises NotTold."""
    answer = asked(zygote, allowance, {"op": "fit", "sets": [arguments]})
    try:
        return read(NoRoom, answer).no_memory
    except OutOfForm as error:
        raise NotTold(str(error)) from None


def unsupported(zygote: Zygote, allowance: Allowance, claim: str, **request: Any) -> Outcome:
    """What comes of a worker's claim that the host does not support its candidate."""
    try:
        answer = read(_Support, asked(zygote, allowance, {"op": "supports", **request}))
    except (NotTold, OutOfForm) as error:
        return Refused(detail=f"could not tell whether the host supports it: {error}"[:1000])
    if answer.unsupported:
        return NotRun(why=Why.UNSUPPORTED_HOST, detail=answer.unsupported[:1000])
    said = f"it says that the host does not support it, and a process without it does not: {claim}"
    return Crashed(detail=said[:1000])
