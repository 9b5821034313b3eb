"""What ``--help`` lists of the commands that a bundle's container has too: no bundle carries the others'."""

from __future__ import annotations

INSIDE = {
    "verify": "Run the stored kernels again: is the record reproduced?",
    "show": "List what is frozen, each with its sha256.",
    "env": "Print what this runtime is made of, as JSON.",
    "extract": "Write a bundle's files and candidates to a folder.",
    "host": "Print this machine: GPU, driver, clocks, software.",
}
