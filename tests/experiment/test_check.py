"""The minimum bar: everything that is missing is said at once, each rule by its own fault."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bundler.digest import Digest
from bundler.errors import UsageError
from bundler.experiment import strict_yaml
from bundler.experiment.check import check, errors_of, experiments_below
from bundler.experiment.finding import Checked, Severity
from bundler.experiment.load import Loaded, load
from bundler.experiment.skill_versions import newest, stale_since, stated_version, versions
from bundler.model.evidence import GroundReport
from bundler.model.host import Gpu, Host, Read
from bundler.model.outcome import NotRun, Why
from bundler.model.plan import Bearing
from tests.small import HARNESS, HOST, ID, SKILL, TASK, UNCOMPILABLE, Small, answer, evidence, ground

ROOT = Path(__file__).parents[2]
MODEL = dict.fromkeys(("name", "version", "sampling", "system_prompt", "date", "procedure"), "unknown")
T4, LAPTOP = "Tesla T4", "NVIDIA GeForce RTX 3050 Laptop GPU"


def guidance(version: str) -> bytes:
    return f"---\nname: doubling\ndescription: Doubles.\nversion: {version}\n---\n\n# Skill\n".encode()


def give_skill(small: Small, arm: dict[str, Any], version: str, path: str) -> None:
    """The arm's model was given this version, from this file."""
    data = guidance(version)
    small.put(path, data)
    arm["skill"] = {"path": path, "version": version, "sha256": Digest.of(data)}
    arm["prompt_sha256"] = Digest.of(data + b"\n" + TASK)


def on(gpu: str) -> Host:
    fields = {
        "name": Read(value=gpu, call="nvmlDeviceGetName"),
        "cuda_ordinal": Read(value=0, call="cuDeviceGet"),
    }
    return HOST.model_copy(update={"gpus": (Gpu(index=0, fields=fields),), "no_gpu": ""})


def judged(loaded: Loaded, name: str) -> GroundReport:
    """A report on which every control behaves: the uncompilable one on a compile ground too."""
    uncompilable = "control-uncompilable/control-uncompilable"
    fails = name.startswith("compile") and uncompilable in loaded.sources
    return ground(loaded, {uncompilable: UNCOMPILABLE} if fails else {})


def record(small: Small, gpu: str = T4) -> None:
    """Record all of its grounds on a host with ``gpu``."""
    loaded = small.load()
    reports = {name: judged(loaded, name) for name in ("device", "interpreter", "compile:sm_90")}
    small.record(evidence(loaded, reports, host=on(gpu)))


@pytest.fixture
def sound(small: Small) -> Small:
    """One that lacks nothing, evidence apart."""
    give_skill(small, small.arm("with-skill"), "0.1.0", f"skills/{SKILL}/SKILL.md")
    uncompilable = small.control("control-uncompilable", b"broken\n", "fail") | {"on": ["compile"]}
    small.declared["arms"].append(uncompilable)
    small.declared["harness"]["reference"] = "float64 by NumPy"
    small.declared["plan"] = {
        "link": "https://example.org/issues/1",
        "date": "2026-11-01",
        "hardware": [T4],
        "models": ["unknown"],
        "runs_an_arm": 1,
        "path": f"proof/{ID}",
        "reference": "float64 by NumPy",
        "grounds": ["device"],
    }
    return small


def checked(small: Small) -> Checked:
    return check(small.write())


def found(small: Small) -> list[tuple[str, str]]:
    return [(finding.severity, finding.rule) for finding in checked(small).findings]


def texts(small: Small) -> str:
    return "\n".join(finding.text for finding in checked(small).findings)


def test_a_sound_one(sound: Small) -> None:
    record(sound)
    assert checked(sound) == Checked(folder=str(sound.folder), experiment=ID, findings=())


def test_an_empty_output_has_one_hint(sound: Small) -> None:
    """To leave it and not declare it would be an error of its own."""
    record(sound)
    sound.arm("with-skill")["outputs"] = [sound.file("outputs/with-skill/01.md", b"")]
    (one,) = [finding for finding in checked(sound).findings if finding.rule == "extraction"]
    assert one.text == "outputs/with-skill/01.md: the output is empty"
    assert one.hint == (
        "put the model's answer into it, then bundler declare; where there was none, "
        "move it out of outputs/ and say so in model.procedure"
    )


def test_crlf_among_lf_is_a_warning(sound: Small) -> None:
    """The bytes are kept: it came so, or a shell changed it before anyone declared it."""
    crlf = answer().replace(b"\n", b"\r\n")
    sound.arm("with-skill")["outputs"] = [sound.file("outputs/with-skill/01.md", crlf)]
    record(sound)
    (one,) = checked(sound).findings
    assert (one.severity, one.rule) == (Severity.WARNING, "output")
    assert one.text.startswith("outputs/with-skill/01.md has CRLF line ends")
    assert "a shell or an editor may have changed them" in one.hint


def test_what_is_not_recorded_yet_is_a_warning(sound: Small) -> None:
    assert found(sound) == [("warning", "no-evidence")] * 3
    assert checked(sound).errors == 0


def test_slow_cells_that_nobody_recorded(sound: Small) -> None:
    group = {"id": "n={n}", "params": {"n": 7}, "slow": ["interpreter"]}
    sound.declared["cases"] = [*sound.declared["cases"], group]
    left_out = NotRun(why=Why.SLOW)
    loaded = sound.load()
    grounds = {
        "device": ground(loaded),
        "interpreter": ground(loaded, {c: {"n=7": left_out} for c in loaded.sources}),
        "compile:sm_90": judged(loaded, "compile:sm_90"),
    }
    sound.record(evidence(loaded, grounds, host=on(T4)))
    assert found(sound) == [("warning", "no-evidence")]
    assert "on the ground interpreter of slow cells, such as of 'n=7'" in texts(sound)
    sound.declared["evidence"] = []
    sound.record(evidence(loaded, grounds | {"interpreter": ground(loaded)}, host=on(T4)))
    assert found(sound) == []


def test_row_max_has_one_warning_and_no_error() -> None:
    """That the H200 had another torch than is pinned, its notes say."""
    one = check(ROOT / "proof/portability/row-max")
    assert [(f.severity, f.rule) for f in one.findings] == [("warning", "plan")]


@pytest.mark.parametrize("folder", experiments_below(ROOT / "proof"), ids=lambda path: path.name)
def test_every_experiment_of_this_repository_is_over_the_bar(folder: Path) -> None:
    findings = check(folder).findings
    assert [finding.text for finding in findings if finding.severity is Severity.ERROR] == []
    # No warning that its author could settle.
    assert {finding.rule for finding in findings} <= {"plan", "stale"}


# --- each fault -------------------------------------------------------------------------------------------


def _edit_output(small: Small) -> None:
    (small.folder / "outputs/with-skill/01.md").write_bytes(answer(b"better = 1\n"))


def _leave_one_out(small: Small) -> None:
    small.file("outputs/with-skill/02.md", answer())


def _hide_one(small: Small) -> None:
    small.file("outputs/.old/01.md", answer())


def _two_blocks(small: Small) -> None:
    small.arm("with-skill")["outputs"] = [small.file("outputs/with-skill/01.md", answer() * 2)]


def _output_elsewhere(small: Small) -> None:
    small.arm("with-skill")["outputs"] = [small.file("answers/01.md", answer())]
    (small.folder / "outputs/with-skill/01.md").unlink()


def _base_task(small: Small) -> None:
    small.put(f"proof/{ID}/base_task.md", b"Double x, please.\n")


def _prompt(small: Small) -> None:
    small.arm("without-skill")["prompt_sha256"] = Digest.of(b"another")


def _skill(small: Small) -> None:
    small.put(f"skills/{SKILL}/SKILL.md", guidance("0.1.0") + b"More.\n")


def _skill_version(small: Small) -> None:
    small.arm("with-skill")["skill"]["version"] = "0.2.0"


def _no_frontmatter(small: Small) -> None:
    data = b"# Skill\n"
    small.put(f"skills/{SKILL}/SKILL.md", data)
    small.arm("with-skill")["skill"]["sha256"] = Digest.of(data)
    small.arm("with-skill")["prompt_sha256"] = Digest.of(data + b"\n" + TASK)


def _another_model(small: Small) -> None:
    small.arm("with-skill")["model"] = MODEL | {"version": "2"}


def _other_sampling(small: Small) -> None:
    small.arm("with-skill")["model"] = MODEL | {"sampling": "temperature 0"}


def _no_without(small: Small) -> None:
    small.declared["arms"] = [arm for arm in small.declared["arms"] if arm["name"] != "without-skill"]
    (small.folder / "outputs/without-skill/01.md").unlink()


def _no_reference(small: Small) -> None:
    small.put(f"proof/{ID}/harness.py", HARNESS.replace(b"def reference", b"def answer"))


def _few_parameters(small: Small) -> None:
    small.put(f"proof/{ID}/harness.py", HARNESS.replace(b"which, arguments)", b"arguments)"))


def _no_derive(small: Small) -> None:
    rule = small.declared["returns"][0]["compare"]
    small.declared["derived"] = [{"name": "half", "compare": rule}]


def _no_cross_check(small: Small) -> None:
    small.declared["cross_check"] = {"of": "control-wrong/control-wrong", "says": "nothing"}


def _no_python(small: Small) -> None:
    small.put(f"proof/{ID}/harness.py", b"def inputs(:\n")


def _no_harness(small: Small) -> None:
    (small.folder / "harness.py").unlink()


def _no_right_control(small: Small) -> None:
    small.declared["arms"] = [arm for arm in small.declared["arms"] if arm["name"] != "control-right"]


def _no_compile_control(small: Small) -> None:
    small.arm("control-uncompilable")["on"] = ["interpreter"]


def _no_hardware(small: Small) -> None:
    del small.declared["plan"]["hardware"]


def _no_sizes(small: Small) -> None:
    small.declared["cases"] = [{"id": "{kind}", "axes": [[{"kind": "small"}, {"kind": "large"}]]}]


def _another_path(small: Small) -> None:
    small.declared["plan"]["path"] = "proof/double"


def _plan_afterwards(small: Small) -> None:
    small.declared["model"] = MODEL | {"date": "2026-10-31"}


def _linked_folder(small: Small) -> None:
    small.put(f"proof/{ID}/elsewhere/02.md", answer())
    (small.folder / "outputs/more").symlink_to("../elsewhere")


def _mark(small: Small) -> None:
    small.put(f"proof/{ID}/analysis.md", b"# It\n\nTODO(author): why\n")


@pytest.mark.parametrize(
    ("change", "rules", "said"),
    [
        (
            _edit_output,
            ["output"],
            "outputs/with-skill/01.md' is not what experiment.yaml declares: it has sha256:",
        ),
        (_leave_one_out, ["unlisted-output"], "'outputs/with-skill/02.md' is there and not declared"),
        (_hide_one, ["unlisted-output"], "'outputs/.old/01.md' is there and not declared"),
        (_two_blocks, ["extraction"], "the output has 2 fenced code blocks, not 1"),
        (_output_elsewhere, ["output"], "'answers/01.md' does not lie below 'outputs/'"),
        (_base_task, ["base-task"], "base_task.md' is not what experiment.yaml declares"),
        (_prompt, ["prompt"], "arm 'without-skill': the prompt derived"),
        (_skill, ["skill"], "is not the version that the model was given"),
        (_skill_version, ["skill"], "SKILL.md' is version '0.1.0', declared is '0.2.0'"),
        (_no_frontmatter, ["skill"], "SKILL.md states no version in its frontmatter: None"),
        (
            _another_model,
            ["same-model", "same-model"],
            "(version '2') has no arm without the skill, only: with-skill",
        ),
        (
            _other_sampling,
            ["only-skill"],
            "sampling is 'unknown' in arm 'without-skill' and 'temperature 0' in arm",
        ),
        (_no_without, ["same-model"], "model 'unknown' (version 'unknown') has no arm without the skill"),
        (_no_reference, ["harness"], "harness.py defines no function 'reference' of 3 parameters"),
        (_few_parameters, ["harness"], "harness.py defines no function 'reference' of 3 parameters"),
        (_no_derive, ["harness"], "harness.py defines no function 'derive' of 4 parameters"),
        (_no_cross_check, ["harness"], "harness.py defines no function 'cross_check' of 3 parameters"),
        (_no_python, ["harness"], "harness.py is no Python: invalid syntax"),
        (_no_harness, ["harness"], "harness.py' cannot be read"),
        (_no_right_control, ["controls"] * 3, "no control must pass on the ground device"),
        (_no_compile_control, ["controls"], "no control must fail on the ground compile"),
        (_no_hardware, ["hardware"], "no hardware is stated"),
        (_no_sizes, ["shapes"], "2 cases state no size, such as 'small'"),
        (_another_path, ["deviation"], f"path: planned proof/double, found proof/{ID}, and no note"),
        (_plan_afterwards, ["plan"], "the plan is of 2026-11-01, and outputs were made on 2026-10-31"),
        (_linked_folder, ["unlisted-output"], "'outputs/more' is there and not declared"),
        (_mark, ["todo"], "analysis.md:3: TODO(author): why"),
    ],
)
def test_a_fault_is_an_error(
    sound: Small, change: Callable[[Small], None], rules: list[str], said: str
) -> None:
    change(sound)
    one = checked(sound)
    assert [f.rule for f in one.findings if f.severity is Severity.ERROR] == rules
    assert said in texts(sound)
    assert all(finding.hint for finding in one.findings)


@pytest.mark.parametrize(
    "change",
    [
        _leave_one_out, _output_elsewhere, _skill_version, _another_model, _other_sampling, _no_without,
        _no_reference, _no_derive, _no_python, _no_right_control, _no_compile_control, _no_hardware,
        _no_sizes, _another_path, _plan_afterwards, _linked_folder, _mark,
    ],
)  # fmt: skip
def test_what_loads_has_the_errors_of_check(sound: Small, change: Callable[[Small], None]) -> None:
    change(sound)
    loaded = sound.load()
    told = sorted(finding.text for finding in errors_of(loaded))
    assert told == sorted(f.text for f in check(sound.folder).findings if f.severity is Severity.ERROR)
    assert told


def test_evidence_that_is_loaded_counts_for_the_errors(sound: Small) -> None:
    _no_hardware(sound)
    record(sound)
    assert errors_of(sound.load()) == ()
    assert [finding.rule for finding in errors_of(load(sound.folder, evidence=False))] == ["hardware"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('note: "TODO(author): say \\"why\\", please"', 'TODO(author): say \\"why\\", please'),
        ("note: 'TODO(author): the GPU''s name'", "TODO(author): the GPU''s name"),
        ('field: ["TODO(author): one", 2]', "TODO(author): one"),
        ('    """TODO(author): say "why"."""', 'TODO(author): say "why".'),
        ('# TODO(author): a size, "n" or more]', 'TODO(author): a size, "n" or more]'),
    ],
)
def test_a_mark_s_words_end_where_its_string_does(sound: Small, line: str, told: str) -> None:
    sound.put(f"proof/{ID}/notes.txt", f"{line}\n".encode())
    assert texts(sound).splitlines()[0] == f"notes.txt:1: {told}"


def test_the_line_that_a_deviation_asks_for_can_be_pasted(sound: Small) -> None:
    _another_path(sound)
    (hint,) = [finding.hint for finding in checked(sound).findings if finding.rule == "deviation"]
    line = hint.partition("  ")[2]
    (note,) = strict_yaml.load(line.encode(), "hint")
    sound.declared["deviations"] = [note]
    assert [finding.rule for finding in checked(sound).findings if finding.severity is Severity.ERROR] == [
        "todo"
    ]
    assert [deviation.bears_on for deviation in checked(sound).deviations] == [tuple(Bearing)[1:]]


def test_all_faults_at_once(sound: Small) -> None:
    for change in (_edit_output, _leave_one_out, _base_task, _skill, _no_reference, _no_sizes, _mark):
        change(sound)
    one = checked(sound)
    assert {f.rule for f in one.findings if f.severity is Severity.ERROR} == {
        "output", "unlisted-output", "base-task", "skill", "harness", "shapes", "todo",
    }  # fmt: skip


def test_a_declaration_that_cannot_be_read_hides_no_marks(sound: Small) -> None:
    _mark(sound)
    sound.declared |= {"title": 3, "one": 1}
    one = checked(sound)
    assert [finding.rule for finding in one.findings] == ["declaration", "todo"]
    assert "title: " in one.findings[0].text
    assert "one: " in one.findings[0].text


def test_the_wrong_folder(sound: Small) -> None:
    folder = sound.write().rename(sound.folder.with_name("triple"))
    assert [f.rule for f in check(folder).findings if f.severity is Severity.ERROR] == ["place"]


@pytest.mark.parametrize("field", ["sampling", "system_prompt", "procedure"])
def test_each_fact_of_how_a_model_was_asked(sound: Small, field: str) -> None:
    sound.arm("with-skill")["model"] = MODEL | {field: "another"}
    assert found(sound)[0] == ("error", "only-skill")
    assert texts(sound).startswith(f"{field} is ")


def test_a_flag_is_no_size(sound: Small) -> None:
    sound.declared["cases"] = [{"id": "{sparse}", "axes": [[{"sparse": True}, {"sparse": False}]]}]
    assert found(sound)[0] == ("error", "shapes")


def test_a_ground_that_no_case_is_for_needs_no_controls(sound: Small) -> None:
    _no_compile_control(sound)
    sound.declared["architectures"] = []
    assert found(sound) == [("warning", "no-evidence")] * 2


def test_a_mark_within_an_answer_is_the_models(sound: Small) -> None:
    said = answer().replace(b"Here it is.", b"Here it is.\nTODO(author): nothing")
    sound.arm("with-skill")["outputs"] = [sound.file("outputs/with-skill/01.md", said)]
    assert checked(sound).errors == 0


def test_a_mark_that_a_candidate_printed_is_none_of_the_authors(sound: Small) -> None:
    record(sound)
    sound.put(f"proof/{ID}/evidence/other.json", b"TODO(author): printed")
    assert found(sound) == [("warning", "evidence")]


@pytest.mark.parametrize(
    "path", ["base_task.md", "harness.py", "outputs/with-skill/01.md", "evidence/host.json"]
)
@pytest.mark.parametrize("break_", [Path.unlink, lambda path: path.write_bytes(b"\xff\x00"), os.truncate])
def test_a_broken_file_is_a_finding(sound: Small, path: str, break_: Callable[..., object]) -> None:
    record(sound)
    file = sound.folder / path
    break_(file, 20 << 20) if break_ is os.truncate else break_(file)
    assert checked(sound).errors


def test_a_name_that_is_no_utf8(sound: Small) -> None:
    name = os.fsdecode(b"outputs/with-skill/\xff.md")
    (sound.folder / name).write_bytes(b"TODO(author): replace\n")
    one = checked(sound)
    assert [f.rule for f in one.findings if f.severity is Severity.ERROR] == ["todo", "unlisted-output"]
    assert one.model_dump_json()


def test_an_edited_output_does_not_make_the_evidence_wrong_as_well(sound: Small) -> None:
    record(sound)
    _edit_output(sound)
    assert found(sound) == [("error", "output"), ("warning", "evidence")]
    assert "could not be held against" in texts(sound)


def test_errors_come_first(sound: Small) -> None:
    sound.put(f"proof/{ID}/harness.py", b"import scipy\n" + HARNESS)
    _no_sizes(sound)
    assert found(sound)[:2] == [("error", "shapes"), ("warning", "harness")]


def test_nothing_is_run(sound: Small) -> None:
    sound.put(f"proof/{ID}/harness.py", b"raise SystemExit\n" + HARNESS)
    assert checked(sound).errors == 0


# --- warnings ---------------------------------------------------------------------------------------------


def test_no_plan(sound: Small) -> None:
    del sound.declared["plan"]
    record(sound)
    assert found(sound) == [("warning", "plan")]


def test_other_numbers_of_outputs(sound: Small) -> None:
    del sound.declared["plan"]["runs_an_arm"]
    sound.arm("with-skill")["outputs"].append(sound.file("outputs/with-skill/02.md", answer()))
    record(sound)
    assert found(sound) == [("warning", "comparison")]
    assert "1 in without-skill, 2 in with-skill" in texts(sound)


def test_a_harness_that_imports_numpy(sound: Small) -> None:
    head = b"from __future__ import annotations\nimport numpy as np\nfrom numpy.linalg import norm\n"
    sound.put(f"proof/{ID}/harness.py", head + HARNESS)
    record(sound)
    assert found(sound) == []


def test_a_harness_that_imports_more(sound: Small) -> None:
    sound.put(f"proof/{ID}/harness.py", b"import numpy as np\nfrom scipy.special import erf\n" + HARNESS)
    record(sound)
    assert found(sound) == [("warning", "harness")]
    assert "imports scipy" in texts(sound)


@pytest.mark.parametrize(
    "line",
    [
        "np.random.default_rng(0)",
        "numpy.random.rand()",
        "from numpy import random",
        "from numpy.random import rand",
    ],
)
def test_a_harness_whose_values_no_seed_gives(sound: Small, line: str) -> None:
    head = b"import numpy\nimport numpy as np\n"
    sound.put(f"proof/{ID}/harness.py", head + line.encode() + b"\n" + HARNESS)
    record(sound)
    assert found(sound) == [("warning", "harness")]
    assert "harness.py draws from numpy.random in line 3" in texts(sound)


def test_evidence_of_other_files(sound: Small) -> None:
    record(sound)
    sound.put(f"proof/{ID}/harness.py", HARNESS + b"\n")
    assert found(sound)[0] == ("error", "evidence")
    assert ("warning", "no-evidence") in found(sound), "what is of something else counts for nothing"


def test_evidence_that_is_not_listed(sound: Small) -> None:
    record(sound)
    sound.put(f"proof/{ID}/evidence/other.json", b"{}")
    assert found(sound) == [("warning", "evidence")]


def test_evidence_that_lacks_a_candidate_and_is_not_as_pinned(sound: Small) -> None:
    loaded = sound.load()
    reports = {name: judged(loaded, name) for name in ("device", "interpreter", "compile:sm_90")}
    sound.record(evidence(loaded, reports, host=on(T4), not_as_pinned={"torch": "2.0 here"}))
    sound.declared["arms"].append(sound.control("control-late", b"late\n", "fail"))
    assert found(sound) == [("warning", "evidence")] * 2
    assert "does not have the candidates control-late/control-late" in texts(sound)


def test_evidence_that_was_cut_short(sound: Small) -> None:
    loaded = sound.load()
    sound.record(evidence(loaded, {"device": ground(loaded)}, host=on(T4), complete=False))
    (told,) = [finding for finding in checked(sound).findings if finding.rule == "evidence"]
    assert "was cut short" in told.text


def _record_unpinned(small: Small, **versions: str) -> None:
    loaded = small.load()
    reports = {name: judged(loaded, name) for name in ("device", "interpreter", "compile:sm_90")}
    one = evidence(loaded, reports, host=on(T4), not_as_pinned=versions)
    for name in ("one", "two"):
        small.record(one, name)


def test_alike_differences_of_the_runtime_are_one_warning(sound: Small) -> None:
    _record_unpinned(sound, torch="2.0 here, 2.13.0 pinned", triton="none here, 3.7.1 pinned")
    assert found(sound) == [("warning", "evidence")]
    assert texts(sound) == (
        "evidence/one.json, evidence/two.json were not recorded as pinned: "
        "torch 2.0 here, 2.13.0 pinned; triton none here, 3.7.1 pinned"
    )


@pytest.mark.parametrize(
    ("notes", "left"),
    [
        ("evidence/one.json and evidence/two.json were recorded with torch\n  2.0, the host's own.", []),
        ("evidence/one.json was recorded with torch 2.0.", ["evidence/two.json"]),
        ("evidence/one.json.gz and evidence/two.json: torch 2.0", ["evidence/one.json"]),
        ("evidence/one.json, evidence/two.json: torch 2.0.1", ["evidence/one.json, evidence/two.json"]),
        ("The host had another torch.", ["evidence/one.json, evidence/two.json"]),
    ],
)
def test_a_note_settles_what_it_names(sound: Small, notes: str, left: list[str]) -> None:
    """The file and the version: or a note on one recording would cover a later one."""
    sound.declared["notes"] = notes
    _record_unpinned(sound, torch="2.0 here, 2.13.0 pinned")
    warned = [finding for finding in checked(sound).findings if finding.rule == "evidence"]
    assert [finding.text.partition(" w")[0] for finding in warned] == left
    assert all(
        finding.hint.endswith(f"name {names} and torch 2.0")
        for finding, names in zip(warned, left, strict=True)
    )


# --- versions of the skill --------------------------------------------------------------------------------


def test_stale_until_run_again(sound: Small) -> None:
    record(sound)
    sound.put(f"skills/{SKILL}/SKILL-0.2.0.md", guidance("0.2.0"))
    assert found(sound) == [("warning", "stale")]
    assert "stale until run again: the skill toy/doubling is at 0.2.0" in texts(sound)
    loaded = sound.load()
    assert stale_since(loaded.experiment, loaded.root) == "0.2.0"


def test_a_version_that_the_experiment_led_to(sound: Small) -> None:
    record(sound)
    sound.put(f"skills/{SKILL}/SKILL-0.2.0.md", guidance("0.2.0"))
    sound.declared["led_to"] = [{"skill_version": "0.2.0", "note": "It tripled."}]
    assert found(sound) == []
    sound.put(f"skills/{SKILL}/SKILL-0.10.0.md", guidance("0.10.0"))
    assert found(sound) == [("warning", "stale")], "a later one is another matter"


def test_run_again_with_the_new_version(sound: Small) -> None:
    del sound.declared["plan"]["runs_an_arm"]
    again = {"name": "again", "origin": "generated", "outputs": [sound.file("outputs/again/01.md", answer())]}
    give_skill(sound, again, "0.2.0", f"skills/{SKILL}/SKILL-0.2.0.md")
    sound.declared["arms"].append(again)
    record(sound)
    assert found(sound) == []


def test_led_to_a_version_that_is_not_there(sound: Small) -> None:
    sound.declared["led_to"] = [{"skill_version": "0.3.0", "note": "It tripled."}]
    record(sound)
    assert found(sound) == [("warning", "led-to")]


def test_the_newest_version_as_semver_orders_them() -> None:
    order = ["0.9.0-1", "0.9.0-2", "0.9.0-10", "0.9.0-rc", "0.9.0-rc.1", "0.9.0", "0.10.0"]
    for at in range(len(order)):
        assert newest(dict.fromkeys(reversed(order[: at + 1]), "")) == order[at]
    assert newest({}) == ""


def test_the_versions_of_a_skill() -> None:
    there = versions(ROOT, "portability/port-cuda-kernel-to-triton")
    home = "skills/portability/port-cuda-kernel-to-triton"
    assert there == {"0.1.0": f"{home}/SKILL.md", "0.2.0": f"{home}/SKILL-0.2.0.md"}
    assert stated_version(guidance("1.2.3"), "SKILL.md") == "1.2.3"


# --- the published story ----------------------------------------------------------------------------------


@pytest.fixture
def story(sound: Small) -> Small:
    """A T4 was planned, two runs on one model; a laptop's RTX 3050 judged four runs on two."""
    sound.declared["model"] = MODEL | {"name": "model A"}
    for arm in ("without-skill", "with-skill"):
        file = sound.file(f"outputs/{arm}-b/01.md", answer())
        twin = sound.arm(arm) | {"name": f"{arm}-b", "model": MODEL | {"name": "model B"}, "outputs": [file]}
        sound.declared["arms"].append(twin)
    sound.declared["harness"]["reference"] = "float64 by NumPy"
    sound.declared["plan"] = {
        "hardware": [T4],
        "models": ["model A"],
        "runs": 2,
        "path": "proofs/double",
        "reference": "PyTorch in float32",
    }
    record(sound, LAPTOP)
    return sound


NOTES = {
    "hardware": ("No T4 was to be had; an RTX 3050 Laptop was.", "timing"),
    "models": ("A second model was tried as well.", "comparison"),
    "runs": ("Two for each model.", "comparison"),
    "path": ("The folders were named anew.", "none"),
    "reference": ("float32 is no reference for float32.", "correctness"),
}


def test_the_story_fails_without_notes(story: Small) -> None:
    assert found(story) == [("error", "deviation")] * 5
    assert [finding.text for finding in checked(story).findings] == [
        f"hardware: planned {T4}, found {LAPTOP}, and no note",
        "models: planned 1: model A, found 2: model A; model B, and no note",
        "runs: planned 2, found 4, and no note",
        f"path: planned proofs/double, found proof/{ID}, and no note",
        "reference: planned PyTorch in float32, found float64 by NumPy, and no note",
    ]


def test_the_story_passes_with_notes(story: Small) -> None:
    story.declared["deviations"] = [
        {"field": field, "note": note, "load_bearing": bearing} for field, (note, bearing) in NOTES.items()
    ]
    one = checked(story)
    assert one.findings == ()
    assert {d.field: (d.note, *d.bears_on) for d in one.deviations} == NOTES


@pytest.mark.parametrize("missing", NOTES)
def test_each_deviation_of_the_story_needs_its_note(story: Small, missing: str) -> None:
    story.declared["deviations"] = [
        {"field": field, "note": NOTES[field][0], "load_bearing": "none"}
        for field in NOTES
        if field != missing
    ]
    assert found(story) == [("error", "deviation")]
    assert texts(story).startswith(f"{missing}: planned ")


def test_a_note_on_one_gpu_does_not_cover_another(story: Small) -> None:
    test_the_story_passes_with_notes(story)
    loaded = story.load()
    story.record(evidence(loaded, {"device": ground(loaded)}, host=on("NVIDIA GeForce RTX 3050")), "later")
    assert found(story) == [("error", "deviation")]
    assert texts(story).startswith("hardware: found NVIDIA GeForce RTX 3050, which was not planned and which")
    story.declared["deviations"][0]["note"] += " Later an RTX 3050."
    assert found(story) == []


def test_a_note_need_not_name_what_was_planned(sound: Small) -> None:
    record(sound)
    loaded = sound.load()
    sound.record(evidence(loaded, {"device": ground(loaded)}, host=on("NVIDIA H200")), "later")
    note = {"field": "hardware", "note": "Run on an H200 as well.", "load_bearing": "none"}
    sound.declared["deviations"] = [note]
    assert found(sound) == []


def test_a_note_that_says_nothing_is_none(story: Small) -> None:
    story.declared["deviations"] = [{"field": "hardware", "note": " \n", "load_bearing": "timing"}]
    assert found(story)[0] == ("error", "declaration")
    assert "deviations.0.note: " in texts(story)


def test_a_note_without_a_deviation(sound: Small) -> None:
    record(sound)
    sound.declared["deviations"] = [{"field": "hardware", "note": "No T4.", "load_bearing": "timing"}]
    assert found(sound) == [("warning", "deviation")]
    assert texts(sound) == "hardware: a note, and no deviation: 'No T4.'"


# --- which folders ----------------------------------------------------------------------------------------


def test_folders_below(small: Small) -> None:
    folder = small.write()
    assert experiments_below(folder) == experiments_below(small.root / "proof") == [folder]
    with pytest.raises(UsageError, match=r"holds no experiment\.yaml"):
        experiments_below(small.root / "skills")
