"""Landlock: which files a process, and all that it starts, can still reach, and whom it can signal.

https://docs.kernel.org/userspace-api/landlock.html. It has no right for a file's mode, owner, times and
attributes, nor for sockets with a path: the seccomp filter keeps those.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Sequence

_libc = ctypes.CDLL(None, use_errno=True)

OWN_PROC = "/proc/self"
SCOPES_VERSION = 6
"""The first version that keeps signals and abstract UNIX sockets inside."""

_SYS_LANDLOCK_CREATE, _SYS_LANDLOCK_ADD, _SYS_LANDLOCK_RESTRICT = 444, 445, 446
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_FS_RIGHTS_BY_VERSION = {
    1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1,
}  # fmt: skip
_REFER, _IOCTL_DEV = 1 << 13, 1 << 15
_NET_RIGHTS, _NET_VERSION = 3, 4  # bind and connect TCP
_SCOPES = 3  # abstract UNIX sockets and signals
_RULE_PATH_BENEATH = 1
_OF_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | (1 << 14) | _IOCTL_DEV


class NotHere(Exception):
    """The kernel has no such thing."""


def version() -> int:
    """The kernel's version of it; 0 where it has none."""
    return max(0, int(_libc.syscall(_SYS_LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)))


def restrict(
    readable: Sequence[str], writable: Sequence[str], *, files: bool = True, least_version: int = 1
) -> None:
    """Allow the calling process those folders and files, and no signals or abstract sockets to outside.

    ``files=False`` leaves all files and the network as they are. Raises NotHere where the kernel's version
    is less than ``least_version``, and OSError.
    """
    here = version()
    if here == 0:
        raise NotHere("this kernel has no Landlock")
    if here < least_version:
        raise NotHere(f"this kernel's Landlock has version {here}, and {least_version} is needed")
    # Of all rights, to move a file to another folder is denied unless a rule allows it.
    handled = _FS_RIGHTS_BY_VERSION[min(here, 5)] if files else _REFER
    ruleset = _ruleset(here, handled, network=files)
    try:
        if not files:
            _allow(ruleset, "/", _REFER)
        for path in readable:
            _allow(ruleset, path, (_EXECUTE | _READ_FILE | _READ_DIR) & handled)
        for path in writable:
            _allow(ruleset, path, handled)
        _check(_libc.syscall(_SYS_LANDLOCK_RESTRICT, ruleset, 0))
    finally:
        os.close(ruleset)


def _ruleset(here: int, handled: int, network: bool) -> int:
    attributes = struct.pack("<QQQ", handled, _NET_RIGHTS if network else 0, _SCOPES)
    attributes = attributes[: 8 if here < _NET_VERSION else 16 if here < SCOPES_VERSION else 24]
    return _check(_libc.syscall(_SYS_LANDLOCK_CREATE, attributes, ctypes.c_size_t(len(attributes)), 0))


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.EACCES):
            return  # what cannot be reached needs no permission
        raise
    try:
        if not os.path.isdir(f"/proc/self/fd/{fd}"):  # noqa: PTH112
            rights &= _OF_A_FILE
        rule = struct.pack("<Qi", rights, fd)
        _check(_libc.syscall(_SYS_LANDLOCK_ADD, ruleset, _RULE_PATH_BENEATH, rule, 0))
    finally:
        # procfs makes its inodes anew; the rule holds for this one, which an open descriptor keeps.
        if path != OWN_PROC:
            os.close(fd)


def _check(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
