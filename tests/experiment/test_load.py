"""Every file is what the declaration says, or the file and the next step are named."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from bundler.digest import Digest
from bundler.errors import BadDataError, BadEvidence, BadExperiment
from bundler.experiment.load import load
from bundler.experiment.parse import MAX_EVIDENCE_VALUES, MAX_FILE_BYTES, parse_evidence
from bundler.model.evidence import Evidence, evidence_json
from tests.small import CASES, GUIDANCE, HARNESS, ID, RIGHT, SKILL, TASK, Small, answer, evidence, ground


def refused(small: Small, kind: type[BadDataError] = BadExperiment) -> str:
    with pytest.raises(kind) as error:
        small.load()
    return error.value.problem


# --- what is read ----------------------------------------------------------------------------------------


def test_a_sound_experiment(small: Small) -> None:
    loaded = small.load()
    assert loaded.base_task == TASK
    assert loaded.harness == HARNESS
    assert loaded.outputs["with-skill/01"] == answer()
    assert loaded.sources["with-skill/01"] == RIGHT
    assert loaded.sources["control-right/control-right"] == RIGHT
    assert loaded.prompt(loaded.experiment.arms[0]) == TASK
    assert loaded.prompt(loaded.experiment.arms[1]) == GUIDANCE + b"\n" + TASK
    assert tuple(case.id for case in loaded.experiment.expand()) == CASES
    assert loaded.recorded == ()


def test_recorded_evidence(small: Small) -> None:
    loaded = small.load()
    recorded = evidence(loaded, {"interpreter": ground(loaded)})
    small.record(recorded)
    assert small.load().recorded == (("evidence/host.json", recorded),)
    assert load(small.folder, evidence=False).recorded == ()


def test_a_link_inside_the_experiment_is_followed(small: Small) -> None:
    harness = small.folder / "harness.py"
    harness.rename(small.folder / "real.py")
    harness.symlink_to("real.py")
    assert small.load().harness == HARNESS


# --- files -----------------------------------------------------------------------------------------------

DECLARED = ["base_task.md", "outputs/with-skill/01.md", "controls/control-wrong.py"]


@pytest.mark.parametrize("path", DECLARED)
def test_one_changed_byte(small: Small, path: str) -> None:
    file = small.folder / path
    data = bytearray(file.read_bytes())
    data[3] ^= 1
    file.write_bytes(data)
    said = refused(small)
    assert (
        f"{path}' is not what experiment.yaml declares: it has {Digest.of(data)}, declared is sha256:" in said
    )


@pytest.mark.parametrize("path", DECLARED)
def test_line_endings_are_named_as_the_only_difference(small: Small, path: str) -> None:
    file = small.folder / path
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert "(it differs only in line endings; check core.autocrlf)" in refused(small)


def test_lost_carriage_returns_are_named_too(small: Small) -> None:
    small.declared["base_task"] = small.file("base_task.md", TASK.replace(b"\n", b"\r\n"))
    small.file("base_task.md", TASK)
    assert "(it differs only in line endings; check core.autocrlf)" in refused(small)


@pytest.mark.parametrize("path", [*DECLARED, "harness.py"])
def test_a_missing_file(small: Small, path: str) -> None:
    (small.folder / path).unlink()
    assert f"{path}' cannot be read: No such file or directory" in refused(small)


def test_a_missing_declaration(small: Small) -> None:
    with pytest.raises(BadExperiment, match=r"experiment.yaml' cannot be read: No such file"):
        load(small.folder)


@pytest.mark.parametrize("path", [*DECLARED, "harness.py"])
def test_a_link_that_leads_out(small: Small, path: str, tmp_path: Path) -> None:
    file = small.folder / path
    (tmp_path / "elsewhere").write_bytes(file.read_bytes())
    file.unlink()
    file.symlink_to(tmp_path / "elsewhere")
    assert f"{path}' leads out of" in refused(small)


def test_a_folder_link_that_leads_out(small: Small, tmp_path: Path) -> None:
    (small.folder / "outputs").rename(tmp_path / "outputs")
    (small.folder / "outputs").symlink_to(tmp_path / "outputs")
    assert "outputs/without-skill/01.md' leads out of" in refused(small)


def test_links_in_a_circle(small: Small) -> None:
    (small.folder / "harness.py").unlink()
    (small.folder / "harness.py").symlink_to("harness.py")
    assert "harness.py' cannot be read: " in refused(small)


@pytest.mark.parametrize("path", ["../base_task.md", "/etc/passwd", "a//b", "./base_task.md", "a\\b", ""])
def test_a_path_that_is_not_inside(small: Small, path: str) -> None:
    small.declared["harness"]["path"] = path
    assert "harness.path: " in refused(small)


def test_a_path_with_a_nul(small: Small) -> None:
    small.declared["harness"]["path"] = "a\0b"
    assert "'a\\x00b': the name holds a control character" in refused(small)


def test_a_file_over_the_limit(small: Small) -> None:
    os.truncate(small.folder / "base_task.md", MAX_FILE_BYTES + 1)
    assert f"base_task.md' is over {MAX_FILE_BYTES >> 20} MiB" in refused(small)


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_file(small: Small, make: Callable[[Path], None]) -> None:
    (small.folder / "harness.py").unlink()
    make(small.folder / "harness.py")
    assert "harness.py' cannot be read: it is a " in refused(small)


# --- prompts and skills ------------------------------------------------------------------------------------


def test_another_prompt(small: Small) -> None:
    small.arm("with-skill")["prompt_sha256"] = Digest.of(GUIDANCE + TASK)
    assert (
        "arm 'with-skill': the prompt derived from its skill and 'base_task.md' has another sha256"
        in refused(small)
    )


def test_a_prompt_that_is_not_the_base_task(small: Small) -> None:
    small.arm("without-skill")["prompt_sha256"] = Digest.of(b"another")
    assert "arm 'without-skill': the prompt derived from" in refused(small)


def test_a_skill_that_was_changed_since(small: Small) -> None:
    small.put(f"skills/{SKILL}/SKILL.md", b"# Better\n")
    assert (
        f"'skills/{SKILL}/SKILL.md' is not the version that the model was given (declared sha256:"
        in refused(small)
    )


def test_a_skill_that_is_not_there(small: Small) -> None:
    (small.root / f"skills/{SKILL}/SKILL.md").unlink()
    assert refused(small).startswith("arm 'with-skill': ")


def test_a_skill_that_no_bundle_would_hold(small: Small) -> None:
    small.arm("with-skill")["skill"]["path"] = "skills/toy/other/SKILL.md"
    small.put("skills/toy/other/SKILL.md", GUIDANCE)
    assert f"'skills/toy/other/SKILL.md' is not below 'skills/{SKILL}/'" in refused(small)


# --- the declaration -------------------------------------------------------------------------------------


def test_the_wrong_folder(small: Small) -> None:
    folder = small.write().rename(small.folder.with_name("triple"))
    with pytest.raises(BadExperiment, match=f"triple' holds the experiment '{ID}'"):
        load(folder)


def _duplicate_arm(declared: dict[str, Any]) -> None:
    declared["arms"].append(declared["arms"][0])


def _duplicate_candidate(declared: dict[str, Any]) -> None:
    declared["arms"][0]["outputs"] *= 2


def _duplicate_case(declared: dict[str, Any]) -> None:
    declared["cases"] *= 2


def _too_many_cases(declared: dict[str, Any]) -> None:
    axis = [{"a": n} for n in range(101)]
    declared["cases"] = [{"id": "{a}-{b}", "axes": [axis, [{"b": n["a"]} for n in axis]]}]


def _expect_elsewhere(declared: dict[str, Any]) -> None:
    declared["arms"][0]["expect"] = "pass"


def _control_without_expect(declared: dict[str, Any]) -> None:
    del declared["arms"][2]["expect"]


def _generated_without_prompt(declared: dict[str, Any]) -> None:
    del declared["arms"][0]["prompt_sha256"]


def _not_a_number(declared: dict[str, Any]) -> None:
    declared["returns"][0]["compare"]["atol"] = float("nan")


def _unknown_parameter(declared: dict[str, Any]) -> None:
    declared["cases"][0]["id"] = "m={m}"


def _parameter_twice(declared: dict[str, Any]) -> None:
    declared["cases"][0]["axes"] *= 2


def _case_with_a_line_break(declared: dict[str, Any]) -> None:
    declared["cases"][0]["id"] = "n={n}\nforged"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_duplicate_arm, "arm 'without-skill' is there twice"),
        (_duplicate_candidate, "candidate 'without-skill/01' is there twice"),
        (_duplicate_case, "case 'n=1' is there twice"),
        (_too_many_cases, "over 10000 cases"),
        (_expect_elsewhere, "arm 'without-skill': expect belongs to controls"),
        (
            _control_without_expect,
            "arm 'control-right': expect belongs to controls, and every control has one",
        ),
        (_generated_without_prompt, "arm 'without-skill': prompt_sha256 belongs to generated arms"),
        (_not_a_number, "returns.0.compare.atol: "),
        (_unknown_parameter, "the case id 'm={m}' names 'm', which is no parameter of it"),
        (_parameter_twice, "parameter 'n' is set by two axes"),
        (_case_with_a_line_break, "should match pattern"),
        (lambda d: d.update(surprise=1), "surprise: unknown key"),
        (lambda d: d["harness"].update(surprise="x"), "harness.surprise: unknown key"),
        (lambda d: d.pop("entry"), "entry: is missing"),
        (lambda d: d.update(id="../x/y"), "id: should match pattern"),
        (lambda d: d.update(schema="bundler/experiment/2"), "schema: should be 'bundler/experiment/1'"),
        (
            lambda d: d["base_task"].update(sha256="sha256:0"),
            "base_task.sha256: 'sha256:0' is not",
        ),
    ],
)
def test_a_declaration_that_breaks_the_schema(
    small: Small, change: Callable[[dict[str, Any]], None], said: str
) -> None:
    change(small.declared)
    problem = refused(small)
    assert "experiment.yaml breaks the schema:\n" in problem
    assert said in problem


def test_every_wrong_field_is_listed(small: Small) -> None:
    small.declared |= {"title": 3, "entry": "not a name", "one": 1, "two": 2}
    problem = refused(small)
    assert [line.split(":")[0].strip() for line in problem.splitlines()[1:]] == [
        "title",
        "entry",
        "one",
        "two",
    ]


def test_a_rule_across_fields_does_not_print_the_whole_file(small: Small) -> None:
    small.declared["cases"][0]["id"] = "{nope}"
    small.write()
    with pytest.raises(BadExperiment, match="names 'nope', which is no parameter") as refused:
        load(small.folder)
    assert "sha256" not in refused.value.problem


def test_a_declaration_that_is_a_list(small: Small) -> None:
    small.put(f"proof/{ID}/experiment.yaml", b"- 1\n")
    with pytest.raises(BadExperiment, match=r"experiment.yaml is no mapping"):
        load(small.folder)


def test_an_output_without_a_candidate(small: Small) -> None:
    small.arm("with-skill")["outputs"] = [small.file("outputs/with-skill/01.md", b"I will not.\n")]
    assert refused(small).startswith("outputs/with-skill/01.md: 'only-block:python' does not fit")


def _timed(**other: str) -> dict[str, Any]:
    cell = {"candidate": "with-skill/01", "case": "n=1", "cache": "cold", "call_bytes": 0, "sets": 0}
    return {"gpu": 0, "interleaved": True, "cells": [cell | {"not_timed": "no"} | other]}


# --- recorded evidence -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda v: v["subject"].update(experiment="toy/triple"), "another experiment: 'toy/triple'"),
        (lambda v: v["subject"].update(harness=Digest.of(b"")), "another harness (sha256:e3b0"),
        (lambda v: v["subject"].update(cases=Digest.of(b"")), "other cases or comparison rules (sha256:e3b0"),
        (
            lambda v: v["subject"]["candidates"].update({"with-skill/01": Digest.of(b"")}),
            "another candidate 'with-skill/01' (sha256:e3b0",
        ),
        (
            lambda v: v["subject"]["candidates"].update({"with-skill/02": Digest.of(b"")}),
            "another candidate 'with-skill/02' (sha256:e3b0",
        ),
        (
            lambda v: v["subject"]["candidates"].pop("with-skill/01"),
            "another candidate 'with-skill/01', on interpreter, whose digest it does not have",
        ),
        (
            lambda v: v["grounds"]["interpreter"]["cells"]["with-skill/01"].update(
                {"n=2": {"outcome": "passed"}}
            ),
            "another case 'n=2', on interpreter",
        ),
        (
            lambda v: v.update(cross_check={"\x1b[2J": {"outcome": "passed"}}),
            r"another case '\x1b[2J', cross-checked",
        ),
        (lambda v: v.update(timings=_timed(case="\x1b[2J")), r"another case '\x1b[2J', timed"),
        (
            lambda v: v.update(timings=_timed(candidate="with-skill/03")),
            "another candidate 'with-skill/03', timed, whose digest it does not have",
        ),
    ],
)
def test_evidence_of_something_else(
    small: Small, change: Callable[[dict[str, Any]], None], said: str
) -> None:
    loaded = small.load()
    value = json.loads(evidence_json(evidence(loaded, {"interpreter": ground(loaded)})))
    change(value)
    small.record(json.dumps(value).encode())
    assert refused(small, BadEvidence).startswith(f"evidence/host.json was recorded with {said}")


@pytest.mark.parametrize("change", ["cases", "returns", "entry"])
def test_evidence_does_not_outlive_what_its_cells_mean(small: Small, change: str) -> None:
    loaded = small.load()
    small.record(evidence(loaded, {"interpreter": ground(loaded)}))
    if change == "cases":
        small.declared["cases"][0]["axes"][0].append({"n": 3})
    elif change == "returns":
        small.declared["returns"][0]["compare"]["atol"] = 0.5
    else:
        small.declared["entry"] = "triple"
    assert "was recorded with other cases or comparison rules" in refused(small, BadEvidence)


def test_evidence_outlives_a_new_title(small: Small) -> None:
    loaded = small.load()
    small.record(evidence(loaded, {"interpreter": ground(loaded)}))
    small.declared["title"] = "Double a vector, and say so"
    assert len(small.load().recorded) == 1


def _sound(small: Small) -> bytes:
    loaded = small.load()
    return evidence_json(evidence(loaded, {"interpreter": ground(loaded)}))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda b: b[: len(b) // 2], "Invalid JSON: EOF while parsing"),
        (lambda b: b"", "it is empty"),
        (lambda b: b.replace(b"1.5", b"NaN", 1), "seconds: should be a finite number"),
        (lambda b: b.replace(b"1.5", b"Infinity", 1), "seconds: should be a finite number"),
        (lambda b: b"\xff\xfe" + b, "Invalid JSON"),
        (lambda b: b"<html>", "Invalid JSON"),
        (lambda b: b"[]", "should be a mapping"),
        (lambda b: b"[" * 1_000_000, "has about 1000000 values"),
        (lambda b: b"[" * 100_000, "Invalid JSON: recursion limit exceeded"),
        (lambda b: b'{"a":' * 100_000, "Invalid JSON: recursion limit exceeded"),
        (lambda b: b.replace(b'"passed"', b'"perfect"', 1), "does not match any of the expected tags"),
        (
            lambda b: b.replace(b'"seconds"', b'"hidden":1,"seconds"', 1),
            "hidden: unknown key",
        ),
        (lambda b: b.replace(b'"judged"', b'"invalid"', 1), "a ground that was not judged has a reason"),
        (
            lambda b: b.replace(b'"outcome":"passed"', b'"outcome":"passed","kernels":[0]', 1),
            "names a kernel that is not in the table",
        ),
        (
            lambda b: b.replace(b'"outcome":"passed"', b'"outcome":"passed","kernels":[-1]', 1),
            "names a kernel that is not in the table",
        ),
        (lambda b: b" " * (MAX_FILE_BYTES + 1), f"is over {MAX_FILE_BYTES >> 20} MiB"),
    ],
)
def test_malformed_evidence(small: Small, change: Callable[[bytes], bytes], said: str) -> None:
    with pytest.raises(BadEvidence) as error:
        parse_evidence(change(_sound(small)), "it")
    assert error.value.problem.startswith("it ")
    assert said in error.value.problem
    assert len(error.value.problem) < 5_000


@pytest.mark.parametrize("entry", [b'"k%d":1', b'"k%d":{}', b'"k%d":[{}]'])
def test_evidence_of_very_many_entries_is_refused_soon(entry: bytes) -> None:
    most = (MAX_EVIDENCE_VALUES - 10) // (1 + entry.count(b"[") + entry.count(b"{"))
    for number in (most // 10, 1_000_000):
        data = b"{" + b",".join(entry % n for n in range(number)) + b"}"
        started = time.monotonic()
        with pytest.raises(BadEvidence) as error:
            parse_evidence(data, "it")
        assert time.monotonic() - started < 5
        assert len(error.value.problem) < 5_000


_MANY = {f"k{n}": 0 for n in range(20_000)}


@pytest.mark.parametrize(
    "value",
    [
        _MANY,
        {"kernels": [{}] * 20_000},
        {"cross_check": _MANY},
        {"host": {"software": _MANY}},
        {"timings": {"cells": [{"processes": [{"samples_us": [[]] * 20_000}]}]}},
        {"grounds": {"device": {"cells": {"a/b": {key: {"outcome": "wrong", "x": 1} for key in _MANY}}}}},
        {"grounds": {"device": {"cells": {"a/b": {"case": {"outcome": "passed"} | _MANY}}}}},
    ],
)
def test_the_first_wrong_item_of_many_ends_the_reading(value: dict[str, Any]) -> None:
    """pydantic keeps a KiB of each problem."""
    with pytest.raises(ValidationError) as error:
        Evidence.model_validate_json(json.dumps(value))
    assert error.value.error_count() < 100


def _gzip(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


@pytest.mark.parametrize("pack", [_gzip, lzma.compress])
def test_evidence_that_is_packed(pack: Callable[[bytes], bytes], small: Small) -> None:
    loaded = small.load()
    small.record(pack(_sound(small)))
    assert small.load().recorded[0][1] == evidence(loaded, {"interpreter": ground(loaded)})


@pytest.mark.parametrize("pack", [_gzip, lzma.compress])
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda pack: pack(b"{}")[:-4], "it is cut short"),
        (lambda pack: pack(b"{}")[:-4] + b"abcd", "it is damaged: "),
        (lambda pack: pack(b"{}") + b"more", "it goes on after its end"),
        (lambda pack: pack(b"{}") * 2, "it goes on after its end"),
        (lambda pack: pack(bytes(MAX_FILE_BYTES * 4)), f"it is over {MAX_FILE_BYTES >> 20} MiB"),
        (lambda pack: pack(pack(b"{}")), "it is no evidence"),
    ],
)
def test_evidence_that_is_badly_packed(
    spoil: Callable[[Callable[[bytes], bytes]], bytes], said: str, pack: Callable[[bytes], bytes]
) -> None:
    data = spoil(pack)
    with pytest.raises(BadEvidence) as error:
        parse_evidence(data, "it")
    assert error.value.problem.startswith(said)


def test_evidence_that_takes_much_memory_to_unpack() -> None:
    packed = lzma.compress(b"{}", preset=9)  # a dictionary of 64 MiB
    with pytest.raises(BadEvidence, match="it is damaged: Memory usage limit exceeded"):
        parse_evidence(packed, "it")


def test_a_few_problems_of_many_are_listed(small: Small) -> None:
    value = json.loads(_sound(small)) | {f"extra{n}": n for n in range(50)}
    with pytest.raises(BadEvidence) as error:
        parse_evidence(json.dumps(value).encode(), "it")
    assert error.value.problem.splitlines()[-1] == "  and 30 more"
