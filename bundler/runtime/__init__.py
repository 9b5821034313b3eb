"""Base images for bundles: a Debian root filesystem, wheels above it, and a list of both.

``images/NAME/runtime.yaml`` declares a runtime, ``runtime.lock.yaml`` beside it pins every package.
``python -m bundler.runtime build NAME`` makes an OCI layout of it. Why mmdebstrap and not a
Dockerfile: docs/adr/0003-how-runtimes-are-built.md. How to use it: docs/runtimes.md.
"""
