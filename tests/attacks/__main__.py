"""``python -m tests.attacks``: run the corpus, say what became of every attack, fail when one got through."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from bundler.host import probe_host
from tests.attacks.corpus import GROUNDS, GroundName
from tests.attacks.record import evidence_json, markdown, terminal
from tests.attacks.run import again, run


def _here() -> list[GroundName]:
    """Every ground that this machine has."""
    return [ground for ground in GROUNDS if ground != "device" or probe_host().gpus]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    parser.add_argument(
        "--ground", action="append", choices=GROUNDS, help="again for several; default: all that are here"
    )
    parser.add_argument("--only", action="append", metavar="NAME", help="one attack; again for several")
    parser.add_argument("--seed", type=int, help="of the inputs; default: a random one, which is recorded")
    parser.add_argument("--jobs", type=int, default=2, help="candidates at a time on the CPU grounds")
    parser.add_argument("--out", type=Path, help="a folder for attacks.json and attacks.md")
    parser.add_argument(
        "--again", type=Path, metavar="attacks.json", help="hold a recorded run against the corpus"
    )
    options = parser.parse_args()
    if options.again:
        result = again(json.loads(options.again.read_bytes()))
    else:
        grounds: list[GroundName] = options.ground or _here()
        result = run(grounds, only=options.only, seed=options.seed, jobs=options.jobs)
    sys.stdout.write(terminal(result))
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "attacks.json").write_text(evidence_json(result), encoding="utf-8")
        (options.out / "attacks.md").write_text(markdown(result), encoding="utf-8")
    return 0 if result.held else 1


if __name__ == "__main__":
    sys.exit(main())
