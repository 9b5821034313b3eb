"""Docker, through its API: load a bundle, run it hardened, take its evidence.

What the container prints is a stranger's: it is taken as bytes up to a limit, and never shown raw.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.types import DeviceRequest
from requests.exceptions import RequestException

from bundler import interrupts
from bundler.bundle.freeze import ENTRYPOINT, USER
from bundler.engine.address import docker_address
from bundler.engine.gpu_nodes import has_gpu_nodes
from bundler.engine.lifeline import HELD
from bundler.errors import BadBundle, UnavailableError, UsageError
from bundler.experiment.parse import MAX_FILE_BYTES
from bundler.names import MAX_FILES
from bundler.oci.tree import Entry
from bundler.oci.untar import Kind, read_members
from bundler.replay.limits import END_S, MOST_THREADS, WRITABLE_BYTES

MAX_BUNDLE_BYTES = 64 << 20
TMPFS = f"rw,exec,nosuid,nodev,size={WRITABLE_BYTES >> 30}g,mode=1777"
"""Of /tmp, the one place that is writable; Triton loads the launcher that it compiles from there."""
LABEL = "bundler"
"""On every container, so that those of a killed process can be found: docker ps --filter label=bundler."""
HARDENING: dict[str, Any] = {
    "network_mode": "none",
    "read_only": True,
    "cap_drop": ["ALL"],
    "security_opt": ["no-new-privileges"],
    "tmpfs": {"/tmp": TMPFS},  # noqa: S108 (inside the container)
    "pids_limit": MOST_THREADS,
    "user": USER,
}


_HELLO_S = 10
"""Until an engine has said its version: an address may be one that nobody is at."""
_CALL_S = 600
"""For what it is asked then: to load an image of gigabytes takes minutes."""


@dataclass(frozen=True)
class Ran:
    """What came of a container."""

    exit_code: int
    stdout: bytes


class Docker:
    """One engine."""

    def __init__(self, client: docker.DockerClient) -> None:
        self._client = client

    @classmethod
    def connect(cls, instead: str) -> Docker:
        """The environment's engine; UnavailableError, with ``instead`` as a way out, when none answers."""
        try:
            client = docker.from_env(timeout=_HELLO_S)
        except (DockerException, ValueError) as error:  # ValueError: a port in DOCKER_HOST that is no number
            raise UnavailableError(
                f"no Docker engine answers at {docker_address()}: {_root(error)}",
                hint=f"start Docker, or {instead}",
            ) from None
        client.api.timeout = _CALL_S
        return cls(client)

    def close(self) -> None:
        """End the conversation."""
        self._client.close()

    def load(self, path: Path) -> str:
        """Load an archive; the id of the image that it holds."""
        try:
            with path.open("rb") as stream:
                images = self._client.images.load(stream)
            return str(images[0].id)
        except (DockerException, RequestException, OSError, IndexError) as error:
            raise UnavailableError(
                f"Docker cannot load {str(path)!r}: {str(error)[:300]}",
                hint="a thin or bare archive has no runtime: bundler rebase puts it on one",
            ) from None

    def has_gpu(self) -> bool:
        """Whether to ask the engine for a GPU: it has NVIDIA's runtime, or this machine has NVIDIA's devices.

        NVIDIA's toolkit may serve a request for GPUs without being listed as a runtime. Where devices are
        there and no toolkit is, starting the container fails, and says so.
        """
        return "nvidia" in (self._client.info().get("Runtimes") or {}) or has_gpu_nodes()

    def sweep(self) -> None:
        """Remove what killed bundlers left, stopped and made over a day ago: newer ones may be in use."""
        with contextlib.suppress(DockerException, RequestException):
            self._client.containers.prune(filters={"label": LABEL, "until": "24h"})

    @contextlib.contextmanager
    def container(self, image: str, command: Sequence[str], *, gpu: bool) -> Iterator[Container]:
        """A hardened container of ``image``, made but not started; it is removed in the end."""
        with interrupts.undoing():
            made = None
            try:
                with interrupts.holding():
                    made = self._create(image, command, gpu=gpu)
                yield Container(made, gpu=gpu)
            finally:
                if made is not None:
                    with contextlib.suppress(DockerException, RequestException):
                        made.remove(force=True)

    def _create(self, image: str, command: Sequence[str], *, gpu: bool) -> Any:
        gpus = [DeviceRequest(count=-1, capabilities=[["gpu"]])] if gpu else []
        try:
            return self._client.containers.create(
                image,
                list(command),
                entrypoint=list(ENTRYPOINT),
                device_requests=gpus,
                environment={"BUNDLER_PROGRESS": "lines"},
                stdin_open=True,
                labels=[LABEL],
                **HARDENING,
            )
        except ImageNotFound:
            raise UsageError(
                f"{image!r} is neither a file here nor an image that Docker has",
                hint="check the name, or load the tar: docker load -i FILE",
            ) from None
        except (DockerException, RequestException) as error:
            raise UnavailableError(
                f"Docker cannot make a container of {image!r}: {_said(error)}",
                hint="docker info says what the engine lacks" + (_NO_GPU if gpu else ""),
            ) from None


class Container:
    """One container of a bundle."""

    def __init__(self, made: Any, *, gpu: bool = False) -> None:
        self._made = made
        self._gpu = gpu
        self._has_spoken = False

    def entries(self, folder: str) -> list[Entry]:
        """The files below ``folder``, read from outside before anything of the container runs."""
        prefix = folder.rsplit("/", 1)[-1] + "/"
        try:
            chunks, _ = self._made.get_archive(folder)
            data = _limited(chunks, MAX_BUNDLE_BYTES, f"{folder} in the image is", _HINT)
        except NotFound:
            raise BadBundle(f"the image has no {folder}", hint=_HINT) from None
        except (APIError, RequestException) as error:
            raise UnavailableError(f"Docker cannot read {folder}: {_said(error)}", hint=_LOGS) from None
        members = list(read_members(io.BytesIO(data), size=len(data), limit=MAX_FILES, name=folder))
        for member in members:
            if member.kind not in (Kind.FILE, Kind.FOLDER):
                raise BadBundle(f"{folder} in the image has the link {member.name!r}", hint=_HINT)
        return [
            Entry(m.name.removeprefix(prefix), data[m.offset : m.offset + m.size], m.executable)
            for m in members
            if m.kind is Kind.FILE
        ]

    def labels(self) -> Mapping[str, str]:
        """Of its image; a stranger's words."""
        try:
            return dict(self._made.image.labels)
        except (DockerException, RequestException) as error:
            raise UnavailableError(f"Docker cannot describe the image: {_said(error)}", hint=_LOGS) from None

    def run(self, on_stderr: Callable[[bytes], None]) -> Ran:
        """Start it and wait for its end; stderr is handed over as it comes.

        Ctrl-C asks the replay inside to end with the cells that it had; a second one gives up on it. Until it
        has said something it has no cells, and may not be able to hear yet.
        """
        try:
            try:
                stdout = self._attached(on_stderr)
            except KeyboardInterrupt:
                if not self._has_spoken:
                    raise
                self._made.stop(timeout=END_S)
                stdout = _printed(self._made.logs(stdout=True, stderr=False, stream=True))
                if not stdout.strip():  # it had no cell yet, or did not heed
                    raise
            return Ran(int(self._made.wait()["StatusCode"]), stdout)
        except (APIError, RequestException) as error:
            raise UnavailableError(f"Docker stopped answering: {_said(error)}", hint=_LOGS) from None

    def _attached(self, on_stderr: Callable[[bytes], None]) -> bytes:
        stdin = self._made.attach_socket(params={"stdin": 1, "stream": 1})
        stream = self._made.attach(stdout=True, stderr=True, stream=True, logs=False, demux=True)

        def stdout() -> Iterator[bytes]:
            for out, err in stream:
                if err:
                    self._has_spoken = True
                    on_stderr(err)
                if out:
                    yield out

        try:
            self._start()
            _hold(stdin)
            return _printed(stdout())
        finally:
            stdin.close()
            # A container that goes on printing cannot be removed while somebody seems to listen.
            with contextlib.suppress(DockerException, OSError):
                stream.close()

    def _start(self) -> None:
        try:
            self._made.start()
        except APIError as error:
            raise UnavailableError(
                f"the container does not start: {_said(error)}",
                hint=(_NO_TOOLKIT if self._gpu else "") + "name the tar, with --engine host",
            ) from None


def _hold(stdin: Any) -> None:
    """Say the byte that tells the replay to end when this process does; the engine sees the socket's end."""
    with contextlib.suppress(OSError):  # the container has ended
        getattr(stdin, "_sock", stdin).sendall(HELD)


_HINT = "name an image that bundler froze"
_NO_GPU = "; --no-gpu leaves the GPU out"
_NO_TOOLKIT = "without NVIDIA's container toolkit add --no-gpu; or "
_LOGS = "look into the engine's log, and try again"


def _root(error: Exception) -> str:
    """What the system said, which docker's client wraps in the words of four libraries."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, OSError) and found.strerror:
            return found.strerror
        found = found.__cause__ or found.__context__
    return str(error)[:300]


def _said(error: Exception) -> str:
    return str(getattr(error, "explanation", None) or error)[:300]


def _limited(chunks: Iterator[bytes], most: int, what: str, hint: str) -> bytes:
    """All of it. Raises BadBundle where it is over ``most`` bytes."""
    data = bytearray()
    for chunk in chunks:
        data += chunk
        if len(data) > most:
            raise BadBundle(f"{what} over {most} bytes", hint=hint)
    return bytes(data)


def _printed(chunks: Iterator[bytes]) -> bytes:
    return _limited(chunks, MAX_FILE_BYTES, "the container printed", "do not trust this bundle")
