"""A bundle in its container, on the cpu runtime: run by hand under the hardening flags, and from outside."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bundler.bundle.content import BUNDLE_PREFIX, REPLAYER_PREFIX, experiment_entries, replayer_entries
from bundler.bundle.freeze import ENTRYPOINT, freeze
from bundler.bundle.listing import CONTENTS
from bundler.digest import Digest
from bundler.engine.docker import TMPFS, Docker
from bundler.engine.replayed import Engine, Options, Replayed
from bundler.engine.target import Archive, ImageName
from bundler.engine.verify import verified
from bundler.errors import BadBundle, BadEvidence, UnavailableError, UsageError
from bundler.judge.verdict import exit_code, hold
from bundler.model.evidence import Evidence, evidence_json
from bundler.oci.archive import write_archive
from bundler.oci.image import Image, append
from bundler.oci.layer import build_layer
from bundler.oci.layout import read_layout, write_layout
from bundler.oci.tree import Entry
from bundler.replay.request import Step, Watch
from tests.engine.conftest import Recorded, plan
from tests.small import ID, Small, answer, evidence, ground

pytestmark = [
    pytest.mark.docker,
    pytest.mark.torch,
    # docker's client leaves the socket of a stream to the collector, closed as it is.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

ROOT = Path(__file__).parents[2]
RUNTIME = ROOT / "build/images/cpu"
HARDENED = [
    *("--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges"),
    f"--tmpfs=/tmp:{TMPFS}",
]
GROUNDS = ["--ground", "compile", "--ground", "interpreter"]


def run(image: str, *arguments: str, flags: tuple[str, ...] = ()) -> subprocess.CompletedProcess[bytes]:
    command = ["docker", "run", "--rm", *HARDENED, *flags, image, *arguments]
    done = subprocess.run(command, capture_output=True, timeout=300, check=False)
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return done


@pytest.fixture(scope="module")
def docker() -> Iterator[Docker]:
    with contextlib.closing(Docker.connect("go without")) as engine:
        yield engine


@pytest.fixture(scope="module")
def base() -> Image:
    if not (RUNTIME / "oci-layout").is_file():
        pytest.skip("build/images/cpu is not built: make images RUNTIMES=cpu")
    return read_layout(RUNTIME, own_store=True)


@pytest.fixture(scope="module")
def put(
    docker: Docker, base: Image, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[Image], str]]:
    """Loads an image on the base into Docker, thin where Docker has the base; removes all in the end."""
    folder = tmp_path_factory.mktemp("tars")
    names: list[str] = []

    def put(image: Image) -> str:
        names.append(f"bundler-test-engine-{len(names)}:1")
        path = folder / "x.tar"
        try:
            write_archive(image, path, reference=names[-1], thin=True)
            docker.load(path)
        except UnavailableError:
            write_archive(image, path, reference=names[-1])
            docker.load(path)
        path.unlink()
        return names[-1]

    yield put
    subprocess.run(["docker", "rmi", "--force", *names], capture_output=True, check=False)


@pytest.fixture(scope="module")
def image(put: Callable[[Image], str], recorded: Recorded, base: Image) -> str:
    return put(freeze(recorded.loaded, base).image)


# --- by hand ---------------------------------------------------------------------------------------------


def test_verify_under_the_hardening_flags(image: str, recorded: Recorded) -> None:
    done = run(image, "verify", *GROUNDS, "--json", "-")
    assert done.returncode == 0, done.stderr.decode()
    answer = Evidence.model_validate_json(done.stdout)
    before = recorded.loaded.recorded[0][1]
    assert {name: report.cells for name, report in answer.grounds.items()} == {
        name: report.cells for name, report in before.grounds.items()
    }
    assert answer.kernels == before.kernels
    assert answer.grounds["interpreter"].isolation
    assert b"REPRODUCED: 16 cells reproduced, 0 differ, 0 not judged" in done.stderr


def test_a_user_without_a_name(image: str) -> None:
    one = ["--ground", "interpreter", "--case", "n=1", "--candidate", "with-skill/01"]
    done = run(image, "verify", *one, flags=("-u", "12345"))
    assert done.returncode == 0, done.stderr.decode()
    assert b"REPRODUCED: 3 cells reproduced" in done.stdout


def test_the_other_commands(image: str, recorded: Recorded) -> None:
    assert b"Usage: " in run(image, "--help").stdout
    shown = run(image, "show").stdout.decode()
    assert ID in shown
    assert "recorded evidence/host.json" in shown
    found = json.loads(run(image, "env").stdout)
    assert found["runtime"]["name"] == "cpu"
    assert found["host"]["software"]["triton"].startswith("3.7.1")
    extracted = run(image, "extract", "/tmp/out")
    assert (extracted.returncode, extracted.stdout) == (0, b"/tmp/out\n")
    for command in (
        ["extract", "/out"],
        ["verify", "--json", "/out.json", "--ground", "interpreter", "--case", "n=1"],
    ):
        assert run(image, *command).returncode == 6


def test_the_image_itself_is_not_written_to(image: str) -> None:
    made = subprocess.run(["docker", "create", image, "show"], capture_output=True, text=True, check=True)
    name = made.stdout.strip()
    try:
        subprocess.run(["docker", "start", "--attach", name], capture_output=True, check=True)
        changed = subprocess.run(["docker", "diff", name], capture_output=True, text=True, check=True)
        assert changed.stdout == ""
    finally:
        subprocess.run(["docker", "rm", "--force", name], capture_output=True, check=True)


# --- tampered with ---------------------------------------------------------------------------------------


def _image_of(
    small: Small, base: Image, change: Callable[[dict[str, bytes]], None], *, relist: bool
) -> Image:
    """The bundle with files of its layer changed; with ``relist`` its list is made to agree."""
    files = {entry.path: entry.data for entry in experiment_entries(small.load())}
    change(files)
    if relist:
        listed = json.loads(files.pop(CONTENTS))
        listed["files"] = {path: Digest.of(data) for path, data in files.items()}
        files[CONTENTS] = json.dumps(listed).encode()
    return bundle_of(base, [Entry(path, data) for path, data in files.items()], replayer_entries())


def bundle_of(base: Image, experiment: list[Entry], replayer: list[Entry]) -> Image:
    return append(
        base,
        [build_layer(replayer, REPLAYER_PREFIX), build_layer(experiment, BUNDLE_PREFIX)],
        entrypoint=ENTRYPOINT,
        cmd=["verify"],
        user="65534:65534",
        working_dir="/tmp",
        env={"BUNDLER_BUNDLE": f"/{BUNDLE_PREFIX}"},
        labels={},
    )


def _output(files: dict[str, bytes]) -> None:
    path = f"proof/{ID}/outputs/with-skill/01.md"
    files[path] = files[path].replace(b"2.0", b"2.5")


def _harness(files: dict[str, bytes]) -> None:
    path = f"proof/{ID}/harness.py"
    files[path] = files[path].replace(b"2.0", b"2.5")


def _evidence(files: dict[str, bytes]) -> None:
    path = f"proof/{ID}/evidence/host.json"
    value = json.loads(files[path])
    value["grounds"]["interpreter"]["cells"]["with-skill/01"]["n=1"] = {"outcome": "crashed", "detail": "x"}
    files[path] = json.dumps(value).encode()


@pytest.mark.parametrize(
    ("change", "relist", "code", "said"),
    [
        (_output, False, 3, f"'proof/{ID}/outputs/with-skill/01.md' has sha256:"),
        (_output, True, 3, "is not what experiment.yaml declares"),
        (_harness, False, 3, f"'proof/{ID}/harness.py' has sha256:"),
        (_harness, True, 3, "evidence/host.json was recorded with another harness"),
        (_evidence, False, 3, f"'proof/{ID}/evidence/host.json' has sha256:"),
        (_evidence, True, 1, "DIFFERS: "),
    ],
)
def test_tampered_with(
    put: Callable[[Image], str],
    recorded: Recorded,
    base: Image,
    change: Callable[[dict[str, bytes]], None],
    relist: bool,
    code: int,
    said: str,
) -> None:
    name = put(_image_of(recorded.small, base, change, relist=relist))
    done = run(name, "verify", "--ground", "interpreter", "--case", "n=1")
    assert done.returncode == code, done.stderr.decode()
    assert said in (done.stdout + done.stderr).decode()


# --- from outside ----------------------------------------------------------------------------------------


def options(steps: list[Step] | None = None, said: list[str] | None = None) -> Options:
    return Options(
        engine=Engine.DOCKER,
        gpu=False,
        watch=Watch(steps.append if steps is not None else lambda step: None),
        say=said.append if said is not None else lambda line: None,
    )


def code_of(replayed: Replayed) -> int:
    return exit_code(
        replayed.evidence, hold(replayed.loaded.experiment, replayed.evidence, replayed.loaded.recorded)
    )


def test_an_images_name(image: str) -> None:
    steps: list[Step] = []
    said: list[str] = []
    with verified(ImageName(image), plan, options(steps, said)) as replayed:
        assert code_of(replayed) == 0
    assert replayed.notes == ("run in its container; its replayer is, byte for byte, this bundler",)
    assert replayed.evidence.subject.bundle is None
    assert {step.ground: step.done for step in steps} == {"compile": 8, "interpreter": 8}
    assert said == []


def test_a_layout(recorded: Recorded, base: Image, tmp_path: Path) -> None:
    frozen = freeze(recorded.loaded, base).image
    write_layout(frozen, tmp_path / "layout")
    one = replace(plan(recorded.loaded), architectures=(), cases=("n=1",))
    with verified(Archive(tmp_path / "layout"), lambda loaded: one, options()) as replayed:
        assert code_of(replayed) == 0
        assert replayed.evidence.subject.bundle == frozen.digest
    subprocess.run(["docker", "rmi", "bundler-from-layout:latest"], capture_output=True, check=False)


def test_a_bare_archive_has_nothing_to_run(recorded: Recorded, tmp_path: Path) -> None:
    write_archive(freeze(recorded.loaded, None).image, tmp_path / "x.tar", reference="bundler-test-bare:1")
    with (
        pytest.raises(UnavailableError, match=r"has no runtime.*\n.*bundler rebase puts its tar on one"),
        verified(Archive(tmp_path / "x.tar"), plan, options()),
    ):
        pass


def test_a_bare_image_has_nothing_to_run(docker: Docker, recorded: Recorded, tmp_path: Path) -> None:
    """Loaded into Docker by hand, where only its label tells."""
    name = "bundler-test-bare:1"
    write_archive(freeze(recorded.loaded, None).image, tmp_path / "x.tar", reference=name)
    docker.load(tmp_path / "x.tar")
    try:
        with pytest.raises(UnavailableError) as refused, verified(ImageName(name), plan, options()):
            pass
    finally:
        subprocess.run(["docker", "rmi", name], capture_output=True, check=False)
    assert "has no runtime" in refused.value.problem
    assert "bundler rebase puts its tar on one; or name its tar, which needs no Docker" in refused.value.hint
    assert "--no-gpu" not in refused.value.hint


def test_no_image_of_that_name() -> None:
    with (
        pytest.raises(UsageError, match="is neither a file here nor an image that Docker has"),
        verified(ImageName("bundler-test-nowhere:1"), plan, options()),
    ):
        pass


def test_ctrl_c_leaves_what_the_replay_had(put: Callable[[Image], str], checkout: Small, base: Image) -> None:
    sleeper = b"import time\nimport torch\n\n\ndef double(x):\n    time.sleep(0.5)\n    return x + x\n"
    checkout.declared["evidence"] = []
    checkout.arm("without-skill")["outputs"] = [checkout.file("outputs/without-skill/01.md", answer(sleeper))]
    name = put(freeze(checkout.load(), base).image)
    steps: list[Step] = []

    def step(now: Step) -> None:
        steps.append(now)
        if now.done == 4:
            threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()

    request = replace(plan(checkout.load()), architectures=(), jobs=1)
    how = replace(options(), watch=Watch(step))
    with verified(ImageName(name), lambda loaded: request, how) as replayed:
        assert code_of(replayed) == 7
    assert not replayed.evidence.complete
    cells = replayed.evidence.grounds["interpreter"].cells
    assert cells["control-right/control-right"]["n=1"].outcome == "passed"
    assert cells["with-skill/01"]["n=100"].outcome == "not-run"


def test_sigkill_ends_the_container(
    put: Callable[[Image], str], checkout: Small, base: Image, tmp_path: Path
) -> None:
    """No ``finally`` runs; the engine sees that nobody holds the container's stdin any more."""
    sleeper = b"import time\nimport torch\n\n\ndef double(x):\n    time.sleep(2)\n    return x + x\n"
    checkout.declared["evidence"] = []
    checkout.arm("control-right")["outputs"] = [checkout.file("controls/control-right.py", sleeper)]
    name = put(freeze(checkout.load(), base).image)

    def containers(*filters: str) -> list[str]:
        command = ["docker", "ps", "--quiet", "--filter", f"ancestor={name}", *filters]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    command = [sys.executable, "-m", "bundler", "verify", name, "--engine", "docker", "--no-gpu"]
    asker = subprocess.Popen(
        [*command, "--ground", "interpreter"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        env=os.environ | {"TMPDIR": str(tmp_path)},  # nothing removes what the killed one had there
    )
    try:
        _wait(lambda: bool(containers()), 60)
        time.sleep(3)
        assert containers()
        asker.kill()
        asker.wait()
        _wait(lambda: not containers(), 45)
    finally:
        asker.kill()
        for left in containers("--all"):
            subprocess.run(["docker", "rm", "--force", left], capture_output=True, check=False)


def _wait(reached: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_the_command_line_outside(image: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bundler", "verify", image, "--engine", "docker", "--no-gpu", *GROUNDS]
    done = subprocess.run(
        [*command, "--json", str(tmp_path / "x.json")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("REPRODUCED") == 1
    said = done.stderr.splitlines()  # how far it is, and nothing else
    assert said
    assert [
        line for line in said if not re.fullmatch(r"(compile|interpreter): [0-9]+ of 8 cells", line)
    ] == []
    assert Evidence.model_validate_json((tmp_path / "x.json").read_bytes()).complete


# --- a container that lies -------------------------------------------------------------------------------

STRANGER = """\
import base64, sys
sys.stderr.write("\\x1b[2J@progress nonsense\\n[bold]hello[/bold]\\n")
{program}
"""


@pytest.fixture
def stranger(put: Callable[[Image], str], recorded: Recorded, base: Image) -> Callable[[str], str]:
    """An image with this experiment whose replayer is ``program``."""

    def stranger(program: str) -> str:
        main = Entry("__main__.py", STRANGER.format(program=program).encode())
        return put(bundle_of(base, experiment_entries(recorded.loaded), [main]))

    return stranger


def _prints(data: bytes) -> str:
    return f"sys.stdout.buffer.write(base64.b64decode({base64.b64encode(data)!r}))"


def test_another_replayer_is_told_and_its_words_are_escaped(
    stranger: Callable[[str], str], recorded: Recorded
) -> None:
    said: list[str] = []
    answer = recorded.loaded.recorded[0][1]
    name = stranger(_prints(evidence_json(answer)))
    with verified(ImageName(name), plan, options(said=said)) as replayed:
        assert replayed.notes == ("run in its container; its replayer is another bundler than this one",)
    assert said == ["\x1b[2J@progress nonsense", "[bold]hello[/bold]"]


def test_an_answer_for_fewer_cells(stranger: Callable[[str], str], recorded: Recorded) -> None:
    loaded = recorded.loaded
    some = {name: row for name, row in ground(loaded).cells.items() if name != "control-wrong/control-wrong"}
    answer = evidence(loaded, {"compile:sm_90": ground(loaded), "interpreter": ground(loaded, cells=some)})
    name = stranger(_prints(evidence_json(answer)))
    with (
        pytest.raises(
            BadEvidence, match="the container answered for no cell of 'control-wrong/control-wrong' on "
        ),
        verified(ImageName(name), plan, options()),
    ):
        pass


@pytest.mark.parametrize(
    ("program", "kind", "said"),
    [
        ("sys.exit(3)", BadBundle, "the container ended with 3 and gave no evidence"),
        ("print('hello')", BadEvidence, "the container's answer is no evidence"),
        (
            "while True: sys.stdout.write('x' * (1 << 20))",
            BadBundle,
            "the container printed over 16777216 bytes",
        ),
    ],
)
def test_no_answer(stranger: Callable[[str], str], program: str, kind: type[Exception], said: str) -> None:
    name = stranger(program)
    with pytest.raises(kind, match=said), verified(ImageName(name), plan, options()):
        pass


def test_a_link_beside_the_replayer_is_refused(
    put: Callable[[Image], str], recorded: Recorded, base: Image, tmp_path: Path
) -> None:
    """Docker would follow it: the files compared would not be all that runs."""
    frozen = put(freeze(recorded.loaded, base).image)
    link = "import os; os.symlink('/tmp/x.py', '/opt/bundler/json.py')"
    steps = f"FROM {frozen}\nUSER 0\nRUN {json.dumps(['python3', '-c', link])}\n"
    (tmp_path / "Dockerfile").write_text(steps)
    subprocess.run(
        ["docker", "build", "--tag", "bundler-test-link:1", str(tmp_path)],
        capture_output=True,
        env={**os.environ, "DOCKER_BUILDKIT": "0"},
        check=True,
    )
    try:
        with (
            pytest.raises(BadBundle, match=r"/opt/bundler in the image has the link 'bundler/json.py'"),
            verified(ImageName("bundler-test-link:1"), plan, options()),
        ):
            pass
    finally:
        subprocess.run(["docker", "rmi", "bundler-test-link:1"], capture_output=True, check=False)
