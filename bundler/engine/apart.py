"""Processes and a network of its own, for a replayer that Landlock alone does not keep apart.

From version 6 on (Linux 6.12) Landlock keeps signals and abstract sockets inside. On older kernels a
namespace does, as a container's: https://man7.org/linux/man-pages/man7/pid_namespaces.7.html. util-linux
makes it, which nearly every distribution has; one who is not root needs user namespaces for that.
"""

from __future__ import annotations

import os
import shutil
import subprocess

_UNSHARE = ("--pid", "--fork", "--kill-child", "--mount-proc", "--net", "--ipc")
_AS_USER = ("--map-current-user",)
_TRY_S = 30


class NotApart(Exception):
    """No namespace can be made here; ``str`` is why."""


def command() -> list[str]:
    """What precedes a command that is to be the first process of its own namespace. Raises NotApart."""
    # It is started from elsewhere than the caller's folder, which may be a stranger's too.
    absolute = filter(os.path.isabs, os.environ.get("PATH", os.defpath).split(os.pathsep))
    unshare = shutil.which("unshare", path=os.pathsep.join(absolute))
    if unshare is None:
        raise NotApart("there is no unshare (of util-linux) here to make a namespace with")
    start = [unshare, *(() if os.getuid() == 0 else _AS_USER), *_UNSHARE, "--"]
    try:
        tried = subprocess.run(
            [*start, "true"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            cwd="/", check=False, timeout=_TRY_S,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise NotApart(f"no namespace can be made: {error}") from None
    if tried.returncode:
        said = (
            tried.stderr.decode(errors="replace").strip()[-200:] or f"unshare ended with {tried.returncode}"
        )
        raise NotApart(f"no namespace can be made: {said}")
    return start
