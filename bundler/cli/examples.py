"""What ``--help`` shows at its end: lines to copy."""

from __future__ import annotations

EXAMPLES = {
    "verify": (
        "bundler verify proof/portability/row-max",
        "bundler verify row-max.tar --no-gpu --json evidence.json",
        "bundler verify portability-row-max:latest --ground compile --arch 75",
    ),
    "freeze": (
        "bundler freeze proof/portability/row-max -o row-max.tar",
        "bundler freeze proof/portability/row-max -o row-max.tar --base cpu --tag row-max:1",
        "bundler freeze proof/portability/row-max -o row-max/ --base cuda13",
        "bundler freeze proof/portability/row-max -o row-max.tar --bare",
    ),
    "show": (
        "bundler show row-max.tar",
        "bundler show portability-row-max:latest --json",
    ),
    "extract": (
        "bundler extract out --from row-max.tar",
        "bundler extract out --from portability-row-max:latest",
    ),
    "record": (
        "bundler record proof/portability/row-max h200",
        "bundler record proof/portability/row-max cpu --ground compile --ground interpreter",
    ),
    "new": (
        "bundler new portability/row-max --skill portability/port-cuda-kernel-to-triton",
        "bundler new portability/row-max --skill portability/port-cuda-kernel-to-triton --runs 5",
        "bundler new cuda/saxpy --skill cuda/avoid-warp-divergence --language cuda",
    ),
    "check": (
        "bundler check proof",
        "bundler check proof/portability/row-max --json",
    ),
    "compare": (
        "bundler compare proof/portability/row-max evidence.json",
        "bundler compare h200.json t4.json --experiment proof/portability/row-max",
        "bundler compare portability-row-max:latest evidence.json --json",
    ),
    "diff": (
        "bundler diff row-max-old.tar proof/portability/row-max",
        "bundler diff row-max-old.tar portability-row-max:latest --full",
    ),
    "report": (
        "bundler report proof/portability/row-max --html row-max.html",
        "bundler report h200.json t4.json --experiment proof/portability/row-max",
        "bundler report --pages proof/portability/row-max --check",
    ),
}
"""By command."""


def epilog(command: str) -> str | None:
    r"""The command's examples, each on a line of its own: ``\b`` keeps click from filling the paragraph."""
    lines = EXAMPLES.get(command)
    return "\b\n" + "\n".join(("Examples:", *(f"  {line}" for line in lines))) if lines else None
