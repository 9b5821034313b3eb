"""What ``--help`` shows: a line for each command in the list of all, and at a command's end lines to copy."""

from __future__ import annotations

from bundler.cli.short import INSIDE

SHORT = INSIDE | {
    "freeze": "Freeze an experiment into one tar, or an OCI layout.",
    "rebase": "Put a frozen experiment on another runtime.",
    "record": "Run an experiment here and store the evidence.",
    "new": "Lay out an experiment.",
    "declare": "Write the sha256 of an experiment's files.",
    "check": "Say everything that an experiment lacks.",
    "compare": "Show where hosts agree on an experiment's cells.",
    "diff": "Say what differs between two bundles.",
    "index": "Write proof/README.md: which skill helps.",
    "report": "Report an experiment in Markdown, HTML or charts.",
    "schema": "Print a JSON Schema of bundler's files.",
    "completion": "Print a shell's completion script.",
}
"""By command. Short enough that 80 columns cut none of them off."""
EXAMPLES = {
    "verify": (
        "bundler verify proof/portability/row-max",
        "bundler verify row-max.oci.tar --no-gpu --json evidence.json",
        "bundler verify portability-row-max:latest --ground compile:sm_86",
    ),
    "freeze": (
        "bundler freeze proof/portability/row-max -o row-max.oci.tar",
        "bundler freeze proof/portability/row-max -o row-max.oci.tar --base cpu --tag row-max:1",
        "bundler freeze proof/portability/row-max -o row-max/ --base cuda13",
        "bundler freeze proof/portability/row-max -o row-max.oci.tar --bare",
    ),
    "show": (
        "bundler show row-max.oci.tar",
        "bundler show portability-row-max:latest --json",
    ),
    "extract": (
        "bundler extract out --from row-max.oci.tar",
        "bundler extract out --from portability-row-max:latest",
    ),
    "record": (
        "bundler record proof/portability/row-max rtx-3050",
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
