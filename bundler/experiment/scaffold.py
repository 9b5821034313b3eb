"""A new experiment, laid out: whole but for what only its author can fill in."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from pathlib import Path
from string import Template

from bundler.digest import Digest
from bundler.errors import BadExperiment, UsageError
from bundler.experiment import template
from bundler.experiment.load import DECLARATION
from bundler.experiment.skill_versions import current
from bundler.experiment.template import TRITON, Texts
from bundler.experiment.template_cuda import CUDA
from bundler.files import cannot_write, filling, write_below
from bundler.model.base import NAME
from bundler.model.experiment import Language, Runtime

RUNTIME = Runtime(name="cuda13", torch="2.13.0", triton="3.7.1")
"""What a new experiment pins: the runtime of ``images/`` that has a GPU's libraries."""
_MOST_SHOWN = 40
"""Skills that an error lists."""
_TEXTS = {Language.TRITON: TRITON, Language.CUDA: CUDA}


def scaffold(
    root: Path, experiment: str, skill: str, *, runs: int = 3, language: Language = Language.TRITON
) -> Path:
    """Write ``proof/<experiment>`` below ``root`` for ``runs`` outputs an arm in ``language``; the folder.

    The arm with the skill has its newest version. Raises UsageError when a name is none, when the skill is
    not there, or when the folder is; UnavailableError when it cannot be written.
    """
    for what, name in (("experiment", experiment), ("skill", skill)):
        if not re.fullmatch(rf"{NAME.pattern}/{NAME.pattern}", name):
            raise UsageError(
                f"{name!r} is no {what}'s name", hint="write <category>/<name>: lowercase, digits, hyphens"
            )
    folder = root / "proof" / experiment
    if folder.exists() or folder.is_symlink():
        raise UsageError(f"{str(folder)!r} is there already", hint="choose another name, or remove it first")
    try:
        now = current(root, skill)
    except BadExperiment as error:
        raise UsageError(error.problem, hint=error.hint) from None
    if now is None:
        raise _no_skill(root, skill)
    files = laid_out(experiment, skill, (now.path, now.version, now.guidance), runs, language)
    # The declaration last: a folder that was not written whole is no experiment.
    try:
        with filling(folder, parents=True):
            for name in sorted(files, key=lambda name: (name == DECLARATION, name)):
                write_below(folder, name, files[name])
    except OSError as refused:
        raise cannot_write(folder, refused) from None
    return folder


def _no_skill(root: Path, skill: str) -> UsageError:
    """Why ``skill`` cannot be used, and what can."""
    skills = root / "skills"
    if not skills.is_dir():
        return UsageError(
            f"{str(root.absolute())!r} has no folder skills/",
            hint="run it where skills/ and proof/ lie, or name that folder: --root",
        )
    there = sorted({path.parent.relative_to(skills).as_posix() for path in skills.glob("*/*/SKILL*.md")})
    told = ", ".join(there[:_MOST_SHOWN]) + (", ..." if len(there) > _MOST_SHOWN else "")
    others = f"there are: {told}" if there else "there is none"
    if skill in there:
        problem = f"{str(skills / skill)!r} has no SKILL.md that states its version"
        return UsageError(problem, hint=f"see bundler skills check; {others}")
    problem = f"there is no skill {skill!r} in {str(skills)!r}"
    return UsageError(problem, hint=f"{others}; another repository's: --root")


def laid_out(
    experiment: str, skill: str, state: tuple[str, str, bytes], runs: int, language: Language
) -> Mapping[str, bytes]:
    """The new experiment's files, by path. ``state``: the skill's path, version and bytes."""
    path, version, guidance = state
    entry, texts = entry_of(experiment), _TEXTS[language]
    files = _written(experiment, skill, version, texts) | _answers(entry, runs, texts)
    digests = {name: Digest.of(data) for name, data in files.items()}
    base_task = files["base_task.md"]
    declaration = _filled(
        template.DECLARATION,
        experiment=experiment,
        skill=skill,
        language=language.value,
        entry=entry,
        call=texts.call,
        fence=texts.fence,
        suffix=texts.suffix,
        grounds=texts.grounds,
        running=texts.running,
        how_uncompilable=texts.how_uncompilable,
        runs=str(runs),
        skill_path=path,
        skill_version=version,
        skill_sha256=Digest.of(guidance),
        prompt_without=Digest.of(base_task),
        prompt_with=Digest.of(guidance + b"\n" + base_task),
        outputs_without=_outputs("without-skill", digests),
        outputs_with=_outputs("with-skill", digests),
        base_task=digests["base_task.md"],
        right=digests[f"controls/right.{texts.suffix}"],
        wrong_tail=digests[f"controls/wrong-tail.{texts.suffix}"],
        uncompilable=digests[f"controls/uncompilable.{texts.suffix}"],
        runtime=f"{{name: {RUNTIME.name}, torch: {RUNTIME.torch}, triton: {RUNTIME.triton}}}",
    )
    return files | {DECLARATION: declaration}


def _written(experiment: str, skill: str, version: str, texts: Texts) -> dict[str, bytes]:
    """What the author writes beside the declaration."""
    entry = entry_of(experiment)
    task = Template(texts.task).substitute(entry=entry)
    return {
        "base_task.md": _filled(template.BASE_TASK, task=task),
        "harness.py": _filled(template.HARNESS, entry=entry, arguments=texts.arguments),
        "analysis.md": _filled(template.ANALYSIS, experiment=experiment, skill=skill, skill_version=version),
        f"controls/right.{texts.suffix}": _filled(texts.right, entry=entry),
        f"controls/wrong-tail.{texts.suffix}": _filled(texts.wrong_tail, entry=entry),
        f"controls/uncompilable.{texts.suffix}": _filled(texts.uncompilable, entry=entry),
    }


def _answers(entry: str, runs: int, texts: Texts) -> dict[str, bytes]:
    """What a model's answers are to replace."""
    stub = Template(texts.stub).substitute(entry=entry)
    return {
        f"outputs/{arm}/{number:02}.md": _filled(template.OUTPUT, arm=arm, fence=texts.fence, stub=stub)
        for arm in ("without-skill", "with-skill")
        for number in range(1, runs + 1)
    }


def entry_of(experiment: str) -> str:
    """The function that a candidate defines, named as the kernel is: ``row_max`` for ``row-max``."""
    name = re.sub(r"[^a-z0-9]", "_", experiment.partition("/")[2])
    return f"kernel_{name}" if name[0].isdigit() or keyword.iskeyword(name) else name


def _filled(text: str, **values: str) -> bytes:
    return Template(text).substitute(values).encode()


def _outputs(arm: str, digests: Mapping[str, Digest]) -> str:
    """The entries of an arm's outputs, indented as the template has them."""
    return "\n".join(
        f"      - path: {path}\n        sha256: {digest}"
        for path, digest in digests.items()
        if path.startswith(f"outputs/{arm}/")
    )
