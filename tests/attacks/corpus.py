"""The corpus: every attack, the grounds where it can act, and the outcomes that it may get there.

An outcome is written as ``wrong`` or, closer, ``wrong (type)``, ``failed (run)``, ``not-run (no-launch)``.
The candidates stand in ``candidates/NAME.py``, or ``.cu``; each one's first line says what it tries.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bundler.model.outcome import Mark

FOLDER = Path(__file__).parent
GroundName = Literal["interpreter", "compile", "device"]
GROUNDS: tuple[GroundName, ...] = ("interpreter", "compile", "device")


@dataclass(frozen=True)
class Group:
    """Attacks that share a declaration: cases, limits, rules."""

    name: str
    cases: tuple[int, ...]
    """Elements of each case's vectors."""
    cell_seconds: float
    own_kernel: Literal["required", "reported"] = "required"
    compare: str = "{atol: 1.0e-6, rtol: 1.0e-6, nan: forbidden, zero: equal, reason: one rounding}"
    language: Literal["triton", "cuda"] = "triton"

    @property
    def suffix(self) -> str:
        """Of its candidates' files."""
        return "cu" if self.language == "cuda" else "py"


PLAIN = Group("plain", (200,), 20)
LATER = Group("later", (64, 128, 200), 8)
"""Several cases: what one of them does must not reach the others."""
HANG = Group("hang", (200,), 5)
REPORTED = Group("reported", (200,), 20, own_kernel="reported")
CUDA = Group("cuda", (64, 128, 200), 20, language="cuda")
CUDA_HANG = Group("cuda-hang", (200,), 5, language="cuda")
GROUPS = (PLAIN, LATER, HANG, REPORTED, CUDA, CUDA_HANG)


@dataclass(frozen=True)
class Entry:
    """One candidate and what must become of it."""

    name: str
    group: Group
    interpreter: tuple[str, ...] = ()
    """The outcomes that are allowed on this ground; empty where it cannot act."""
    compile: tuple[str, ...] = ()
    device: tuple[str, ...] = ()
    only: int | None = None
    """The case in which it acts; in the others it has to pass, whatever it did in this one."""
    mark: Mark | None = None
    """A mark that its outcome has to carry."""
    kind: Literal["attack", "report"] = "attack"
    """A report is an honest kernel that other harnesses were reported to judge wrongly: it may pass."""

    def allowed(self, ground: GroundName) -> tuple[str, ...]:
        allowed: tuple[str, ...] = getattr(self, ground)
        return allowed

    @property
    def what(self) -> str:
        """The first line of the candidate's docstring, or its first comment."""
        source = (FOLDER / "candidates" / f"{self.name}.{self.group.suffix}").read_text(encoding="utf-8")
        if self.group.language == "cuda":
            return source.splitlines()[0].removeprefix("// ")
        return (ast.get_docstring(ast.parse(source)) or "").splitlines()[0]


def _everywhere(name: str, *allowed: str, group: Group = PLAIN, only: int | None = None) -> Entry:
    return Entry(name, group, allowed, allowed, allowed, only)


def _runs(name: str, *allowed: str, group: Group = PLAIN, only: int | None = None) -> Entry:
    """Acts where something is run; to the compiler it is a kernel like another."""
    return Entry(name, group, allowed, (), allowed, only)


def _nothing_launched(name: str, *allowed: str) -> Entry:
    """Wrong where it runs; where it is compiled, it launches nothing."""
    return Entry(name, PLAIN, allowed, ("not-run (no-launch)",), allowed)


def _device(name: str, *allowed: str, group: Group = PLAIN, only: int | None = None) -> Entry:
    return Entry(name, group, device=allowed, only=only)


def _compiled(name: str, *allowed: str, group: Group = CUDA) -> Entry:
    """CUDA C++ that acts while it is compiled."""
    return Entry(name, group, (), allowed, allowed)


_REACH = ("wrong (values)",)

CORPUS: tuple[Entry, ...] = (
    # Forged results. A frame that is in form carries bytes, and bytes are held against the reference.
    # On a device the CUDA driver's own descriptors are among them, and CUDA fails.
    Entry(
        "forge-text",
        PLAIN,
        ("wrong (values)",),
        ("not-run (no-launch)",),
        ("wrong (values)", "failed (run)", "crashed"),
    ),
    _everywhere("forge-text-on-the-wire", "crashed"),
    _everywhere("forge-frame", "crashed"),
    Entry("forge-frames-ahead", LATER, ("wrong (values)",), ("crashed",), ("wrong (values)",)),
    _everywhere("forge-huge-lengths", "crashed"),
    _everywhere("forge-deep-json", "crashed"),
    _everywhere("forge-half-a-frame", "crashed"),
    _everywhere("forge-many-faults", "crashed"),
    # What would make it not-run: what a process says that has run it is believed only where it then fails.
    _everywhere("forge-unsupported", "crashed"),
    Entry("forge-no-room", PLAIN, ("failed (run)",), ("crashed",), ("failed (run)",)),
    _everywhere("forge-nan-claim", "crashed"),
    _nothing_launched("forge-files", "wrong (values)"),
    _everywhere("stale-file", "crashed", group=LATER),
    # Ends.
    _everywhere("exit-at-import", "crashed", group=LATER),
    _everywhere("exit-in-the-second-case", "crashed", group=LATER, only=200),
    _nothing_launched("exit-in-atexit", "wrong (values)"),
    _everywhere("exit-by-systemexit", "failed (run)"),
    # Work that is done later, or by others.
    _runs("thread-finishes-later", "wrong (values)", "failed (run)", "crashed"),
    # It also walks through whatever the interpreter and Triton's compiler are just building.
    _runs("thread-rewrites-memory", "wrong (values)", "failed", "crashed", "unstable"),
    # Looking for the answer.
    _runs("scan-gc", "wrong (values)"),
    # An undumpable process of an ordinary user cannot open its own memory as a file.
    _runs("scan-memory", "wrong (values)", "failed (run)"),
    _nothing_launched("uninitialised", "wrong (values)"),
    _nothing_launched("uninitialised-behind-torch", "wrong (values)"),
    _nothing_launched("read-harness", *_REACH),
    _runs("guess-seed", "wrong (values)"),
    _device("reuse-device-memory", "wrong (values)", "failed (run)"),
    # Reaching out of its process: right, if it succeeded.
    *(
        _nothing_launched(name, *_REACH)
        for name in (
            "reach-judge",
            "reach-network",
            "reach-local-sockets",
            "reach-files",
            "reach-other-folders",
            "reach-environment",
            "reach-descriptors",
            "kill-parent",
            "leave-the-group",
            "slow-others",
            "reach-privileges",
            "reach-namespaces",
        )
    ),
    # Inputs and outputs.
    _runs("zero-inputs", "wrong (values)"),
    _runs("return-input", "wrong (values)"),
    _nothing_launched("return-constant", "wrong (values)"),
    _runs("return-nothing", "wrong (type)"),
    _runs("tensor-subclass", "wrong (type)"),
    _runs("lying-shape", "wrong", "crashed", "failed"),
    _runs("expanded-zero", "wrong (layout)"),
    _runs("sparse-tensor", "wrong (type)"),
    _runs("meta-tensor", "wrong"),
    _runs("double-precision", "wrong (dtype)"),
    _runs("lying-type", "wrong (type)"),
    _runs("tuple-subclass", "wrong (type)"),
    _runs("many-outputs", "wrong (count)"),
    # Caches, warm-ups, shapes, precision.
    _runs("cache-by-id", "wrong (values)"),
    _runs("cache-by-data-ptr", "wrong (values)"),
    _runs("cache-by-content", "unstable", "wrong (no-own-kernel)"),
    _runs("cache-by-shape", "wrong (values)"),
    _runs("detect-warm-up", "unstable", "wrong (values)"),
    _runs("right-ten-times", "unstable", "wrong (values)"),
    _runs("only-known-shapes", "wrong (no-own-kernel)", group=LATER, only=200),
    _nothing_launched("torch-instead", "wrong (no-own-kernel)"),
    Entry("torch-instead", REPORTED, ("passed",), (), ("passed",), mark=Mark.NO_OWN_KERNEL),
    _runs("low-precision", "wrong (values)"),
    # Patches of what a harness trusts, the worker's own code among it.
    _runs("patch-comparisons", "wrong (values)", "failed (run)", "crashed"),
    _runs("patch-clocks", "wrong (values)", "crashed"),
    _runs("patch-worker", "wrong (values)", "crashed"),
    _runs("patch-json", "wrong (values)", "crashed", "timed-out", group=HANG),
    _runs("patch-torch", "wrong (values)", "crashed", "failed"),
    # Resources.
    _everywhere("fork-bomb", "crashed", "failed (run)", group=HANG),
    _everywhere("fork-chain", "crashed", "failed (run)", group=HANG),
    _everywhere("endless-loop", "timed-out", group=HANG),
    _everywhere("endless-import", "timed-out", group=HANG),
    _everywhere("sleep", "timed-out", group=HANG),
    _everywhere("fill-disk", "crashed", "failed (run)"),
    _everywhere("fill-one-file", "failed (run)", "crashed"),
    _everywhere("fill-memory", "crashed", "failed (run)"),
    _everywhere("fill-memory-shared", "crashed", "failed (run)"),
    # On a device the driver needs such files; only a cgroup counts what is in them.
    Entry("fill-memory-files", PLAIN, ("failed (run)",), ("failed (run)",)),
    _runs("fill-memory-in-children", "crashed", "failed (run)", "wrong (values)"),
    _nothing_launched("flood-output", "wrong (values)"),
    _everywhere("segfault", "crashed"),
    _everywhere("close-descriptors", "crashed"),
    # The device.
    _runs("illegal-address", "crashed", "failed (run)", group=LATER, only=128),
    _runs("deadlock", "timed-out", group=LATER, only=128),
    _device("side-stream", "wrong (values)"),
    _device("leave-a-side-stream-current", "wrong (values)"),
    _device("other-device", "wrong (device)"),
    _device("absent-device", "failed (run)"),
    _device("fill-device-memory", "failed (run)"),
    # Its answers are right; no case may be lost as one whose inputs found no room.
    Entry("keep-memory", LATER, device=("passed", "failed (run)"), only=64, kind="report"),
    Entry("too-much-shared-memory", PLAIN, compile=("failed (launch)",), device=("failed (launch)",)),
    Entry("grid-too-large", PLAIN, compile=("failed (launch)",), device=("failed",)),
    # Text.
    _nothing_launched("print-markup", "wrong (values)"),
    _everywhere("raise-markup", "failed (run)"),
    _everywhere("raise-forever", "failed (run)", "crashed"),
    _everywhere("raise-that-kills", "crashed"),
    _everywhere("raise-that-raises", "failed (run)"),
    _everywhere("raise-no-string", "failed (run)"),
    _runs("hostile-module", "wrong (values)"),
    _runs("hostile-globals", "wrong (values)", "crashed"),
    _everywhere("no-entry", "failed (import)"),
    # Public reports.
    Entry("report-autotune-in-place", PLAIN, ("wrong (values)",), (), ("wrong (values)",), kind="report"),
    Entry("report-autotune-at-import", PLAIN, ("passed",), ("passed",), ("passed",), kind="report"),
    Entry("report-masked-load", PLAIN, ("passed",), (), ("passed",), kind="report"),
    Entry("report-masked-sum", PLAIN, ("passed",), (), ("passed",), kind="report", mark=Mark.UNDEFINED_LOAD),
    # The interpreter cannot compute with a module-level constexpr.
    Entry("report-constexpr-three", PLAIN, device=("wrong (values)",), kind="report"),
    Entry("report-constexpr-two", PLAIN, compile=("passed",), device=("passed",), kind="report"),
    # CUDA C++. Whatever it does on the device, the compiler alone sees a kernel like another.
    _device("cuda-endless-kernel", "timed-out", group=CUDA_HANG),
    _compiled("cuda-include-files", "failed (compile)"),
    _compiled("cuda-include-shadow", "failed (compile)"),
    _compiled("cuda-include-zeros", "timed-out", "crashed", "failed (compile)", group=CUDA_HANG),
    _compiled("cuda-template-bomb", "timed-out", "crashed", "failed (compile)", group=CUDA_HANG),
    _compiled("cuda-huge-image", "timed-out", "crashed", "failed (compile)", group=CUDA_HANG),
    _compiled("cuda-endless-constant", "timed-out", "crashed", "failed (compile)", group=CUDA_HANG),
    _compiled("cuda-no-entry", "failed (compile)"),
    _compiled("cuda-entry-in-a-comment", "failed (compile)"),
    _compiled("cuda-more-parameters", "failed (compile)"),
    _compiled("cuda-wide-parameter", "failed (compile)"),
    _device("cuda-huge-global", "failed", group=CUDA),
    _device("cuda-beside-its-output", "failed (run)", group=CUDA),
    _device("cuda-illegal-address", "failed (run)", "crashed", group=CUDA, only=128),
    _device("cuda-trap", "failed (run)", "crashed", group=CUDA, only=128),
    _device("cuda-reads-what-was-there", "wrong (values)", group=CUDA),
    Entry("cuda-writes-its-input", CUDA, device=("passed",), kind="report", mark=Mark.INPUT_CHANGED),
)


def on(ground: GroundName) -> Iterator[Entry]:
    """The entries that act on a ground."""
    return (entry for entry in CORPUS if entry.allowed(ground))
