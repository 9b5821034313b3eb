"""Replay a target where it is best done: in its container, or by this machine's own Python."""

from __future__ import annotations

import contextlib
import enum
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bundler.bundle.content import open_bundle, replayer_entries
from bundler.bundle.unpack import Parts
from bundler.digest import Digest
from bundler.engine.target import Archive, Folder, ImageName, Target, load_folder, opened
from bundler.errors import BadBundle, BadEvidence, UnavailableError
from bundler.experiment.load import Loaded, mismatch, parse_evidence
from bundler.model.evidence import Evidence
from bundler.oci.unpack import unpack
from bundler.replay.replay import Request, Step, Watch, replay

if TYPE_CHECKING:
    from bundler.engine.docker import Container, Docker

PROGRESS = "@progress "
"""How a line of a container's stderr begins that tells how far its replay is."""


class Engine(enum.StrEnum):
    """Where a bundle is run."""

    AUTO = "auto"
    """In Docker where it answers and the bundle has a runtime, else by this machine's own Python."""
    DOCKER = "docker"
    HOST = "host"


@dataclass(frozen=True)
class Replayed:
    """A replay's evidence and what it is to be held against."""

    loaded: Loaded
    evidence: Evidence
    notes: tuple[str, ...] = ()
    """What a reviewer should know of how it was run."""


@dataclass(frozen=True)
class Options:
    """How to run."""

    engine: Engine
    gpu: bool
    watch: Watch
    say: Callable[[str], None]
    """For what a container printed; the text is a stranger's."""


Plan = Callable[[Loaded], Request]
"""What is to be replayed, once it is known of which experiment."""


@contextlib.contextmanager
def verified(target: Target, plan: Plan, options: Options) -> Iterator[Replayed]:
    """Replay ``target``; what is yielded is valid inside the block.

    Raises BundlerError, as everything that it calls.
    """
    if isinstance(target, Folder):
        yield _on_host(load_folder(target.path), plan, options, None, None)
        return
    if isinstance(target, Archive):
        with opened(target.path) as bundle:
            docker = _docker_for(bundle.bundle, options)
            if docker is None:
                yield _on_host(bundle.loaded, plan, options, bundle.bundle, bundle.digest)
            else:
                yield _in_docker(docker, docker.load(target.path), plan, options, bundle.digest)
        return
    yield _by_name(target, plan, options)


def _by_name(target: ImageName, plan: Plan, options: Options) -> Replayed:
    if options.engine is Engine.HOST:
        raise UnavailableError(
            f"{target.name!r} is an image's name, which only an engine can resolve",
            hint=f"docker save {target.name} -o FILE, then name the file",
        )
    return _in_docker(_connect(), target.name, plan, options, None)


def _docker_for(bundle: Parts, options: Options) -> Docker | None:
    if options.engine is Engine.HOST or (options.engine is Engine.AUTO and not bundle.base_digest):
        return None
    try:
        return _connect()
    except UnavailableError:
        if options.engine is Engine.DOCKER:
            raise
        return None


def _connect() -> Docker:
    """The engine; its client is imported here alone, since a bundle's runtime has none."""
    try:
        from bundler.engine.docker import Docker  # noqa: PLC0415
    except ImportError:
        raise UnavailableError(
            "the Python package docker is not installed", hint="pip install docker, or add --engine host"
        ) from None
    return Docker.connect()


def _on_host(
    loaded: Loaded, plan: Plan, options: Options, bundle: Parts | None, digest: Digest | None
) -> Replayed:
    """The replayer that is installed here runs the bundle's experiment: never the bundle's own code."""
    notes = []
    if bundle is not None:
        notes.append("run by this machine's own Python, torch and triton, not in the pinned runtime")
        if not bundle.same_replayer:
            notes.append("the bundle's replayer is another bundler than this one, which ran in its place")
    evidence = replay(loaded, replace(plan(loaded), bundle=digest), options.watch)
    return Replayed(loaded, evidence, tuple(notes))


def _in_docker(docker: Docker, image: str, plan: Plan, options: Options, digest: Digest | None) -> Replayed:
    """Run the bundle's own container; only its evidence is taken, and judged here."""
    gpu = options.gpu and docker.has_gpu()
    with docker.container(image, ["--help"], gpu=False) as asked, tempfile.TemporaryDirectory() as scratch:
        loaded = _read_out(asked, Path(scratch) / "bundle")
        note = _replayer_note(asked)
        request = plan(loaded)
        with docker.container(image, _arguments(request), gpu=gpu) as container:
            ran = container.run(_Lines(options))
        evidence = _evidence(ran.stdout, ran.exit_code)
        if problem := mismatch(loaded, evidence):
            raise BadEvidence(f"the container answered for {problem}", hint="do not trust this bundle")
        subject = evidence.subject.model_copy(update={"bundle": digest})
        evidence = evidence.model_copy(update={"subject": subject})
        no_gpu = () if gpu or not options.gpu else ("Docker here hands out no GPU",)
        return Replayed(loaded, evidence, (*note, *no_gpu))


def _read_out(container: Container, folder: Path) -> Loaded:
    unpack(container.entries("/bundle"), folder)
    return open_bundle(folder)


def _replayer_note(container: Container) -> tuple[str, ...]:
    inside = {entry.path: Digest.of(entry.data) for entry in container.entries("/opt/bundler")}
    here = {entry.path: Digest.of(entry.data) for entry in replayer_entries()}
    if inside == here:
        return ("run in its container; its replayer is, byte for byte, this bundler",)
    return ("run in its container; its replayer is another bundler than this one",)


def _arguments(request: Request) -> list[str]:
    """The request as the command line of the bundler inside."""
    arguments = ["verify", "--json", "-", "--seed", str(request.seed), "--jobs", str(request.jobs)]
    grounds = {ground.split(":")[0] for ground in request.grounds()}
    for ground in sorted(grounds):
        arguments += ["--ground", ground]
    for sm in request.architectures:
        arguments += ["--arch", str(sm)]
    for candidate in request.candidates or ():
        arguments += ["--candidate", candidate]
    for case in request.cases or ():
        arguments += ["--case", case]
    return arguments


class _Lines:
    """A container's stderr: progress is taken, the rest is passed on line by line."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._rest = b""

    def __call__(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data)[-(1 << 16) :].split(b"\n")
        for line in lines:
            text = line.decode(errors="replace")
            step = _step(text) if text.startswith(PROGRESS) else None
            if step is not None:
                self._options.watch.step(step)
            elif text.strip():
                self._options.say(text)


def progress_line(step: Step) -> str:
    """A step as a line of stderr, for the bundler outside."""
    return PROGRESS + json.dumps({"ground": step.ground, "done": step.done, "total": step.total})


def _step(line: str) -> Step | None:
    try:
        value = json.loads(line.removeprefix(PROGRESS))
        return Step(str(value["ground"])[:40], int(value["done"]), int(value["total"]))
    except (ValueError, KeyError, TypeError):
        return None


def _evidence(stdout: bytes, exit_code: int) -> Evidence:
    if not stdout.strip():
        raise BadBundle(
            f"the container ended with {exit_code} and gave no evidence",
            hint="docker run --rm IMAGE verify shows what it prints",
        )
    return parse_evidence(stdout, "the container's answer")
