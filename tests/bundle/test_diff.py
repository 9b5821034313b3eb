"""What differs between two bundles: every kind of change in words, and no change without a word."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bundler.bundle.change import Change, Part
from bundler.bundle.diff import Packed, Side, diff
from bundler.digest import Digest
from bundler.experiment.load import Loaded
from bundler.model.evidence import Settings, evidence_json
from bundler.model.host import Host
from tests.small import CASES, GUIDANCE, HARNESS, TASK, WRONG, WRONG_VALUES, Small, answer, evidence, ground


def small_at(folder: Path) -> Small:
    folder.mkdir()
    return Small(folder)


@pytest.fixture
def before(tmp_path: Path) -> Loaded:
    return small_at(tmp_path / "before").load()


@pytest.fixture
def after(tmp_path: Path) -> Small:
    return small_at(tmp_path / "after")


def told(one: Loaded, two: Loaded) -> list[tuple[Part, str]]:
    return [(change.part, change.what) for change in diff(Side(one), Side(two))]


def test_the_same(before: Loaded, after: Small) -> None:
    assert told(before, after.load()) == []


# --- in words --------------------------------------------------------------------------------------------


def _output(small: Small) -> None:
    small.arm("with-skill")["outputs"] = [small.file("outputs/with-skill/01.md", answer(WRONG))]


def _prose(small: Small) -> None:
    data = b"Surely.\n" + answer()
    small.arm("with-skill")["outputs"] = [small.file("outputs/with-skill/01.md", data)]


def _added_output(small: Small) -> None:
    small.arm("with-skill")["outputs"].append(small.file("outputs/with-skill/02.md", answer()))


def _no_arm(small: Small) -> None:
    small.declared["arms"] = [arm for arm in small.declared["arms"] if arm["name"] != "without-skill"]


def _skill(small: Small) -> None:
    data = b"# Doubling, better\n"
    small.put("skills/toy/doubling/SKILL.md", data)
    small.arm("with-skill")["skill"] |= {"version": "0.2.0", "sha256": str(Digest.of(data))}
    small.arm("with-skill")["prompt_sha256"] = str(Digest.of(data + b"\n" + TASK))


def _harness(small: Small) -> None:
    small.file("harness.py", HARNESS.replace(b"2.0", b"3.0"))


def _cases(small: Small) -> None:
    small.declared["cases"] = [{"id": "n={n}", "axes": [[{"n": 1}, {"n": 7}]]}]


def _needs(small: Small) -> None:
    small.declared["cases"][0]["needs"] = {"min_sm": 90}


def _tolerance(small: Small) -> None:
    small.declared["returns"][0]["compare"] |= {"atol": 1e-5}


def _runtime(small: Small) -> None:
    small.declared["runtime"] |= {"triton": "3.6.0"}


def _model(small: Small) -> None:
    small.declared["model"] |= {"version": "7"}


def _summary(small: Small) -> None:
    small.arm("with-skill")["summary"] = "new"


def _other_file(small: Small) -> None:
    small.file("analysis.md", b"It is right.\n")


def _task(small: Small) -> None:
    data = b"Double x, please.\n"
    small.declared["base_task"] = small.file("base_task.md", data)
    small.arm("without-skill")["prompt_sha256"] = str(Digest.of(data))
    small.arm("with-skill")["prompt_sha256"] = str(Digest.of(GUIDANCE + b"\n" + data))


def _order(small: Small) -> None:
    small.declared["arms"].reverse()


@pytest.mark.parametrize(
    ("change", "part", "what"),
    [
        (_task, Part.TASK, "the base task that all arms share changed"),
        (
            _output,
            Part.OUTPUT,
            "with-skill/01 changed, with another kernel: 1 line added, 1 removed",
        ),
        (
            _prose,
            Part.OUTPUT,
            "with-skill/01 changed, the kernel in it is the same: 1 line added, 0 removed",
        ),
        (_added_output, Part.OUTPUT, "with-skill/02 added (outputs/with-skill/02.md)"),
        (_no_arm, Part.ARM, "without-skill removed (generated)"),
        (_skill, Part.SKILL, "with-skill: the skill 0.1.0 → 0.2.0"),
        (_harness, Part.HARNESS, "the harness changed: 1 line added, 1 removed"),
        (_cases, Part.CASE, "n=7 added"),
        (_cases, Part.CASE, "n=100 removed"),
        (_needs, Part.CASE, "n=1: needs.min_sm: 0 → 90"),
        (_tolerance, Part.COMPARISON, "out.compare.atol: 0.0 → 1e-05"),
        (_runtime, Part.RUNTIME, "runtime.triton: 3.7.1 → 3.6.0"),
        (_model, Part.DECLARATION, "model.version: unknown → 7"),
        (_summary, Part.ARM, "with-skill: summary:  → new"),
        (_other_file, Part.FILE, "analysis.md added"),
        (_order, Part.FILE, "experiment.yaml changed: only order, layout or comments"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_in_words(
    before: Loaded, after: Small, change: Callable[[Small], None], part: Part, what: str
) -> None:
    change(after)
    found = told(before, after.load())
    assert (part, what) in found
    assert told(after.load(), before), "seen from the other side too"


def test_an_output_that_moved(before: Loaded, after: Small) -> None:
    after.arm("with-skill")["outputs"] = [after.file("outputs/new/01.md", answer())]
    (after.folder / "outputs/with-skill/01.md").unlink()
    moved = "with-skill/01 moved: outputs/with-skill/01.md → outputs/new/01.md"
    assert told(before, after.load()) == [(Part.OUTPUT, moved)]


def test_a_text_has_its_diff(before: Loaded, after: Small) -> None:
    _harness(after)
    (change,) = diff(Side(before), Side(after.load()))
    assert '-    return 2.0 * arguments[0].values.astype("f8")' in change.text.splitlines()
    assert change.text.startswith("--- a/harness.py\n+++ b/harness.py\n")


def test_an_output_is_told_once(before: Loaded, after: Small) -> None:
    _output(after)
    parts = {part for part, _ in told(before, after.load())}
    assert parts == {Part.OUTPUT}


def test_comments_of_the_declaration(before: Loaded, after: Small) -> None:
    folder = after.write()
    text = (folder / "experiment.yaml").read_text()
    loaded = after.load()
    (folder / "experiment.yaml").write_text(text + "\n# well\n")
    (change,) = diff(Side(before), Side(loaded))
    assert change.what == "experiment.yaml changed: only order, layout or comments"


@pytest.mark.parametrize(
    "name", ["base_task.md", "harness.py", "outputs/with-skill/01.md", "experiment.yaml"]
)
def test_nothing_frozen_changes_unseen(before: Loaded, after: Small, name: str) -> None:
    """The executable bit is frozen too."""
    loaded = after.load()
    (after.folder / name).chmod(0o755)
    assert told(before, loaded) == [(Part.FILE, f"{name} is now executable")]


# --- evidence --------------------------------------------------------------------------------------------


def record(small: Small, grounds: dict[str, Any] | None = None, name: str = "host", **fields: Any) -> Loaded:
    loaded = small.load()
    made = {on: ground(loaded, outcomes) for on, outcomes in (grounds or {"interpreter": None}).items()}
    small.record(evidence(loaded, made, **fields), name)
    return small.load()


def test_recorded_outcomes(tmp_path: Path, after: Small) -> None:
    one = record(small_at(tmp_path / "one"))
    wrong = {"with-skill/01": WRONG_VALUES, "without-skill/01": {"n=1": WRONG_VALUES}}
    two = record(after, {"interpreter": wrong}, started="2026-12-01T00:00:00+00:00")
    assert told(one, two) == [
        (
            Part.EVIDENCE,
            "evidence/host.json recorded again: 2026-11-30T12:00:00+00:00 → 2026-12-01T00:00:00+00:00",
        ),
        (Part.EVIDENCE, "interpreter: without-skill/01: passed → wrong in 1 cell: n=1"),
        (Part.EVIDENCE, f"interpreter: with-skill/01: passed → wrong in 2 cells: {', '.join(CASES)}"),
    ]


def test_another_host(tmp_path: Path, after: Small) -> None:
    one = record(small_at(tmp_path / "one"))
    settings = Settings(seed=7, grounds=("interpreter",))
    two = record(after, host=Host(system={}, software={"triton": "3.6.0"}, no_gpu="none"), settings=settings)
    found = [what for _, what in told(one, two)]
    assert "evidence/host.json: triton 3.7.1 → 3.6.0" in found
    assert "evidence/host.json: python 3.11.2 → none" in found
    assert "evidence/host.json: seed 0 → 7" in found


@pytest.mark.parametrize(
    ("before", "now", "said"), [(False, True, "run"), (None, True, "run"), (True, False, "left out")]
)
def test_slow_cells(tmp_path: Path, after: Small, before: bool | None, now: bool, said: str) -> None:
    def settings(slow: bool | None) -> Settings:
        return Settings(seed=0, grounds=("interpreter",), slow=slow)

    one = record(small_at(tmp_path / "one"), settings=settings(before))
    two = record(after, settings=settings(now))
    assert f"evidence/host.json: slow cells {said} now" in [what for _, what in told(one, two)]


def test_evidence_added(before: Loaded, after: Small) -> None:
    two = record(after, {"device": None})
    assert told(before, two) == [
        (Part.EVIDENCE, "evidence/host.json added: 2026-11-30T12:00:00+00:00, device"),
        (Part.EVIDENCE, "device: 6 cells not recorded → passed"),
        (Part.EVIDENCE, "device: 2 cells not recorded → wrong"),
    ]
    assert (Part.EVIDENCE, "evidence/host.json removed") in told(two, before)


def test_only_the_first_evidence_of_a_ground_counts(tmp_path: Path, after: Small) -> None:
    """As it does when a replay is held against it."""
    one = record(small_at(tmp_path / "one"))
    record(after)
    two = record(after, {"interpreter": {"with-skill/01": WRONG_VALUES}}, name="later")
    assert told(one, two) == [
        (Part.EVIDENCE, "evidence/later.json added: 2026-11-30T12:00:00+00:00, interpreter")
    ]


def test_architectures_share_a_line(before: Loaded, after: Small) -> None:
    two = record(after, {"compile:sm_80": None, "compile:sm_90": None})
    assert (Part.EVIDENCE, "compile:sm_80, compile:sm_90: 6 cells not recorded → passed") in told(before, two)


def test_evidence_packed_otherwise(tmp_path: Path, after: Small) -> None:
    """The same evidence in gzip of another kind: a file that differs, and no cell."""
    first = small_at(tmp_path / "one")
    loaded = first.load()
    data = evidence_json(evidence(loaded, {"interpreter": ground(loaded)}))
    first.record(gzip.compress(data, mtime=0))
    after.record(gzip.compress(data, mtime=1))
    assert told(first.load(), after.load()) == [(Part.FILE, "evidence/host.json changed")]


# --- images ----------------------------------------------------------------------------------------------


def packed(**changes: Any) -> Packed:
    one = Packed(Digest.of(b"image"), str(Digest.of(b"base")), "0.1.0", Digest.of(b"replayer"))
    return one._replace(**changes)


@pytest.mark.parametrize(
    ("changes", "part", "what"),
    [
        ({"base_digest": ""}, Part.RUNTIME, "none (bare)"),
        ({"replayer_version": "0.2.0"}, Part.REPLAYER, "the version: 0.1.0 → 0.2.0"),
        ({"replayer_layer": Digest.of(b"x")}, Part.REPLAYER, "the replayer's files: layer "),
        ({"image": Digest.of(b"x")}, Part.RUNTIME, "the image's configuration or layout"),
    ],
)
def test_images(before: Loaded, changes: dict[str, Any], part: Part, what: str) -> None:
    (found,) = diff(Side(before, packed()), Side(before, packed(**changes)))
    assert found.part is part
    assert what in found.what
    assert diff(Side(before, packed()), Side(before, packed())) == ()
    assert diff(Side(before), Side(before, packed(**changes))) == ()


def test_a_change_read_again_from_its_json_is_equal() -> None:
    change = Change(part=Part.CASE, what="n=1 added")
    assert Change.model_validate_json(change.model_dump_json()) == change
