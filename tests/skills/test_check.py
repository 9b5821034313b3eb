"""Each rule is broken once, by itself; the skills of this repository break none."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bundler.errors import BadSkill, UsageError
from bundler.skills import Rule, check_paths, check_skill, check_skills, load_skill, skill_schema
from bundler.skills.sections import SECTIONS
from bundler.skills.types import SEMVER, Metadata

REPOSITORY = Path(__file__).parents[2]
NAME = "port-cuda-kernel-to-triton"
PLACE = f"skills/portability/{NAME}"

Break = Callable[[Path], None]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    shutil.copytree(REPOSITORY / PLACE, tmp_path / PLACE)
    return tmp_path


def edit(old: str, new: str, file: str = "SKILL.md") -> Break:
    def apply(folder: Path) -> None:
        data = (folder / file).read_bytes()
        assert old.encode() in data, "the test's own text is out of date"
        (folder / file).write_bytes(data.replace(old.encode(), new.encode(), 1))

    return apply


def whole(change: Callable[[bytes], bytes], file: str = "SKILL.md") -> Break:
    def apply(folder: Path) -> None:
        (folder / file).write_bytes(change((folder / file).read_bytes()))

    return apply


def field(name: str, value: object) -> Break:
    def apply(folder: Path) -> None:
        data = json.loads((folder / "skill.json").read_text())
        (folder / "skill.json").write_text(json.dumps(data | {name: value}, indent=2) + "\n")

    return apply


def rename(old: str, new: str) -> Break:
    def apply(folder: Path) -> None:
        (folder / old).rename(folder / new)

    return apply


def copy(old: str, new: str) -> Break:
    def apply(folder: Path) -> None:
        shutil.copy(folder / old, folder / new)

    return apply


def emptied(folder: Path) -> None:
    """A section's only content is an empty subheading and an empty list item."""
    text = (folder / "SKILL.md").read_text()
    before, rest = text.split("## Purpose\n")
    after = rest.partition("\n## Use this when")[2]
    (folder / "SKILL.md").write_text(f"{before}## Purpose\n\n###\n\n-\n\n## Use this when{after}")


def link_to_elsewhere(folder: Path) -> None:
    (folder / "skill.json").rename(folder.parents[2] / "elsewhere.json")
    (folder / "skill.json").symlink_to(folder.parents[2] / "elsewhere.json")


def move_deeper(folder: Path) -> None:
    folder.parent.rename(folder.parents[1] / "moved")
    folder.parents[1].joinpath("more").mkdir()
    folder.parents[1].joinpath("moved").rename(folder.parents[1] / "more" / "portability")


def be_a_link(folder: Path) -> None:
    folder.rename(folder.parents[2] / "real")
    folder.symlink_to(folder.parents[2] / "real")


BROKEN: list[tuple[str, Rule, Break]] = [
    ("no guidance", Rule.FILE, lambda folder: (folder / "SKILL.md").unlink()),
    ("no metadata", Rule.FILE, lambda folder: (folder / "skill.json").unlink()),
    ("a link out of the repository", Rule.FILE, link_to_elsewhere),
    ("too large", Rule.FILE, whole(lambda data: data + b"x" * 262_144)),
    ("one folder too deep", Rule.PLACE, move_deeper),
    ("the folder is a link", Rule.PLACE, be_a_link),
    ("a version without digits", Rule.FILE_NAME, rename("SKILL-0.2.0.md", "SKILL-next.md")),
    ("a version of two numbers", Rule.FILE_NAME, rename("SKILL-0.2.0.md", "SKILL-0.2.md")),
    ("latin-1", Rule.ENCODING, whole(lambda data: data.replace(b"grid-wide", b"grid\xe9wide"))),
    ("byte order mark", Rule.ENCODING, whole(lambda data: b"\xef\xbb\xbf" + data)),
    ("byte order mark in JSON", Rule.ENCODING, whole(lambda data: b"\xef\xbb\xbf" + data, "skill.json")),
    ("CRLF", Rule.LINE_ENDING, whole(lambda data: data.replace(b"\n", b"\r\n"))),
    ("one CR", Rule.LINE_ENDING, edit("grid-wide", "grid\rwide")),
    ("no final newline", Rule.LINE_ENDING, whole(lambda data: data[:-1])),
    ("CRLF in another version", Rule.LINE_ENDING, edit("\n", "\r\n", "SKILL-0.2.0.md")),
    ("bidirectional override", Rule.HIDDEN_CHARACTER, edit("grid-wide", "grid\u202ewide")),
    ("zero width space", Rule.HIDDEN_CHARACTER, edit("grid-wide", "grid\u200bwide")),
    ("tag characters", Rule.HIDDEN_CHARACTER, edit("grid-wide", "grid\U000e0041wide")),
    ("variation selector", Rule.HIDDEN_CHARACTER, edit("grid-wide", "grid\U000e0101wide")),
    ("escape sequence of a terminal", Rule.HIDDEN_CHARACTER, edit("grid-wide", "\x1b[2Jwide")),
    ("byte order mark inside", Rule.HIDDEN_CHARACTER, edit("grid-wide", "grid\ufeffwide")),
    ("escaped in JSON", Rule.HIDDEN_CHARACTER, field("summary", "Read \u202e this.")),
    ("escaped in YAML", Rule.HIDDEN_CHARACTER, edit("description: Translates", 'description: "\\u202e"\n#')),
    ("HTML comment", Rule.HIDDEN_TEXT, edit("## Purpose\n", "## Purpose\n<!-- obey -->\n")),
    ("HTML in a line", Rule.HIDDEN_TEXT, edit("grid-wide", "grid <b hidden>wide</b>")),
    ("link reference", Rule.HIDDEN_TEXT, edit("## Purpose\n", "## Purpose\n[a]: x (obey)\n\n")),
    ("frontmatter not first", Rule.FRONTMATTER, whole(lambda data: b"\n" + data.split(b"---\n", 2)[2])),
    ("frontmatter not closed", Rule.FRONTMATTER, edit("0.1.0\n---\n", "0.1.0\n")),
    (
        "frontmatter a list",
        Rule.FRONTMATTER,
        whole(lambda data: b"---\n- a\n---\n" + data.split(b"---\n", 2)[2]),
    ),
    ("not YAML", Rule.FRONTMATTER, edit("description: ", "description: [")),
    ("nested without end", Rule.FRONTMATTER, edit("description: ", "description: " + "[" * 20_000)),
    ("repeated key", Rule.FRONTMATTER, edit("version: 0.1.0", "version: 0.1.0\nversion: 0.1.0")),
    ("unknown field", Rule.FRONTMATTER_FIELD, edit("version:", "allowed-tools: Bash\nversion:")),
    ("missing field", Rule.FRONTMATTER_FIELD, edit("version: 0.1.0\n", "")),
    ("a number for a version", Rule.FRONTMATTER_FIELD, edit("version: 0.1.0", "version: 0.1")),
    ("leading zero", Rule.FRONTMATTER_FIELD, edit("version: 0.1.0", "version: 0.01.0")),
    ("a date for a description", Rule.FRONTMATTER_FIELD, edit("description:", "description: 2026-13-45 #")),
    ("empty description", Rule.FRONTMATTER_FIELD, edit("description:", "description: '' #")),
    ("another name", Rule.FOLDER_NAME, edit(f"name: {NAME}", "name: port")),
    ("no title", Rule.TITLE, edit("# Skill: Port a CUDA Kernel to Triton\n", "")),
    ("title of another form", Rule.TITLE, edit("# Skill: Port", "# Port")),
    ("title of nothing", Rule.TITLE, edit("# Skill: Port a CUDA Kernel to Triton\n", "# Skill:\n")),
    ("text above the title", Rule.TITLE, edit("# Skill:", "Hello.\n\n# Skill:")),
    ("two titles", Rule.TITLE, edit("## Purpose\n", "# Skill: Two\n\n## Purpose\n")),
    ("section missing", Rule.SECTION_MISSING, edit("## Output format\n", "")),
    ("heading in a code block", Rule.SECTION_MISSING, edit("## Purpose\n", "```\n## Purpose\n```\n")),
    ("heading in a quotation", Rule.SECTION_MISSING, edit("## Purpose\n", "> ## Purpose\n")),
    ("section unknown", Rule.SECTION_UNKNOWN, edit("## Output format", "## Notes\nNo.\n\n## Output format")),
    ("section twice", Rule.SECTION_REPEATED, edit("## Output format", "## Purpose\nX.\n\n## Output format")),
    ("section empty", Rule.SECTION_EMPTY, emptied),
    ("not JSON", Rule.JSON, edit("{", "{,", "skill.json")),
    ("not an object", Rule.JSON, whole(lambda data: b"[]\n", "skill.json")),
    ("NaN", Rule.JSON, edit('"advanced"', "NaN", "skill.json")),
    ("key twice", Rule.JSON, edit("{", '{"version": "0.1.0",', "skill.json")),
    ("deep JSON", Rule.JSON, whole(lambda data: b"[" * 100_000 + b"\n", "skill.json")),
    ("a number of 5000 digits", Rule.JSON, whole(lambda data: b"9" * 5000 + b"\n", "skill.json")),
    ("unknown field in JSON", Rule.JSON_FIELD, field("author", "x")),
    ("missing field in JSON", Rule.JSON_FIELD, edit('"summary"', '"summary2"', "skill.json")),
    ("difficulty", Rule.JSON_FIELD, field("difficulty", "easy")),
    ("tag twice", Rule.JSON_FIELD, field("tags", ["cuda", "cuda"])),
    ("tag not kebab-case", Rule.JSON_FIELD, field("tags", ["Tensor Cores"])),
    ("tag a number", Rule.JSON_FIELD, field("tags", [1])),
    ("no tags", Rule.JSON_FIELD, field("tags", [])),
    ("tags a string", Rule.JSON_FIELD, field("tags", "cuda")),
    ("half a surrogate pair", Rule.JSON_FIELD, field("summary", "\ud800")),
    ("version not semver", Rule.JSON_FIELD, field("version", "0.1.0\n")),
    ("id", Rule.JSON_ID, field("id", "cuda.port")),
    ("name", Rule.JSON_NAME, field("name", "Port a kernel")),
    ("category", Rule.JSON_CATEGORY, field("category", "cuda")),
    ("entry", Rule.JSON_ENTRY, field("entry", f"{PLACE}/SKILL-0.2.0.md")),
    ("versions disagree", Rule.VERSION, field("version", "0.1.1")),
    ("file name disagrees", Rule.VERSION, rename("SKILL-0.2.0.md", "SKILL-0.3.0.md")),
    ("other version is the same", Rule.VERSION, copy("SKILL.md", "SKILL-0.1.0.md")),
]


@pytest.mark.parametrize(("rule", "break_it"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_each_broken_skill_breaks_its_rule_alone(root: Path, rule: Rule, break_it: Break) -> None:
    assert check_skills(root) == []
    break_it(root / PLACE)
    problems = check_skills(root)
    assert {problem.rule for problem in problems} == {rule}, "\n".join(map(str, problems))
    assert all(problem.text and problem.hint for problem in problems)
    assert all(str(problem).isprintable() for problem in problems)


def test_every_rule_is_broken_by_some_row() -> None:
    tested_below = {Rule.NO_SKILL, Rule.SECTION_ORDER}
    assert {rule for _, rule, _ in BROKEN} | tested_below == set(Rule)


def test_the_skills_of_this_repository_break_no_rule() -> None:
    checked = check_paths([], REPOSITORY)
    assert checked.problems == []
    assert checked.skills >= 12


def test_all_problems_come_at_once_with_their_lines(root: Path) -> None:
    folder = root / PLACE
    edit("version: 0.1.0", "version: one")(folder)
    edit("## Output format", "## Output")(folder)
    field("tags", ["A"])(folder)
    edit("## Purpose", "## Aim", "SKILL-0.2.0.md")(folder)
    found = [
        (Path(problem.path).name, problem.line, problem.rule.value) for problem in check_skill(folder, root)
    ]
    assert found == [
        ("SKILL.md", 4, "frontmatter-field"),
        ("SKILL.md", 69, "section-unknown"),
        ("SKILL.md", None, "section-missing"),
        ("skill.json", 6, "json-field"),
        ("SKILL-0.2.0.md", 9, "section-unknown"),
        ("SKILL-0.2.0.md", None, "section-missing"),
    ]


def test_sections_out_of_order_are_one_problem_at_the_first(root: Path) -> None:
    text = (root / PLACE / "SKILL.md").read_text()
    first, second = "## Output format", "## Common failure modes"
    swapped = text.replace(first, "## X").replace(second, first).replace("## X", second)
    (root / PLACE / "SKILL.md").write_text(swapped)
    (problem,) = check_skills(root)
    assert problem.rule is Rule.SECTION_ORDER
    assert problem.line == swapped.split("\n").index(second) + 1
    assert second in problem.text


def test_headings_in_code_do_not_count(root: Path) -> None:
    edit("## Purpose\n", "## Purpose\n~~~~\n# A\n~~~\n## B\n~~~~\n")(root / PLACE)
    assert check_skills(root) == []


def test_section_titles_are_those_of_the_files() -> None:
    lines = (REPOSITORY / PLACE / "SKILL.md").read_text().split("\n")
    assert tuple(line[3:] for line in lines if line.startswith("## ")) == SECTIONS


def test_a_folder_where_a_skill_belongs_is_checked_even_when_empty(root: Path) -> None:
    (root / "skills" / "cuda" / "empty").mkdir(parents=True)
    assert [problem.rule for problem in check_skills(root)] == [Rule.FILE, Rule.FILE]


def test_a_skill_outside_of_its_place_is_not_overlooked(root: Path) -> None:
    shutil.copy(root / PLACE / "SKILL.md", root / "skills" / "SKILL.md")
    assert Rule.PLACE in {problem.rule for problem in check_skills(root)}


def test_nothing_checked_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "skills").mkdir()
    assert [problem.rule for problem in check_skills(tmp_path)] == [Rule.NO_SKILL]


def test_paths_are_selected_once_and_can_be_a_file_or_a_folder_above(root: Path) -> None:
    folder = root / PLACE
    for paths in ([folder, folder / "SKILL.md"], [root / "skills"], [root], [folder / ".." / folder.name]):
        assert check_paths(paths, root).skills == 1


def test_unusable_arguments_are_usage_errors(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        check_paths([root / "nowhere"], root)
    with pytest.raises(UsageError, match="is not in"):
        check_paths([root / PLACE], tmp_path_factory.mktemp("other"))


def test_load_skill_gives_types_and_the_very_bytes(root: Path) -> None:
    skill = load_skill(root / PLACE)
    assert skill.guidance == (root / PLACE / "SKILL.md").read_bytes()
    assert (skill.frontmatter.name, skill.metadata.version) == (NAME, "0.1.0")
    assert skill.metadata.difficulty == "advanced"


def test_load_skill_raises_with_every_problem(root: Path) -> None:
    field("id", "x.y")(root / PLACE)
    edit("# Skill:", "# ")(root / PLACE)
    with pytest.raises(BadSkill, match=r"(?s)title.*json-id"):
        load_skill(root / PLACE)


def test_the_schema_accepts_the_skills_and_refuses_what_the_type_refuses() -> None:
    validator = jsonschema.Draft202012Validator(skill_schema())
    validator.check_schema(skill_schema())
    good = json.loads((REPOSITORY / PLACE / "skill.json").read_text())
    validator.validate(good)
    for bad in ({"tags": ["a", "a"]}, {"difficulty": "easy"}, {"version": "1"}, {"more": 1}):
        assert not validator.is_valid(good | bad)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("0.1.0", True),
        ("1.0.0-alpha.1+build.5", True),
        ("1.0.0-0A.is.legal", True),
        ("1.0.0-01", False),
        ("1.0", False),
        ("v1.0.0", False),
        ("1.0.0-", False),
        ("\u0661.0.0", False),
    ],
)
def test_semver(text: str, right: bool) -> None:
    schema = jsonschema.Draft202012Validator({"pattern": f"^{SEMVER}$"})
    assert schema.is_valid(text) is right


_KEYS = st.sampled_from([*Metadata.model_fields, "more", "\ud800"])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("\udfff"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=80, deadline=None)
@given(data=st.binary(max_size=200) | st.dictionaries(_KEYS, _VALUES).map(lambda v: json.dumps(v).encode()))
def test_no_bytes_in_skill_json_end_in_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    _check_with(tmp_path_factory, "skill.json", data)


@settings(max_examples=80, deadline=None)
@given(
    head=st.text(st.sampled_from("name:vrsion 01.-\n\t[]{}&*!|>'\"#%@\u202e\x00\r"), max_size=60),
    body=st.text(st.sampled_from("#`~>-* \n\tSkill:[]()<!"), max_size=60),
)
def test_no_bytes_in_guidance_end_in_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, head: str, body: str
) -> None:
    _check_with(tmp_path_factory, "SKILL.md", f"---\n{head}\n---\n{body}".encode())


def _check_with(factory: pytest.TempPathFactory, name: str, data: bytes) -> None:
    root = factory.mktemp("fuzz")
    folder = root / "skills" / "a" / "b"
    folder.mkdir(parents=True)
    (folder / name).write_bytes(data)
    problems = check_skills(root)
    assert problems
    assert all(str(problem).isprintable() for problem in problems)
