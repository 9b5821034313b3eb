"""A folder as a target: an experiment's, or an unpacked bundle.

It is all that a bundle's own bundler can be pointed at: nothing that this imports reads an archive or
speaks to an engine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from bundler import interrupts
from bundler.bundle.listing import is_bundle, open_bundle
from bundler.engine.as_root import check_reach
from bundler.engine.replayed import Engine, Options, Plan, Replayed
from bundler.errors import UsageError
from bundler.experiment.load import Loaded, load
from bundler.experiment.place import NAME_ONE, existing, experiment_folder
from bundler.replay.replay import replay
from bundler.replay.request import Request

LAYOUT = "oci-layout"
"""The file that makes a folder an image."""
_NO_REPLAYER = "leave --own-replayer out: the installed bundler runs a folder; or name a tar or an image"

_NO_CONTAINER = (
    "leave --engine docker out: the installed bundler runs a folder; or freeze it, and name the tar"
)


@dataclass(frozen=True)
class Folder:
    """An experiment's folder, or an unpacked bundle."""

    path: Path


def load_folder(path: Path) -> Loaded:
    """The experiment in a folder, whichever of the two kinds it is."""
    if is_bundle(existing(path, NAME_ONE)):
        return open_bundle(path)
    return load(experiment_folder(path, NAME_ONE))


def verified_folder(target: Folder, plan: Plan, options: Options) -> Replayed:
    """Replay what is in a folder by this very bundler. Raises BundlerError, as everything that it calls."""
    if options.own_replayer:
        raise UsageError(f"{str(target.path)!r} is a folder, which has no replayer", hint=_NO_REPLAYER)
    if options.engine is Engine.DOCKER:
        raise UsageError(f"{str(target.path)!r} is a folder, which has no container", hint=_NO_CONTAINER)
    loaded = load_folder(target.path)
    request, notes = here(plan(loaded), options)
    check_reach()
    with interrupts.undoing():
        return Replayed(loaded, replay(loaded, request, options.watch), notes)


def here(request: Request, options: Options) -> tuple[Request, tuple[str, ...]]:
    """What of ``request`` this machine's own Python is to do, and what to say of the rest.

    Raises UsageError where that is nothing.
    """
    if options.gpu or not request.device:
        return request, ()
    left = replace(request, device=False)
    if not left.grounds():
        raise UsageError(
            "--no-gpu leaves out the only ground that was asked for, device",
            hint="leave --no-gpu out, or ask for another --ground as well",
        )
    return left, ("the device ground was left out: --no-gpu",)
