"""What a bundle carries of bundler: all that it needs, and nothing that it does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bundler.bundle.content import experiment_entries, generated_names, replayer_entries
from bundler.bundle.reach import module_name, reached
from bundler.experiment.load import load
from bundler.report.gather import gather
from bundler.report.pages import pages

ROOT = Path(__file__).parents[2]

SOURCES = {
    "a": b"",
    "a.top": b"import a.used\nfrom a import also\nimport sys\n",
    "a.used": b"def f():\n    from a.late import g\n    return g\n",
    "a.also": b"",
    "a.late": b"from a.pack.inner import x\n",
    "a.pack": b"",
    "a.pack.inner": b"x = 1\n",
    "a.left_out": b"import a.top\n",
}


def test_imports_are_followed_into_functions_and_packages() -> None:
    assert reached(SOURCES, ["a.top"]) == SOURCES.keys() - {"a.left_out"}


def test_a_circle_ends() -> None:
    assert reached({"x": b"import y", "y": b"import x"}, ["x"]) == {"x", "y"}


def test_a_package_s_init_has_the_package_s_name() -> None:
    assert module_name("bundler/oci/tar.py") == "bundler.oci.tar"
    assert module_name("bundler/oci/__init__.py") == "bundler.oci"


def test_a_bundle_carries_what_its_commands_need_and_no_more(tmp_path: Path) -> None:
    """The replayer's files alone, started as a bundle starts them."""
    entries = replayer_entries()
    for entry in entries:
        path = tmp_path / "opt/bundler" / entry.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(entry.data)
    command = [sys.executable, "-P", "-s", "-B", str(tmp_path / "opt/bundler"), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60)
    assert done.returncode == 0, done.stderr
    for name in ("verify", "show", "env", "extract", "host"):
        assert f"\n  {name} " in done.stdout
    assert "freeze" not in done.stdout.partition("Commands:")[2]
    assert "bundler/worker/assembler.py" in {entry.path for entry in entries}  # started by its name


LEFT_OUT = ("runtime", "skills", "oci", "report/html", "report/across", "bundle/freeze", "bundle/content")
IN_A_FOLDERS_REPLAY = {"__init__", "as_root", "folder", "lifeline", "replayed", "steps"}


def test_a_bundle_reads_a_folder_and_nothing_else() -> None:
    """No tar, no image, no Docker, no other replayer: less to read for who has to trust it."""
    modules = {entry.path.removesuffix(".py") for entry in replayer_entries()}
    assert [path for path in modules if path.startswith(tuple(f"bundler/{part}" for part in LEFT_OUT))] == []
    engine = {path.removeprefix("bundler/engine/") for path in modules if path.startswith("bundler/engine/")}
    assert engine == IN_A_FOLDERS_REPLAY


def test_the_commands_inside_import_no_docker_and_no_archive() -> None:
    program = "import sys, bundler.cli.inside; print('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    loaded = set(done.stdout.splitlines())
    assert "bundler.engine.folder" in loaded
    assert loaded & {"docker", "requests", "tarfile", "bundler.oci", "bundler.engine.docker"} == set()


def test_the_pages_that_a_report_writes_stay_out() -> None:
    loaded = load(ROOT / "proof/portability/row-max")
    frozen = {entry.path.removeprefix("proof/portability/row-max/") for entry in experiment_entries(loaded)}
    written = pages(gather(loaded))
    assert {name.partition("/")[0] for name in written} <= generated_names("portability/row-max")
    assert not {name.partition("/")[0] for name in frozen} & generated_names("portability/row-max")
    assert "analysis.md" in frozen
