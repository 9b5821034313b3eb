"""Every experiment of the repository freezes and loads into Docker; one in CUDA C++ is verified there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bundler.bundle.freeze import freeze
from bundler.experiment.load import load, parse_evidence
from bundler.oci.image import Image
from tests.e2e.harden import HARDENING, ROOT, cpu_base, docker, loaded_into_docker

pytestmark = [pytest.mark.docker, pytest.mark.slow]

EXPERIMENTS = sorted(
    path.parent.relative_to(ROOT / "proof").as_posix() for path in ROOT.glob("proof/*/*/experiment.yaml")
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    """The runtime, which Docker has as well, so that thin bundles load on it."""
    image = cpu_base()
    tag = loaded_into_docker(image, tmp_path_factory.mktemp("base"), "bundler-e2e-base:latest")
    yield image
    docker("image", "rm", "--force", tag)


@pytest.fixture
def bundle(base: Image, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """The tag of the experiment that the test names."""
    frozen = freeze(load(ROOT / "proof" / request.param), base)
    assert frozen.added_bytes < 1 << 20
    tag = f"bundler-e2e-{request.param.replace('/', '-')}:latest"
    yield loaded_into_docker(frozen.image, tmp_path, tag, thin=True)
    docker("image", "rm", "--force", tag)


@pytest.mark.parametrize("bundle", EXPERIMENTS, indirect=True, ids=EXPERIMENTS)
def test_it_is_frozen_and_loaded(bundle: str, request: pytest.FixtureRequest) -> None:
    done = docker("run", "--rm", *HARDENING, bundle, "show", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["experiment"] == request.node.callspec.params["bundle"]


@pytest.mark.parametrize("bundle", ["cuda/softmax-brief"], indirect=True)
def test_cuda_cpp_is_compiled_again_without_a_gpu(bundle: str) -> None:
    done = docker("run", "--rm", *HARDENING, bundle, "verify", "--json", "-")
    assert done.returncode == 0, done.stderr[-3000:]
    evidence = parse_evidence(done.stdout.encode(), "the container's evidence")
    compiled = [name for name in evidence.grounds if name.startswith("compile:")]
    assert len(compiled) == 7
    assert all(kernel.cubin for kernel in evidence.kernels)
    assert "PTX" in done.stderr
    assert done.stderr.strip().splitlines()[-1].startswith("REPRODUCED: ")
