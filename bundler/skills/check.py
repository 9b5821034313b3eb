"""Check skills on disk. Every problem is found in one go, and none is raised."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bundler.errors import BadSkill, UsageError
from bundler.files import read_at_most
from bundler.skills.frontmatter import split
from bundler.skills.metadata import check_place, parse_metadata
from bundler.skills.problem import Problem, Report, Rule
from bundler.skills.sections import check_body
from bundler.skills.text import decode
from bundler.skills.types import KEBAB, SEMVER, Frontmatter, Metadata, Skill

_GUIDANCE = "SKILL.md"
_METADATA = "skill.json"
_ROOT_FOLDER = "skills"
_MOST_BYTES = 256 * 1024
"""The largest of the first twelve skills has 9 KiB; a model's prompt has to hold it."""


def load_skill(folder: Path) -> Skill:
    """The skill in ``folder``, which lies at <root>/skills/<category>/<name>.

    Raises BadSkill, with every problem in its text, when it breaks a rule.
    """
    folder = _absolute(folder)
    skill, problems = _read_skill(folder, folder.parent.parent.parent)
    if problems or skill is None:
        listed = "\n".join(map(str, problems))
        raise BadSkill(f"{str(folder)!r} breaks {len(problems)} rules:\n{listed}", hint=problems[0].hint)
    return skill


def check_skill(folder: Path, root: Path) -> list[Problem]:
    """Everything that is wrong with the skill in ``folder``; paths are reported from ``root``.

    Raises UsageError when ``folder`` does not lie in ``root``.
    """
    return _read_skill(_absolute(folder), _absolute(root))[1]


def check_skills(root: Path) -> list[Problem]:
    """Everything that is wrong with the skills in ``root``/skills.

    Raises UsageError when there is no such folder.
    """
    return check_paths([], root).problems


@dataclass(frozen=True)
class Checked:
    """What check_paths looked at and found."""

    skills: int
    problems: list[Problem]


def check_paths(paths: Sequence[Path], root: Path) -> Checked:
    """Check the skills in ``paths``, or all those in ``root``/skills when no path is given.

    A path is a skill's folder, a file in one, or a folder above several. Raises UsageError for a path
    that does not exist or lies outside of ``root``.
    """
    folders = _select(paths or [root / _ROOT_FOLDER], root)
    problems = [problem for folder in folders for problem in check_skill(folder, root)]
    return Checked(len(folders), problems if folders else _none_found())


def _select(paths: Sequence[Path], root: Path) -> list[Path]:
    found: set[Path] = set()
    for path in paths:
        if not path.exists():
            raise UsageError(f"{str(path)!r} does not exist", hint="name a skill's folder, or give --root")
        found.update(_folders(_absolute(path), _absolute(root)))
    return sorted(found)


def _absolute(path: Path) -> Path:
    """Without ``..``, and with symbolic links as they are: they are looked for later."""
    return Path(os.path.abspath(path))  # noqa: PTH100 (Path.absolute keeps .., Path.resolve follows links)


def _folders(path: Path, root: Path) -> Iterator[Path]:
    """The folders that hold a skill's files, wherever; and those where a skill belongs and is not."""
    if path.is_file():
        yield path.parent
        return
    holding = {file.parent for file in path.rglob("*") if _is_skill_file(file.name)}
    yield from holding
    top = root / _ROOT_FOLDER
    for folder in [path, *path.glob("*"), *path.glob("*/*")]:
        holds_none = not any(other.is_relative_to(folder) for other in holding)
        if folder.parent.parent == top and folder.is_dir() and holds_none:
            yield folder


def _is_skill_file(name: str) -> bool:
    return name == _METADATA or (name.startswith("SKILL") and name.endswith(".md"))


def _none_found() -> list[Problem]:
    """Nothing checked is not the same as nothing wrong."""
    report = Report(_ROOT_FOLDER)
    report.add(Rule.NO_SKILL, "holds no skill", hint="add skills/<category>/<name>/SKILL.md, or give --root")
    return report.problems


def _read_skill(folder: Path, root: Path) -> tuple[Skill | None, list[Problem]]:
    if not folder.is_relative_to(root):
        raise UsageError(f"{str(folder)!r} is not in {str(root)!r}", hint="give the repository with --root")
    relative = folder.relative_to(root)
    guidance = Report((relative / _GUIDANCE).as_posix())
    data = _read(folder / _GUIDANCE, guidance)
    frontmatter = _check_guidance(data, folder.name, guidance)
    described = Report((relative / _METADATA).as_posix())
    metadata = _check_metadata(folder, described)
    if frontmatter and metadata and frontmatter.version != metadata.version:
        text = f"version is {metadata.version!r}, and {frontmatter.version!r} in {_GUIDANCE}"
        described.add(Rule.VERSION, text, hint="write one version in both")
    problems = [*_check_folder(folder, root), *guidance.problems, *described.problems]
    problems += _check_other_versions(folder, relative, frontmatter)
    if frontmatter is None or metadata is None:
        return None, problems
    return Skill(frontmatter=frontmatter, metadata=metadata, guidance=data or b""), problems


def _check_folder(folder: Path, root: Path) -> list[Problem]:
    relative = folder.relative_to(root)
    report = Report(relative.as_posix())
    parts = relative.parts
    kebab = all(re.fullmatch(KEBAB, part) for part in parts[1:])
    if len(parts) != 3 or parts[0] != _ROOT_FOLDER or not kebab:
        hint = "move it to skills/<category>/<name>/, names of a-z, 0-9 and single hyphens"
        report.add(Rule.PLACE, "is no place for a skill", hint=hint)
    if folder.resolve() != root.resolve() / relative:
        report.add(Rule.PLACE, "is reached through a symbolic link", hint="replace the link by a folder")
    return report.problems


def _check_guidance(data: bytes | None, folder: str, report: Report) -> Frontmatter | None:
    text = None if data is None else decode(data, report)
    if text is None:
        return None
    frontmatter, body = split(text, report)
    if frontmatter and frontmatter.name != folder:
        text = f"name is {frontmatter.name!r}, in a folder called {folder!r}"
        report.add(Rule.FOLDER_NAME, text, hint="rename one of the two")
    if body is not None:
        check_body(body, report)
    return frontmatter


def _check_metadata(folder: Path, report: Report) -> Metadata | None:
    data = _read(folder / _METADATA, report)
    text = None if data is None else decode(data, report)
    if text is None:
        return None
    metadata = parse_metadata(text, report)
    if metadata:
        check_place(metadata, folder.parent.name, folder.name, text, report)
    return metadata


def _check_other_versions(folder: Path, relative: Path, current: Frontmatter | None) -> list[Problem]:
    """SKILL-<semver>.md: a version that is not the current one, kept because an experiment used it."""
    problems: list[Problem] = []
    for path in sorted(folder.glob("SKILL*.md")):
        if path.name == _GUIDANCE:
            continue
        report = Report((relative / path.name).as_posix())
        named = re.fullmatch(rf"SKILL-(?P<version>{SEMVER})\.md", path.name)
        if named is None:
            hint = "call it SKILL-<version>.md, as in SKILL-0.2.0.md"
            report.add(Rule.FILE_NAME, f"{path.name!r} names no version", hint=hint)
        frontmatter = _check_guidance(_read(path, report), folder.name, report)
        if frontmatter and named:
            _check_version(frontmatter.version, named["version"], current, report)
        problems += report.problems
    return problems


def _check_version(given: str, named: str, current: Frontmatter | None, report: Report) -> None:
    if given != named:
        report.add(Rule.VERSION, f"version is {given!r}", hint=f"write {named!r}, or rename the file")
    if current and given == current.version:
        report.add(Rule.VERSION, f"version is {given!r}, as in {_GUIDANCE}", hint="give each its own version")


def _read(path: Path, report: Report) -> bytes | None:
    """A regular file's bytes, or None. A symlink is refused: it may lead out of the repository."""
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            report.add(Rule.FILE, "is not a regular file", hint="replace it by a copy of the file")
        elif status.st_size > _MOST_BYTES:
            text = f"has {status.st_size} bytes, more than {_MOST_BYTES}"
            report.add(Rule.FILE, text, hint="shorten it; a prompt has to hold it")
        else:
            return read_at_most(path, _MOST_BYTES)
    except FileNotFoundError:
        report.add(Rule.FILE, "does not exist", hint=f"each skill has a {_GUIDANCE} and a {_METADATA}")
    except OSError as error:
        report.add(Rule.FILE, f"cannot be read: {error.strerror}", hint="make it readable")
    return None
