#!/bin/sh
# `make demo`: freeze an experiment and verify it, in Docker where that can be had, else without.
set -eu
: "${PYTHON:?}" "${EXPERIMENT:?}" "${MAKE:?}"
bundler="$PYTHON -m bundler"
out=build/demo
mkdir -p "$out"

has_docker() { docker version >/dev/null 2>&1; }
runtime=$($PYTHON -c 'from bundler.engine.gpu_nodes import has_gpu_nodes as gpu; print("cuda13" if gpu() else "cpu")')

if has_docker && { [ -e "build/images/$runtime/oci-layout" ] || command -v mmdebstrap >/dev/null; }; then
    [ -e "build/images/$runtime/oci-layout" ] || $MAKE images RUNTIMES=$runtime
    $bundler freeze "$EXPERIMENT" -o "$out/bundle.oci.tar" --base $runtime
    engine=docker
else
    echo "no Docker, or no mmdebstrap to build a runtime with: this machine's own Python runs the bundle" >&2
    $MAKE .venv/torch
    $bundler freeze "$EXPERIMENT" -o "$out/bundle.oci.tar" --bare
    engine=host
fi
$bundler verify "$out/bundle.oci.tar" --engine $engine --json "$out/evidence.json"
