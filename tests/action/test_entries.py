"""The script that the action runs: which entries it finds, what it calls, what it posts, how it ends."""

from __future__ import annotations

import contextlib
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "action/entries.sh"
FAKE = """#!/bin/sh
# Stands in for bundler: notes how it was called, ends with the code that the test set for the command.
for argument in "$@"; do printf '%s\\n' "$argument" >> "$CALLS"; done
echo -- >> "$CALLS"
case $1 in
verify)
    for last in "$@"; do :; done
    [ -n "$NO_EVIDENCE" ] || echo '{}' > "$last"
    exit "${VERIFY:-0}" ;;
report) echo "# Report of $2"; echo "::error::from the report" >&2; exit "${REPORT:-0}" ;;
check) echo "::error::forged"; echo "::error::on the other stream" >&2; exit "${CHECK:-0}" ;;
esac
"""


@dataclass
class Ended:
    code: int
    calls: list[list[str]]
    summary: str
    err: str
    out: str


class Checkout:
    """A repository with two entries of one skill, and a pull request on top of it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "checkout"
        self.folder = folder
        fake = folder / "bin/bundler"
        fake.parent.mkdir()
        fake.write_text(FAKE)
        fake.chmod(0o755)
        self.root.mkdir()
        self.git("init", "-q")
        for name in ("a/one", "a/two", "b/three"):
            self.put(f"proof/{name}/experiment.yaml", f"id: {name}\nskill: s/{name[0]}\n")
        self.commit()
        self.base = self.git("rev-parse", "HEAD").strip()

    def git(self, *arguments: str) -> str:
        who = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]
        command = ["git", *who, *arguments]
        return subprocess.run(command, cwd=self.root, check=True, capture_output=True, text=True).stdout

    def put(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "x")

    def run(self, *, log: Path | None = None, **variables: str) -> Ended:
        """Run the script, its standard output to ``log`` where one is given, as ``> log`` does."""
        calls, summary = self.folder / "calls", self.folder / "summary.md"
        for file in (calls, summary):
            file.write_text("")
        env = {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "CALLS": str(calls),
            "BASE": self.base,
            "GITHUB_STEP_SUMMARY": str(summary),
            "REPORTS": str(self.folder / "reports"),
        }
        with contextlib.ExitStack() as stack:
            ended = subprocess.run(
                ["bash", str(SCRIPT)],
                cwd=self.root,
                env=env | variables,
                stdout=stack.enter_context(log.open("w")) if log else subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                timeout=60,
                check=False,
            )
        made = [call.splitlines() for call in calls.read_text().split("--\n") if call]
        return Ended(ended.returncode, made, summary.read_text(), ended.stderr, ended.stdout or "")


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def targets(ended: Ended) -> list[str]:
    return [call[1] for call in ended.calls if call[0] == "check"]


# --- which entries ---------------------------------------------------------------------------------------


def test_nothing_changed(checkout: Checkout) -> None:
    checkout.put("README.md", "x")
    checkout.commit()
    ended = checkout.run()
    assert (ended.code, ended.calls, ended.summary) == (0, [], "No entry of proof/ has changed.\n")


def test_what_a_changed_entry_goes_through(checkout: Checkout) -> None:
    checkout.put("proof/a/one/outputs/x.md", "x")
    checkout.put("proof/README.md", "x")
    checkout.commit()
    ended = checkout.run()
    evidence = str(checkout.folder / "reports/proof_a_one.json")
    grounds = ["--ground", "compile", "--ground", "interpreter"]
    assert ended.calls == [
        ["check", "proof/a/one"],
        ["verify", "proof/a/one", "--engine", "host", "--no-gpu", *grounds, "--json", evidence],
        ["report", evidence, "--experiment", "proof/a/one", "--markdown", "-"],
    ]
    assert (ended.code, ended.summary) == (0, f"# Report of {evidence}\n")


def test_a_changed_skill_brings_its_entries(checkout: Checkout) -> None:
    checkout.put("skills/s/a/SKILL.md", "x")
    checkout.commit()
    assert targets(checkout.run()) == ["proof/a/one", "proof/a/two"]


def test_what_the_base_has_moved_on_to_is_no_change(checkout: Checkout) -> None:
    checkout.git("checkout", "-qb", "request")
    checkout.put("proof/a/two/x", "x")
    checkout.commit()
    checkout.git("checkout", "-q", "-")
    checkout.put("proof/b/three/x", "x")
    checkout.commit()
    checkout.base = checkout.git("rev-parse", "HEAD").strip()
    checkout.git("checkout", "-q", "request")
    assert targets(checkout.run()) == ["proof/a/two"]


def test_a_removed_entry(checkout: Checkout) -> None:
    checkout.git("rm", "-rq", "proof/b/three")
    checkout.commit()
    ended = checkout.run()
    assert (ended.code, ended.calls, ended.summary) == (0, [], "proof/b/three was removed.\n")


def test_named_entries(checkout: Checkout) -> None:
    assert targets(checkout.run(ENTRIES="proof/b/three  proof/a/one/\n")) == ["proof/b/three", "proof/a/one"]


@pytest.mark.parametrize("name", ["proof/$(touch pwned)/x", "--help", "proof/../x", "/etc", "proof/a"])
def test_a_name_that_is_none(checkout: Checkout, name: str) -> None:
    ended = checkout.run(ENTRIES=name)
    assert (ended.code, ended.calls) == (2, [])
    assert "is no entry: name proof/<category>/<kernel>" in ended.err
    assert not (checkout.root / "pwned").exists()


def test_a_hostile_folder_is_not_evaluated(checkout: Checkout) -> None:
    checkout.put("proof/$(touch pwned)/`touch pwned`/x", "x")
    checkout.put("proof/a\nb/--help/x", "x")
    checkout.commit()
    ended = checkout.run()
    assert (ended.code, ended.calls) == (0, [])
    assert not (checkout.root / "pwned").exists()


# --- how it ends -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variables", "code"),
    [
        ({"CHECK": "3"}, 3),
        ({"VERIFY": "1"}, 1),
        ({"VERIFY": "5", "CHECK": "3"}, 5),
        ({"VERIFY": "4"}, 4),
        ({"REPORT": "3"}, 3),
    ],
)
def test_the_gravest_code_of_all_and_every_entry_is_seen(
    checkout: Checkout, variables: dict[str, str], code: int
) -> None:
    ended = checkout.run(ENTRIES="proof/a/one proof/a/two", **variables)
    assert ended.code == code
    assert [call[0] for call in ended.calls] == ["check", "verify", "report"] * 2


def test_without_evidence(checkout: Checkout) -> None:
    ended = checkout.run(ENTRIES="proof/a/one", VERIFY="3", NO_EVIDENCE="1")
    assert ended.code == 3
    assert [call[0] for call in ended.calls] == ["check", "verify"]
    assert ended.summary == "### proof/a/one\n\nNothing was verified: bundler verify ended with 3.\n\n"


def test_what_is_printed_is_no_command_of_the_runner(checkout: Checkout) -> None:
    ended, again = (checkout.run(ENTRIES="proof/a/one", CHECK="3") for _ in range(2))
    lines = ended.out.splitlines()
    start, stop, forged, other, resume, end = lines[:6]
    assert start == "::group::bundler check proof/a/one"
    assert (forged, other) == ("::error::forged", "::error::on the other stream")
    assert end == "::endgroup::"
    token = stop.removeprefix("::stop-commands::")
    assert len(token) == 32
    assert resume == f"::{token}::"
    assert again.out.splitlines()[1] != stop


def test_what_the_report_says_is_wrong_is_no_command_of_the_runner(checkout: Checkout) -> None:
    ended = checkout.run(ENTRIES="proof/a/one", REPORT="3")
    stop, forged, resume = ended.out.splitlines()[-3:]
    assert forged == "::error::from the report"
    assert resume == f"::{stop.removeprefix('::stop-commands::')}::"
    assert "::error" not in ended.err + ended.summary
    assert ended.code == 3


def test_on_a_gpu(checkout: Checkout) -> None:
    ended = checkout.run(ENTRIES="proof/a/one", GPU="true", GROUNDS="device compile", ENGINE="docker")
    verify = ended.calls[1]
    assert verify[2:9] == ["--engine", "docker", "--gpu", "--ground", "device", "--ground", "compile"]


@pytest.mark.parametrize(
    ("base", "shown"),
    [("0" * 40, "0" * 40), ("deadbeef", "deadbeef"), ("--output=pwned", "--output=pwned"), ("a b", "a\\ b")],
)
def test_a_base_that_is_not_there(checkout: Checkout, base: str, shown: str) -> None:
    """A shallow checkout must not look like a pull request that changes nothing."""
    ended = checkout.run(BASE=base)
    assert (ended.code, ended.summary, ended.calls) == (6, "", [])
    assert ended.err == (
        f"error: the commit {shown} is not in this checkout\n  → check out with fetch-depth: 0\n"
    )
    assert not any("pwned" in path.name for path in checkout.root.iterdir())


def test_a_base_that_head_has_nothing_in_common_with(checkout: Checkout) -> None:
    checkout.git("checkout", "-q", "--orphan", "other")
    checkout.put("proof/b/three/x", "x")  # else it may be the very same commit
    checkout.commit()
    ended = checkout.run()
    assert (ended.code, ended.calls) == (6, [])
    assert f"nothing shows where HEAD left {checkout.base}\n  → check out with fetch-depth: 0" in ended.err


def test_no_base_and_no_entries(checkout: Checkout) -> None:
    ended = checkout.run(BASE="")
    assert (ended.code, ended.summary) == (2, "")
    assert "there is no commit to compare with" in ended.err


def test_a_log_has_every_entry(checkout: Checkout, tmp_path: Path) -> None:
    """Written to a file, the Markdown of one entry stands before the next one's log."""
    log = tmp_path / "log"
    ended = checkout.run(log=log, ENTRIES="proof/a/one proof/a/two", GITHUB_STEP_SUMMARY="")
    lines = [line for line in log.read_text().splitlines() if line.startswith(("::group", "# Report"))]
    evidence = [str(checkout.folder / f"reports/proof_a_{name}.json") for name in ("one", "two")]
    assert ended.code == 0
    assert lines == [
        "::group::bundler check proof/a/one",
        "::group::bundler verify proof/a/one",
        f"# Report of {evidence[0]}",
        "::group::bundler check proof/a/two",
        "::group::bundler verify proof/a/two",
        f"# Report of {evidence[1]}",
    ]


def test_a_file_that_moved_changed_both_entries(checkout: Checkout) -> None:
    checkout.put("proof/a/one/outputs/x.md", "a line that git knows again\n" * 20)
    checkout.commit()
    checkout.base = checkout.git("rev-parse", "HEAD").strip()
    (checkout.root / "proof/b/three/outputs").mkdir()
    checkout.git("mv", "proof/a/one/outputs/x.md", "proof/b/three/outputs/x.md")
    checkout.commit()
    assert targets(checkout.run()) == ["proof/a/one", "proof/b/three"]


@pytest.mark.parametrize(
    "declared",
    ['skill: "s/a"\n', "skill: 's/a'  # why\n", '{"id": "c/four", "skill": "s/a"}', "skill: s/a\r\n"],
)
def test_however_an_entry_declares_its_skill(checkout: Checkout, declared: str) -> None:
    checkout.put("proof/c/four/experiment.yaml", declared)
    checkout.put("proof/c/five/experiment.yaml", declared.replace("s/a", "s/a.b"))
    checkout.commit()
    checkout.base = checkout.git("rev-parse", "HEAD").strip()
    checkout.put("skills/s/a/SKILL.md", "x")
    checkout.commit()
    assert targets(checkout.run()) == ["proof/a/one", "proof/a/two", "proof/c/four"]


def test_evidence_of_an_earlier_step_is_not_reported(checkout: Checkout) -> None:
    checkout.run(ENTRIES="proof/a/one")
    ended = checkout.run(ENTRIES="proof/a/one", VERIFY="3", NO_EVIDENCE="1")
    assert ended.summary.startswith("### proof/a/one\n\nNothing was verified")


def test_no_two_entries_share_a_file_of_evidence(checkout: Checkout) -> None:
    checkout.put("proof/a-b/c/x", "x")
    checkout.put("proof/a/b-c/x", "x")
    ended = checkout.run(ENTRIES="proof/a-b/c proof/a/b-c")
    assert len({call[1] for call in ended.calls if call[0] == "report"}) == 2


def test_grounds_are_words_and_no_patterns(checkout: Checkout) -> None:
    ended = checkout.run(ENTRIES="proof/a/one", GROUNDS="* \n compile")
    assert ended.calls[1][5:9] == ["--ground", "*", "--ground", "compile"]


def test_a_gpu_that_is_neither_true_nor_false(checkout: Checkout) -> None:
    """Else a misspelt yes would leave out the device without a word."""
    ended = checkout.run(ENTRIES="proof/a/one", GPU="yes")
    assert (ended.code, ended.calls) == (2, [])
    assert "gpu is yes\n  → give true or false" in ended.err
