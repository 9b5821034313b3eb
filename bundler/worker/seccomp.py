"""Seccomp filters as BPF instructions: which system calls a worker no longer has, and which a replayer.

https://docs.kernel.org/userspace-api/seccomp_filter.html; the instructions are those of <linux/filter.h>.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence

Step = tuple[int, int, int, int]
"""One instruction: code, jump if true, jump if false, operand."""

_ALLOW, _DENY, _KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
_PRETEND = 0x00050000
"""The call does nothing, and says that it did."""
_AUDIT_ARCH_X86_64 = 0xC000003E
_X32_BIT = 0x40000000
_NO_SYSTEM_CALL = 0x00050000 | errno.ENOSYS
_NO_ATTRIBUTES = 0x00050000 | errno.ENOTSUP
_LOAD, _MASK, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06

# x86-64 numbers, from the kernel's arch/x86/entry/syscalls/syscall_64.tbl.
_DENIED = (
    101,  # ptrace
    310, 311,  # process_vm_readv, process_vm_writev
    312,  # kcmp
    424, 438,  # pidfd_send_signal, pidfd_getfd
    200, 129, 297,  # tkill, rt_sigqueueinfo, rt_tgsigqueueinfo
    42, 307,  # connect, sendmmsg: no Landlock rule keeps a UNIX socket with a path apart
    29, 64, 68, 240,  # shmget, semget, msgget, mq_open: they outlive the process
    241,  # mq_unlink: no Landlock right, and others of the same user have queues
    30, 31, 65, 66, 220, 69, 70, 71,  # shmat, shmctl, sem*, msg*: numbers of others' can be guessed
    188, 189, 190, 197, 198, 199, 463, 466, 469,  # *setxattr, *removexattr, file_setattr: no Landlock right
    141, 142, 144, 314, 251,  # priorities and schedulers, which others of the same user have as well
    440, 448, 256, 279,  # process_madvise, process_mrelease, migrate_pages, move_pages
    165, 166, 155, 428, 429, 430, 431, 432, 433, 442, 467,  # mounts
    272, 308, 161,  # unshare, setns, chroot
    321, 298, 323, 425, 426, 427,  # bpf, perf_event_open, userfaultfd, io_uring
    248, 249, 250,  # keyrings
    103,  # syslog: the kernel's messages
    304,  # open_by_handle_at
    76,  # truncate: Landlock has a right for it from version 3 on, Linux 6.2
    254, 300, 301,  # inotify_add_watch, fanotify: they see what happens in folders that Landlock closes
    175, 176, 313, 246, 320, 169, 167, 168,  # modules, kexec, reboot, swap
)  # fmt: skip
_DENIED_TO_A_WORKER = (
    434,  # pidfd_open
    109, 112,  # setpgid, setsid: a worker stays in the group that is killed
    46,  # sendmsg: a socket with a path again; a replayer sends descriptors, and has no socket for datagrams
)  # fmt: skip
_PRETENDED = (
    90, 91, 268, 452,  # chmod, fchmod, fchmodat, fchmodat2
    92, 93, 94, 260,  # chown, fchown, lchown, fchownat
    132, 235, 261, 280,  # utime, utimes, futimesat, utimensat
)  # fmt: skip
"""Landlock lets them change any file of the user. Linkers and copying libraries call them on their own
files, where nothing here depends on it: what is linked there can be loaded, and not be executed."""
_UNREADABLE = (
    191, 192, 193, 464,  # *getxattr
    194, 195, 196, 465,  # *listxattr
)  # fmt: skip
"""Landlock lets them read what is attached to any file of the user. Copying libraries do without."""
_WITHOUT_A_DEVICE = (
    49, 50, 43, 288,  # bind, listen, accept, accept4: an abstract name is free to whoever takes it first
    319, 447,  # memfd_create, memfd_secret
)  # fmt: skip
"""CUDA's driver takes an abstract name, and needs memfd_create."""
_SYS_SOCKET, _SYS_SOCKETPAIR = 41, 53
_SYS_KILL, _SYS_TGKILL, _SYS_PRLIMIT, _SYS_SETAFFINITY = 62, 234, 302, 203
_SYS_SENDTO, _SYS_FCNTL, _SYS_IOCTL, _SYS_CLONE, _SYS_CLONE3 = 44, 72, 16, 56, 435
_ALL_BITS = 0xFFFFFFFF
_NOT_UNIX = _ALL_BITS ^ 1
"""The bits of an address family that AF_UNIX, which is 1, does not have."""
_DATAGRAM = 2
"""A bit of SOCK_DGRAM, and of SOCK_RAW, which means the same; not of SOCK_STREAM and SOCK_SEQPACKET. The two
heed no address that is sent to."""
_F_SETOWN, _F_SETOWN_EX, _FIOSETOWN, _SIOCSPGRP = 8, 15, 0x8901, 0x8902
_F_SETLEASE, _F_NOTIFY = 1024, 1026
"""Whoever writes to a file with a lease waits; F_NOTIFY watches a folder."""
_SYS_OPEN, _SYS_OPENAT, _SYS_OPENAT2 = 2, 257, 437
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


def worker(pid: int, anonymous_files: bool) -> list[Step]:
    """The filter of the process ``pid``: no sockets but UNIX ones, and no signals to other processes.

    A grandchild (ptxas, gcc) cannot signal itself by number; glibc's ``abort`` ends it all the same,
    by an invalid instruction.
    """
    steps = _common((*_DENIED, *_DENIED_TO_A_WORKER), anonymous_files)
    steps += _no_bit(_SYS_SOCKET, (_low(0), _NOT_UNIX))
    steps += _no_bit(_SYS_SOCKETPAIR, (_low(0), _NOT_UNIX))
    steps += _only_argument(_SYS_KILL, (0, pid))
    steps += _only_argument(_SYS_TGKILL, (pid,))
    steps += _only_argument(_SYS_PRLIMIT, (0, pid))
    steps += _only_argument(_SYS_SETAFFINITY, (0, pid))
    return [*steps, (_RETURN, 0, 0, _ALLOW)]


def replayer(anonymous_files: bool) -> list[Step]:
    """The filter of a replayer, which starts and kills workers, and hands them descriptors.

    It leaves ``kill`` and ``tgkill`` to Landlock, which from version 6 on keeps signals inside.
    """
    steps = _common(_DENIED, anonymous_files)
    steps += _no_bit(_SYS_SOCKET, (_low(0), _NOT_UNIX), (_low(1), _DATAGRAM))
    steps += _no_bit(_SYS_SOCKETPAIR, (_low(0), _NOT_UNIX), (_low(1), _DATAGRAM))
    steps += _only_argument(_SYS_PRLIMIT, (0,))
    steps += _only_argument(_SYS_SETAFFINITY, (0,))
    return [*steps, (_RETURN, 0, 0, _ALLOW)]


def _common(denied: Sequence[int], anonymous_files: bool) -> list[Step]:
    """What both filters begin with.

    A file's owner gets the signals of F_SETSIG, SIGKILL among them, so nobody else is made owner. Of
    clone3 and openat2, whose flags lie in memory, libraries know to do without.
    """
    steps: list[Step] = [
        (_LOAD, 0, 0, 4),  # seccomp_data.arch
        (_EQUAL, 1, 0, _AUDIT_ARCH_X86_64),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0),  # seccomp_data.nr
        (_AT_LEAST, 0, 1, _X32_BIT),
        (_RETURN, 0, 0, _KILL),
    ]
    for number in (*denied, *(() if anonymous_files else _WITHOUT_A_DEVICE)):
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _DENY)]
    for number in _PRETENDED:
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _PRETEND)]
    for number in _UNREADABLE:
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _NO_ATTRIBUTES)]
    for number in (_SYS_CLONE3, _SYS_OPENAT2):
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _NO_SYSTEM_CALL)]
    steps += _not_argument(_SYS_OPEN, 1, _TRUNCATED_OR_UNUSED, bits=_OPENED)
    steps += _not_argument(_SYS_OPENAT, 2, _TRUNCATED_OR_UNUSED, bits=_OPENED)
    steps += _not_argument(_SYS_FCNTL, 1, (_F_SETOWN, _F_SETOWN_EX, _F_SETLEASE, _F_NOTIFY))
    steps += _no_ioctl((_FIOSETOWN, _SIOCSPGRP, _TIOCSTI, _TIOCLINUX), _OF_FILE_SYSTEMS)
    steps += _no_bit(_SYS_CLONE, (_low(0), _NAMESPACES))
    # An address to send to; one at a multiple of 4 GiB has a low half without a bit.
    steps += _no_bit(_SYS_SENDTO, (_low(4), _ALL_BITS), (_high(4), _ALL_BITS))
    return steps


def _low(argument: int) -> int:
    """Where the low half of a system call's argument lies, in seccomp_data."""
    return 16 + 8 * argument


def _high(argument: int) -> int:
    return _low(argument) + 4


def _not_argument(number: int, which: int, denied: tuple[int, ...], bits: int = _ALL_BITS) -> list[Step]:
    """Deny system call ``number`` when ``bits`` of an argument's low half are one of ``denied``."""
    return _compared(number, which, denied, found=_DENY, other=_ALLOW, bits=bits)


def _no_ioctl(requests: tuple[int, ...], types: tuple[int, ...]) -> list[Step]:
    """Deny ioctl when its request is one of ``requests``, or has one of ``types`` as its second byte."""
    left = len(requests) + len(types) + 1  # to the denial, from the first comparison
    body: list[Step] = [(_LOAD, 0, 0, _low(1))]
    body += [(_EQUAL, left - index, 0, value) for index, value in enumerate(requests)]
    body += [(_MASK, 0, 0, 0xFF00)]
    body += [(_EQUAL, len(types) - index, 0, value << 8) for index, value in enumerate(types)]
    body += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _DENY)]
    return [(_EQUAL, 0, len(body), _SYS_IOCTL), *body]


def _no_bit(number: int, *halves: tuple[int, int]) -> list[Step]:
    """Deny system call ``number`` when any of ``halves``, each a place and bits, has one of its bits."""
    body: list[Step] = []
    for left, (place, bits) in zip(reversed(range(len(halves))), halves, strict=True):
        body += [(_LOAD, 0, 0, place), (_ANY_BIT, 2 * left + 1, 0, bits)]
    body += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _DENY)]
    return [(_EQUAL, 0, len(body), number), *body]


def _only_argument(number: int, allowed: tuple[int, ...]) -> list[Step]:
    """Allow system call ``number`` when the low half of its first argument is one of ``allowed``."""
    return _compared(number, 0, allowed, found=_ALLOW, other=_DENY)


def _compared(
    number: int, which: int, values: tuple[int, ...], *, found: int, other: int, bits: int = _ALL_BITS
) -> list[Step]:
    body: list[Step] = [(_LOAD, 0, 0, _low(which)), (_MASK, 0, 0, bits)]
    for index, value in enumerate(values):
        body.append((_EQUAL, len(values) - index, 0, value))
    body += [(_RETURN, 0, 0, other), (_RETURN, 0, 0, found)]
    return [(_EQUAL, 0, len(body), number), *body]
