"""Replay a target where it is best done: in its container, or by this machine's own Python."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bundler.bundle.content import replayer_entries
from bundler.bundle.unpack import Parts
from bundler.digest import Digest
from bundler.engine.address import docker_is_expected
from bundler.engine.as_root import check_reach
from bundler.engine.confined import NotConfined, confined
from bundler.engine.folder import Folder, here, verified_folder
from bundler.engine.inside import Lines, arguments, other_request
from bundler.engine.own import run_own
from bundler.engine.process import Start, unconfined
from bundler.engine.reading import connect, connect_for, read_out
from bundler.engine.replayed import Engine, Options, Plan, Replayed
from bundler.engine.target import Archive, ImageName, Opened, Target, opened
from bundler.errors import BadBundle, BadEvidence, UnavailableError
from bundler.experiment.load import Loaded
from bundler.experiment.parse import parse_evidence
from bundler.experiment.subject import mismatch
from bundler.files import temporary_folder
from bundler.model.evidence import Evidence
from bundler.model.words import count, few
from bundler.oci.archive import write_archive
from bundler.oci.image import BASE_DIGEST_LABEL, Image
from bundler.replay.replay import replay
from bundler.replay.request import Request

if TYPE_CHECKING:
    from bundler.engine.docker import Container, Docker

_SHOWN = 3
_DISTRUST = "do not trust this bundle"
FROM_LAYOUT = "bundler-from-layout:latest"
"""What Docker calls a bundle that came as an OCI layout."""


@contextlib.contextmanager
def verified(target: Target, plan: Plan, options: Options) -> Iterator[Replayed]:
    """Replay ``target``; what is yielded is valid inside the block.

    Raises BundlerError, as everything that it calls.
    """
    if isinstance(target, Folder):
        yield verified_folder(target, plan, options)
        return
    if isinstance(target, Archive):
        with opened(target.path) as bundle:
            docker = _docker_for(target.path, bundle.bundle, options)
            if docker is None:
                yield _on_host(bundle, plan, options)
            else:
                with contextlib.closing(docker):
                    image = _load(docker, target.path, bundle.image)
                    yield _in_docker(docker, image, plan, options, bundle.image.digest)
        return
    yield _by_name(target, plan, options)


def _by_name(target: ImageName, plan: Plan, options: Options) -> Replayed:
    if options.engine is Engine.HOST:
        raise UnavailableError(
            f"{target.name!r} is no file or folder here, and what image it names only an engine knows",
            hint=f"check the path; of an image: docker save {target.name} -o FILE, then name the file",
        )
    with contextlib.closing(connect_for(target.name)) as docker:
        return _in_docker(docker, target.name, plan, options, None)


def _load(docker: Docker, path: Path, image: Image) -> str:
    """Load the bundle in ``path``, which Docker takes as a tar only; its id there."""
    if path.is_file():
        return docker.load(path)
    with temporary_folder() as scratch:
        tar = scratch / "bundle.tar"
        write_archive(image, tar, reference=FROM_LAYOUT)
        return docker.load(tar)


def _docker_for(path: Path, bundle: Parts, options: Options) -> Docker | None:
    if options.engine is Engine.HOST or (options.engine is Engine.AUTO and not bundle.base_digest):
        return None
    if not bundle.base_digest:
        raise _bare(repr(str(path)), "leave --engine docker out")
    try:
        return connect()
    except UnavailableError as error:
        if options.engine is Engine.DOCKER:
            raise
        if docker_is_expected():
            options.say(f"{error.problem}; this machine's own Python judges instead")
        return None


def _on_host(opened: Opened, plan: Plan, options: Options) -> Replayed:
    """By this machine's own Python, with the bundle's own replayer; with the installed one where that is
    another and cannot be confined here."""
    loaded, bundle = opened.loaded, opened.bundle
    request, left_out = here(replace(plan(loaded), bundle=opened.image.digest), options)
    check_reach()
    notes = [*left_out, "run by this machine's own Python, torch and triton, not in the pinned runtime"]
    others = bundle.other_files()
    trusted = options.own_replayer or not others
    why = ""
    if request.grounds():
        try:
            evidence = _by_own(loaded, request, options, bundle, unconfined if trusted else confined)
            return Replayed(loaded, evidence, (*notes, _own_note(others, trusted)))
        except NotConfined as reason:
            why = str(reason)
    notes += [_installed_note(others, why)] if others else []
    evidence = _told(replay(loaded, request, options.watch), request.bundle, "installed")
    return Replayed(loaded, evidence, tuple(notes))


def _by_own(loaded: Loaded, request: Request, options: Options, bundle: Parts, start: Start) -> Evidence:
    """By the bundle's own replayer; its evidence is a stranger's until it is held against the request."""
    checked = replace(options.watch, checkpoint=lambda evidence: options.watch.checkpoint(own(evidence)))

    def own(evidence: Evidence) -> Evidence:
        if problem := mismatch(loaded, evidence):
            raise BadEvidence(f"the bundle's replayer answered for {problem}", hint=_DISTRUST)
        return _told(evidence, request.bundle, "bundle")

    evidence = own(run_own(bundle, loaded.root, request, checked, options.say, start))
    if problem := other_request(loaded, request, evidence):
        raise BadEvidence(f"the bundle's replayer answered for {problem}", hint=_DISTRUST)
    return evidence


def _told(evidence: Evidence, bundle: Digest | None, origin: Literal["installed", "bundle"]) -> Evidence:
    subject = evidence.subject.model_copy(update={"bundle": bundle, "replayer_from": origin})
    return evidence.model_copy(update={"subject": subject})


def _own_note(others: Sequence[str], trusted: bool) -> str:
    if not others:
        return "by the bundle's own replayer, unpacked; it is, byte for byte, this bundler"
    how = "unconfined, as --own-replayer asks" if trusted else "unpacked and confined"
    return f"by the bundle's own replayer, {how}; it is not this bundler: {_differing(others)}"


def _installed_note(others: Sequence[str], why: str) -> str:
    """The files come last: their names are a stranger's, and what is too long is cut off."""
    so = f"cannot be confined here ({why}); --own-replayer runs it unconfined" if why else "had nothing to do"
    return f"by the installed bundler: the bundle's own replayer is another and {so}; {_differing(others)}"


def _differing(paths: Sequence[str]) -> str:
    differ = "differs" if len(paths) == 1 else "differ"
    return f"{count(len(paths), 'file')} {differ}, {few(paths, _SHOWN)}"


def _in_docker(docker: Docker, image: str, plan: Plan, options: Options, digest: Digest | None) -> Replayed:
    """Run the bundle's own container; only its evidence is taken, and judged here."""
    docker.sweep()
    gpu = options.gpu and docker.has_gpu()
    with docker.container(image, ["--help"], gpu=False) as asked, temporary_folder() as scratch:
        loaded = read_out(asked, scratch / "bundle")
        if not asked.labels().get(BASE_DIGEST_LABEL):
            raise _bare(repr(image), "name its tar, which needs no Docker")
        note = _replayer_note(asked)
        request = plan(loaded)
        with docker.container(image, arguments(request), gpu=gpu) as container:
            ran = container.run(Lines(options.watch.step, options.say))
        evidence = _evidence(ran.stdout, ran.exit_code)
        if problem := mismatch(loaded, evidence) or other_request(loaded, request, evidence):
            raise BadEvidence(f"the container answered for {problem}", hint=_DISTRUST)
        evidence = _told(evidence, digest, "bundle")
        no_gpu = () if gpu or not options.gpu else ("Docker here hands out no GPU",)
        return Replayed(loaded, evidence, (*note, *no_gpu))


def _bare(what: str, instead: str) -> UnavailableError:
    return UnavailableError(
        f"{what} has no runtime, as freeze --bare makes it: Docker cannot run it",
        hint=f"bundler rebase puts its tar on one; or {instead}, to verify with this machine's own Python",
    )


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
