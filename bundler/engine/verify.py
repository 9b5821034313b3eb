"""Replay a target where it is best done: in its container, or by this machine's own Python."""

from __future__ import annotations

import contextlib
import enum
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bundler.bundle.content import replayer_entries
from bundler.bundle.unpack import Parts
from bundler.digest import Digest
from bundler.engine.inside import Lines, arguments, other_request
from bundler.engine.reading import connect, read_out
from bundler.engine.target import Archive, Folder, ImageName, Target, load_folder, opened
from bundler.errors import BadBundle, BadEvidence, UnavailableError
from bundler.experiment.load import Loaded, mismatch
from bundler.experiment.parse import parse_evidence
from bundler.model.evidence import Evidence
from bundler.oci.archive import write_archive
from bundler.oci.image import Image
from bundler.replay.replay import replay
from bundler.replay.request import Request, Watch

if TYPE_CHECKING:
    from bundler.engine.docker import Container, Docker

FROM_LAYOUT = "bundler-from-layout:latest"
"""What Docker calls a bundle that came as an OCI layout."""


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
                yield _on_host(bundle.loaded, plan, options, bundle.bundle, bundle.image.digest)
            else:
                with contextlib.closing(docker):
                    image = _load(docker, target.path, bundle.image)
                    yield _in_docker(docker, image, plan, options, bundle.image.digest)
        return
    yield _by_name(target, plan, options)


def _by_name(target: ImageName, plan: Plan, options: Options) -> Replayed:
    if options.engine is Engine.HOST:
        raise UnavailableError(
            f"{target.name!r} is an image's name, which only an engine can resolve",
            hint=f"docker save {target.name} -o FILE, then name the file",
        )
    with contextlib.closing(connect()) as docker:
        return _in_docker(docker, target.name, plan, options, None)


def _load(docker: Docker, path: Path, image: Image) -> str:
    """Load the bundle in ``path``, which Docker takes as a tar only; its id there."""
    if path.is_file():
        return docker.load(path)
    with tempfile.TemporaryDirectory(prefix="bundler-") as scratch:
        tar = Path(scratch) / "bundle.tar"
        write_archive(image, tar, reference=FROM_LAYOUT)
        return docker.load(tar)


def _docker_for(bundle: Parts, options: Options) -> Docker | None:
    if options.engine is Engine.HOST or (options.engine is Engine.AUTO and not bundle.base_digest):
        return None
    try:
        return connect()
    except UnavailableError:
        if options.engine is Engine.DOCKER:
            raise
        return None


def _on_host(
    loaded: Loaded, plan: Plan, options: Options, bundle: Parts | None, digest: Digest | None
) -> Replayed:
    """The replayer that is installed here runs the bundle's experiment: never the bundle's own code."""
    request = replace(plan(loaded), bundle=digest)
    notes = []
    if request.device and not options.gpu:
        request = replace(request, device=False)
        notes.append("the device ground was left out: --no-gpu")
    if bundle is not None:
        notes.append("run by this machine's own Python, torch and triton, not in the pinned runtime")
        if not bundle.same_replayer:
            notes.append("the bundle's replayer is another bundler than this one, which ran in its place")
    evidence = replay(loaded, request, options.watch)
    return Replayed(loaded, evidence, tuple(notes))


def _in_docker(docker: Docker, image: str, plan: Plan, options: Options, digest: Digest | None) -> Replayed:
    """Run the bundle's own container; only its evidence is taken, and judged here."""
    gpu = options.gpu and docker.has_gpu()
    scratch_folder = tempfile.TemporaryDirectory(prefix="bundler-")
    with docker.container(image, ["--help"], gpu=False) as asked, scratch_folder as scratch:
        loaded = read_out(asked, Path(scratch) / "bundle")
        note = _replayer_note(asked)
        request = plan(loaded)
        with docker.container(image, arguments(request), gpu=gpu) as container:
            ran = container.run(Lines(options.watch.step, options.say))
        evidence = _evidence(ran.stdout, ran.exit_code)
        if problem := mismatch(loaded, evidence) or other_request(loaded, request, evidence):
            raise BadEvidence(f"the container answered for {problem}", hint="do not trust this bundle")
        subject = evidence.subject.model_copy(update={"bundle": digest})
        evidence = evidence.model_copy(update={"subject": subject})
        no_gpu = () if gpu or not options.gpu else ("Docker here hands out no GPU",)
        return Replayed(loaded, evidence, (*note, *no_gpu))


def _replayer_note(container: Container) -> tuple[str, ...]:
    inside = {entry.path: Digest.of(entry.data) for entry in container.entries("/opt/bundler")}
    here = {entry.path: Digest.of(entry.data) for entry in replayer_entries()}
    if inside == here:
        return ("run in its container; its replayer is, byte for byte, this bundler",)
    return ("run in its container; its replayer is another bundler than this one",)


def _evidence(stdout: bytes, exit_code: int) -> Evidence:
    if not stdout.strip():
        raise BadBundle(
            f"the container ended with {exit_code} and gave no evidence",
            hint="docker run --rm IMAGE verify shows what it prints",
        )
    return parse_evidence(stdout, "the container's answer")
