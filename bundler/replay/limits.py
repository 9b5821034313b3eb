"""What a bundle's replayer may have: the same in its container and where this bundler confines it."""

from __future__ import annotations

MOST_THREADS = 2048
"""Processes and threads in all. A replay has a few dozen for each job; a fork bomb is to end before the
host's own limit (32,768 process ids by default) does."""
WRITABLE_BYTES = 8 << 30
"""In the one folder, or on the one tmpfs, that it may write to: workers' folders of at most 1 GiB each, and
what Triton compiles. A tmpfs is the host's memory."""
END_S = 30
"""How long it has, once it is asked to end or its asker is gone, to hand over the cells that it had and to
clean up."""
