"""Seccomp filters as BPF instructions: which system calls a worker no longer has, and which a replayer.

https://docs.kernel.org/userspace-api/seccomp_filter.html; the instructions are those of <linux/filter.h>.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence

from bundler.worker.system_calls import Machine

Step = tuple[int, int, int, int]
"""One instruction: code, jump if true, jump if false, operand."""

_ALLOW, _DENY, _KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
_PRETEND = 0x00050000
"""The call does nothing, and says that it did."""
_X32_BIT = 0x40000000
_NO_SYSTEM_CALL = 0x00050000 | errno.ENOSYS
_NO_ATTRIBUTES = 0x00050000 | errno.ENOTSUP
_LOAD, _MASK, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06

_DENIED = (
    "ptrace", "process_vm_readv", "process_vm_writev", "kcmp",
    "pidfd_send_signal", "pidfd_getfd", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo",
    "connect", "sendmmsg",  # no Landlock rule keeps a UNIX socket with a path apart
    "shmget", "semget", "msgget", "mq_open",  # they outlive the process
    "mq_unlink",  # no Landlock right, and others of the same user have queues
    "shmat", "shmctl", "semop", "semctl", "semtimedop", "msgsnd", "msgrcv", "msgctl",  # found by a number
    # No Landlock right:
    "setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr",
    "removexattrat", "file_setattr",
    # Others of the same user have them as well:
    "setpriority", "sched_setparam", "sched_setscheduler", "sched_setattr", "ioprio_set",
    "process_madvise", "process_mrelease", "migrate_pages", "move_pages",
    "mount", "umount2", "pivot_root", "open_tree", "open_tree_attr", "move_mount", "mount_setattr",
    "fsopen", "fsconfig", "fsmount", "fspick",
    "unshare", "setns", "chroot",
    "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register",
    "add_key", "request_key", "keyctl", "syslog", "open_by_handle_at",
    "truncate",  # Landlock has a right for it from version 3 on, Linux 6.2
    "inotify_add_watch", "fanotify_init", "fanotify_mark",  # they see into folders that Landlock closes
    "init_module", "delete_module", "finit_module", "kexec_load", "kexec_file_load", "reboot",
    "swapon", "swapoff",
)  # fmt: skip
_DENIED_TO_A_WORKER = (
    "pidfd_open",
    "setpgid", "setsid",  # a worker stays in the group that is killed
    "sendmsg",  # a socket with a path again; a replayer sends descriptors, and has no socket for datagrams
)  # fmt: skip
_PRETENDED = (
    "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat",
    "utime", "utimes", "futimesat", "utimensat",
)  # fmt: skip
"""Landlock lets them change any file of the user. Linkers and copying libraries call them on their own
files, where nothing here depends on it: what is linked there can be loaded, and not be executed."""
_UNREADABLE = (
    "getxattr", "lgetxattr", "fgetxattr", "getxattrat",
    "listxattr", "llistxattr", "flistxattr", "listxattrat",
)  # fmt: skip
"""Landlock lets them read what is attached to any file of the user. Copying libraries do without."""
_WITHOUT_A_DEVICE = (
    "bind", "listen", "accept", "accept4",  # an abstract name is free to whoever takes it first
    "memfd_create", "memfd_secret",
)  # fmt: skip
"""CUDA's driver takes an abstract name, and needs memfd_create."""
_UNKNOWN = ("clone3", "openat2")
"""Their flags lie in memory, where a filter does not look; libraries know to do without them."""
_ALL_BITS = 0xFFFFFFFF
_NOT_UNIX = _ALL_BITS ^ 1
"""The bits of an address family that AF_UNIX, which is 1, does not have."""
_DATAGRAM = 2
"""A bit of SOCK_DGRAM, and of SOCK_RAW, which means the same; not of SOCK_STREAM and SOCK_SEQPACKET. The two
heed no address that is sent to."""
_F_SETOWN, _F_SETOWN_EX, _FIOSETOWN, _SIOCSPGRP = 8, 15, 0x8901, 0x8902
_F_SETLEASE, _F_NOTIFY = 1024, 1026
"""Whoever writes to a file with a lease waits; F_NOTIFY watches a folder."""
_OPENED = 0o1003
"""The bits of O_ACCMODE and O_TRUNC."""
_O_TRUNC = 0o1000
_TRUNCATED_OR_UNUSED = (_O_TRUNC, _O_TRUNC | 3, 3)
"""Of flags: to truncate without writing, and to open for neither reading nor writing. Landlock asks for no
right to write then, and before version 3 truncates any file of the user."""
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_OF_FILE_SYSTEMS = (ord("f"), ord("X"), ord("v"), 0x94, 0xF5, ord("r"), ord("o"), 0xBC, 0xCF)
"""Types of ioctl: attributes, versions, fs-verity, Btrfs' subvolumes; those of FAT, OCFS2, bcachefs and CIFS.
They change what is open for reading only, and Landlock has a right for devices' alone."""
_NAMESPACES = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET


def worker(machine: Machine, pid: int, anonymous_files: bool) -> list[Step]:
    """The filter of the process ``pid``: no sockets but UNIX ones, and no signals to other processes.

    A grandchild (ptxas, gcc) cannot signal itself by number; glibc's ``abort`` ends it all the same,
    by an invalid instruction.
    """
    unix = _no_bit((_low(0), _NOT_UNIX))
    rules = {
        "socket": unix,
        "socketpair": unix,
        "kill": _only_argument((0, pid)),
        "tgkill": _only_argument((pid,)),
        "prlimit64": _only_argument((0, pid)),
        "sched_setaffinity": _only_argument((0, pid)),
    }
    return _filter(machine, (*_DENIED, *_DENIED_TO_A_WORKER), anonymous_files, rules)


def replayer(machine: Machine, anonymous_files: bool) -> list[Step]:
    """The filter of a replayer, which starts and kills workers, and hands them descriptors.

    It leaves ``kill`` and ``tgkill`` to Landlock, which from version 6 on keeps signals inside.
    """
    unix = _no_bit((_low(0), _NOT_UNIX), (_low(1), _DATAGRAM))
    own = _only_argument((0,))
    rules = {"socket": unix, "socketpair": unix, "prlimit64": own, "sched_setaffinity": own}
    return _filter(machine, _DENIED, anonymous_files, rules)


def _filter(
    machine: Machine, denied: Sequence[str], anonymous_files: bool, rules: Mapping[str, Sequence[Step]]
) -> list[Step]:
    steps: list[Step] = [
        (_LOAD, 0, 0, 4),  # seccomp_data.arch
        (_EQUAL, 1, 0, machine.audit_arch),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0),  # seccomp_data.nr
        (_AT_LEAST, 0, 1, _X32_BIT),
        (_RETURN, 0, 0, _KILL),
    ]
    if not anonymous_files:
        denied = (*denied, *_WITHOUT_A_DEVICE)
    for names, answer in (
        (denied, _DENY),
        (_PRETENDED, _PRETEND),
        (_UNREADABLE, _NO_ATTRIBUTES),
        (_UNKNOWN, _NO_SYSTEM_CALL),
    ):
        for name in names:
            steps += _of(machine, name, [(_RETURN, 0, 0, answer)])
    for name, body in {**_RULES, **rules}.items():
        steps += _of(machine, name, body)
    return [*steps, (_RETURN, 0, 0, _ALLOW)]


def _of(machine: Machine, name: str, body: Sequence[Step]) -> list[Step]:
    """``body``, which always returns, for that system call alone; nothing where the machine lacks it."""
    number = machine.calls[name]
    return [] if number is None else [(_EQUAL, 0, len(body), number), *body]


def _low(argument: int) -> int:
    """Where the low half of a system call's argument lies, in seccomp_data."""
    return 16 + 8 * argument


def _high(argument: int) -> int:
    return _low(argument) + 4


def _not_argument(which: int, denied: tuple[int, ...], bits: int = _ALL_BITS) -> list[Step]:
    """Deny a system call when ``bits`` of an argument's low half are one of ``denied``."""
    return _compared(which, denied, found=_DENY, other=_ALLOW, bits=bits)


def _no_ioctl(requests: tuple[int, ...], types: tuple[int, ...]) -> list[Step]:
    """Deny ioctl when its request is one of ``requests``, or has one of ``types`` as its second byte."""
    left = len(requests) + len(types) + 1  # to the denial, from the first comparison
    body: list[Step] = [(_LOAD, 0, 0, _low(1))]
    body += [(_EQUAL, left - index, 0, value) for index, value in enumerate(requests)]
    body += [(_MASK, 0, 0, 0xFF00)]
    body += [(_EQUAL, len(types) - index, 0, value << 8) for index, value in enumerate(types)]
    return [*body, (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _DENY)]


def _no_bit(*halves: tuple[int, int]) -> list[Step]:
    """Deny a system call when any of ``halves``, each a place and bits, has one of its bits."""
    body: list[Step] = []
    for left, (place, bits) in zip(reversed(range(len(halves))), halves, strict=True):
        body += [(_LOAD, 0, 0, place), (_ANY_BIT, 2 * left + 1, 0, bits)]
    return [*body, (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _DENY)]


def _only_argument(allowed: tuple[int, ...]) -> list[Step]:
    """Allow a system call when the low half of its first argument is one of ``allowed``."""
    return _compared(0, allowed, found=_ALLOW, other=_DENY)


def _compared(
    which: int, values: tuple[int, ...], *, found: int, other: int, bits: int = _ALL_BITS
) -> list[Step]:
    body: list[Step] = [(_LOAD, 0, 0, _low(which)), (_MASK, 0, 0, bits)]
    for index, value in enumerate(values):
        body.append((_EQUAL, len(values) - index, 0, value))
    return [*body, (_RETURN, 0, 0, other), (_RETURN, 0, 0, found)]


_RULES = {
    "open": _not_argument(1, _TRUNCATED_OR_UNUSED, bits=_OPENED),
    "openat": _not_argument(2, _TRUNCATED_OR_UNUSED, bits=_OPENED),
    # A file's owner gets the signals of F_SETSIG, SIGKILL among them, so nobody else is made owner.
    "fcntl": _not_argument(1, (_F_SETOWN, _F_SETOWN_EX, _F_SETLEASE, _F_NOTIFY)),
    "ioctl": _no_ioctl((_FIOSETOWN, _SIOCSPGRP, _TIOCSTI, _TIOCLINUX), _OF_FILE_SYSTEMS),
    "clone": _no_bit((_low(0), _NAMESPACES)),
    # An address to send to; one at a multiple of 4 GiB has a low half without a bit.
    "sendto": _no_bit((_low(4), _ALL_BITS), (_high(4), _ALL_BITS)),
}
"""Of both filters, by system call."""
