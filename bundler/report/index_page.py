"""The index as Markdown: ``proof/README.md``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from bundler.judge.statistics import Contrast, Shows
from bundler.model.experiment import Ground
from bundler.report.index import Entry, HostRow, Index
from bundler.report.markup import prose
from bundler.report.runs import sentence, share, told
from bundler.report.summary import title
from bundler.report.text import count

_HEAD = """\
# Proof index

Generated: `bundler index`. What each skill's experiments show, counted from their recorded evidence.

| word | means |
|---|---|
| helps | more runs pass with the skill than without, and Fisher's exact test says p ≤ 0.05 |
| hurts | fewer do, by the same test: a **negative result**, and no validation of the skill |
| no difference seen | as many do; that is no proof that there is no difference |
| more (fewer) with it, which may be chance | the arms differ, and p is over 0.05 |
| more (fewer) with it, too few runs to tell | they differ; no outcome of so few can be told from chance |
| reconstruction only | no model's output with the skill; what was written afterwards shows nothing of it |
| none yet | nothing is recorded that compares the skill with its absence |
| stale | the skill has changed since, so its entry says nothing of it as it stands |

A run is one output of a model. It passed when every case of it that ran passed: on the device where
there is device evidence, else by compiling for every architecture. What Triton's interpreter says never
counts, nor do controls and reconstructions. Intervals are Wilson's, at 95 %. An arm is held against the one
without the skill; the word in the table is that of the arm whose skill is the current version: the newest in
the skill's folder.

A replay on another host is told by the cells of these runs that came out as recorded. `partly reproduced`
means that not all of those on its device, or by compiling where it had none, ran there.
"""


def markdown(found: Index) -> str:
    """The whole page; links are relative to ``proof/``."""
    entries = [entry for skill in found.skills for entry in skill.entries]
    return "\n".join([_HEAD, *_table(found), *(line for entry in entries for line in _section(entry))]) + "\n"


def _table(found: Index) -> Iterator[str]:
    yield "## Skills"
    yield ""
    yield "| category | skill | version | entry | shows | runs passed | hosts |"
    yield "|---|---|---|---|---|---|---|"
    for skill in found.skills:
        category, _, name = skill.name.partition("/")
        head = f"| {category} | [{name}](../{skill.path}) | {prose(skill.version)} |"
        for entry in skill.entries:
            link = f"[{entry.id}](#{_anchor(entry.id)})"
            yield f"{head} {link} | {word(entry)} | {_runs(entry)} | {_where(entry)} |"
        if not skill.entries:
            yield f"{head} | {Shows.NONE_YET} | | |"
    yield ""


def word(entry: Entry) -> str:
    """What an entry shows, as the table has it: a negative result is marked, thin evidence is said to be."""
    if entry.shows is Shows.HURTS:
        return "**hurts** (negative result)"
    if entry.decided_by:
        return "; ".join(dict.fromkeys(map(_told, entry.decided_by)))
    if entry.shows is Shows.STALE:
        return f"stale: not run with {prose(entry.stale_since)}"
    return str(entry.shows)


def _told(contrast: Contrast) -> str:
    same = contrast.shows is Shows.NO_DIFFERENCE and not contrast.direction
    return f"{told(contrast)}; too few runs to tell more" if same and contrast.too_few else told(contrast)


def _runs(entry: Entry) -> str:
    """Of every arm on the ground that counts; what was only compiled is said to be."""
    shares = [(arm.arm, arm.shares.get(Ground.DEVICE), arm.shares.get(Ground.COMPILE)) for arm in entry.arms]
    return "<br>".join(
        f"{arm}: {s.passed} of {s.runs}{'' if device else ' compiled'}"
        for arm, device, compiled in shares
        if (s := device or compiled)
    )


def _where(entry: Entry) -> str:
    """Each host once: whether its evidence is the recorded one, reproduces it, or neither."""
    said: dict[str, list[str]] = {}
    for host in entry.hosts:
        word = "recorded" if host.recorded else _reproduced(host)
        said.setdefault(prose(host.host), []).append(word)
    return "<br>".join(f"{host}: {', '.join(dict.fromkeys(words))}" for host, words in said.items())


def _reproduced(host: HostRow) -> str:
    if host.reproduced and host.judged < host.of:
        return f"partly reproduced: {host.judged:,} of {count(host.of, 'cell')}"
    return "reproduced" if host.reproduced else "not reproduced"


def _section(entry: Entry) -> Iterator[str]:
    yield f"## {entry.id}"
    yield ""
    yield f"{_line(entry.title)}. Shows: {word(entry)}."
    yield ""
    yield " · ".join([f"[entry]({entry.id})", *(f"[{page}]({entry.id}/{page})" for page in entry.pages)])
    yield ""
    yield from _arms(entry)
    yield from (f"- {sentence(entry.arms, contrast)}" for contrast in entry.contrasts)
    if entry.reconstructions:
        yield f"- {count(entry.reconstructions, 'reconstruction')}, written afterwards, not counted."
    yield ""
    yield from _host_table(entry)


def _arms(entry: Entry) -> Iterator[str]:
    grounds = [ground for ground in Ground if any(ground in arm.shares for arm in entry.arms)]
    if not grounds:
        yield "Nothing is recorded yet."
        yield ""
        return
    titles = (
        f"{ground} (not counted)" if ground is Ground.INTERPRETER else str(ground) for ground in grounds
    )
    yield f"| runs passed | skill | {' | '.join(titles)} |"
    yield "|---|---|" + "---|" * len(grounds)
    for arm in entry.arms:
        cells = (share(arm.shares.get(ground)) for ground in grounds)
        yield f"| {arm.arm} | {prose(arm.skill_version or 'none')} | {' | '.join(cells)} |"
    yield ""


def _host_table(entry: Entry) -> Iterator[str]:
    if not entry.hosts:
        return
    yield "| host | grounds | said | evidence |"
    yield "|---|---|---|---|"
    for host in entry.hosts:
        name = host.link.rsplit("/", 1)[-1]
        link = host.link.removeprefix("proof/") if host.link.startswith("proof/") else f"../{host.link}"
        evidence = f"[{prose(name)}]({quote(link)})"
        yield f"| {prose(host.host)} | {_grounds(host.grounds)} | {prose(host.said)} | {evidence} |"
    yield ""


def _grounds(names: Sequence[str]) -> str:
    compiled = [name for name in names if name.startswith("compile:")]
    rest = [name for name in names if name not in compiled]
    return ", ".join([*rest, *([title(compiled)] if compiled else [])]) or "none"


def _anchor(text: str) -> str:
    """GitHub's, of a heading that is an entry's id."""
    return text.replace("/", "").replace(".", "")


def _line(text: str) -> str:
    """An author's words at the beginning of a line, where more is markup than within one."""
    return re.sub(r"^(?=[#+=-])|^(\d+)(?=[.)])", r"\1\\", prose(text))
