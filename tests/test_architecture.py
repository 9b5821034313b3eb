"""The page on the architecture names files and packages that are there, in the order that imports have."""

from __future__ import annotations

import re

from tests.test_imports import ISLAND, ORDER, PACKAGE

PAGE = (PACKAGE.parent / "docs/architecture.md").read_text()


def test_every_file_that_it_names_is_there() -> None:
    named = set(re.findall(r"[a-z_]+(?:/[a-z_]+)+\.py", PAGE))
    assert len(named) > 20
    missing = {name for name in named if not any((at / name).is_file() for at in (PACKAGE, PACKAGE.parent))}
    assert missing == set()


def test_its_rows_are_those_of_the_imports() -> None:
    table = PAGE.partition("| row | package |")[2].partition("\n\n")[0]
    rows: list[set[str]] = []
    for number, names in re.findall(r"^\| ([0-9]*) ?\| (`[^|]*`) \|", table, re.MULTILINE):
        if number:
            rows.append(set())
        rows[-1] |= set(re.findall(r"`([a-z_]+)`", names))
    rows[-1].remove(ISLAND)
    assert rows == [set(row) for row in ORDER if row != {"__main__"}]


def test_each_flavour_of_worker_is_told() -> None:
    from bundler.worker.zygote import FLAVOURS

    assert {flavour for flavour in FLAVOURS if f'zygote "{flavour}"' not in PAGE} == set()


def test_each_name_that_recurs_is_where_it_says() -> None:
    table = PAGE.partition("| name | where |")[2]
    found = re.findall(r"^\| `([a-z_]+)` \| ([^|]*) \|", table, re.MULTILINE)
    assert len(found) > 10
    for name, places in found:
        for place in re.findall(r"`([a-z]+)`", places):
            assert (PACKAGE / place / f"{name}.py").is_file(), (name, place)
        assert ("the package" in places) == (PACKAGE / name).is_dir(), name
