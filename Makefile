# The targets; `make` alone lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNTIMES ?= cpu cuda13
EXPERIMENT ?= proof/portability/row-max
BUILD := build
# The versions that both runtimes pin: with them this machine's own Python makes the very same PTX.
TORCH := torch==2.13.0 triton==3.7.1
CUDA := cuda-bindings==13.5.0 cuda-core==1.2.2 'cuda-toolkit[nvrtc,cudart,cccl,crt]==13.0.3.*'

.PHONY: help dev demo test lint type unit browser e2e attacks verify images docs reproducible benchmarks package clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z0-9]+:.*## /{printf "  %-14s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/bundler: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[docker]'
	@touch $@

$(VENV)/torch: $(BIN)/bundler
	$(BIN)/python -m pip install --quiet $(TORCH) $(CUDA)
	@touch $@

$(VENV)/dev: $(BIN)/bundler pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	@touch $@

dev: $(VENV)/torch $(VENV)/dev ## everything that is needed to work on bundler, in .venv

demo: $(BIN)/bundler ## freeze row-max and verify it: in Docker where there is one, else with this machine's Python
	@PYTHON=$(BIN)/python EXPERIMENT=$(EXPERIMENT) MAKE="$(MAKE)" sh tests/e2e/demo.sh

test: dev lint type unit ## lint, types, and the fast tests

lint: $(VENV)/dev ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

type: $(VENV)/dev ## mypy, strict
	$(BIN)/mypy

unit: dev ## the fast tests
	$(BIN)/python -m pytest -n auto -m "not docker and not gpu and not network and not browser and not slow"

browser: dev ## the tests in headless Chromium (needs chromium and chromium-driver); a missing one is a failure
	$(BIN)/python -m pytest -m browser --require browser

e2e: dev ## the tests with Docker, on the cpu runtime, and the slow ones; a missing Docker is a failure
	$(MAKE) images RUNTIMES=cpu
	$(BIN)/python -m pytest -m "docker or slow" --require docker,torch

attacks: dev ## the corpus of attacks, on every ground that this machine has
	$(BIN)/python -m tests.attacks --out $(BUILD)/attacks

images: $(BIN)/bundler ## build the runtimes into build/images (needs mmdebstrap); RUNTIMES=cpu for one
	$(BIN)/python -m bundler.runtime build $(RUNTIMES) --accept-moved-packages

docs: dev ## write the generated files again: schemas/, docs/cli.md, every entry's pages, proof/README.md
	$(BIN)/python -m docs.generate
	@for entry in proof/*/*/; do $(BIN)/bundler report --pages "$$entry" || exit 1; done
	$(BIN)/bundler index

verify: dev ## verify every experiment with this machine's Python, and its GPU where it has one
	@du -b proof/*/*/evidence | sort -rn | cut -f 2 | xargs -n 1 dirname | \
	  xargs -n 1 -P "$$(nproc)" $(BIN)/bundler verify --engine host --jobs 1  # the largest first

reproducible: $(BIN)/bundler ## freeze under other folders, users, Pythons, umasks, locales; compare the bytes
	PYTHON=$(BIN)/python EXPERIMENT=$(EXPERIMENT) sh tests/e2e/reproducible.sh

benchmarks: dev ## what freezing, verifying and their growth cost here; docs/benchmarks.md says more (ten minutes)
	@for each in freeze verify growth; do $(BIN)/python -m benchmarks.$$each || exit 1; done

package: $(VENV)/dev ## sdist and wheel, into dist/
	$(BIN)/python -m pip install --quiet build
	$(BIN)/python -m build

clean: ## remove what was built, the runtimes included
	rm -rf $(BUILD) dist $(VENV)
