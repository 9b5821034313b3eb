"""The seccomp filter of a worker, as BPF instructions: which system calls it no longer has.

https://docs.kernel.org/userspace-api/seccomp_filter.html; the instructions are those of <linux/filter.h>.
"""

from __future__ import annotations

import errno

Step = tuple[int, int, int, int]
"""One instruction: code, jump if true, jump if false, operand."""

_ALLOW, _DENY, _KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
_AUDIT_ARCH_X86_64 = 0xC000003E
_X32_BIT = 0x40000000
_NO_SYSTEM_CALL = 0x00050000 | errno.ENOSYS
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06

# x86-64 numbers, from the kernel's arch/x86/entry/syscalls/syscall_64.tbl.
_DENIED = (
    101,  # ptrace
    310, 311,  # process_vm_readv, process_vm_writev
    312,  # kcmp
    424, 434, 438,  # pidfd_send_signal, pidfd_open, pidfd_getfd
    200, 129, 297,  # tkill, rt_sigqueueinfo, rt_tgsigqueueinfo
    109, 112,  # setpgid, setsid: a worker stays in the group that is killed
    42, 46, 307,  # connect, sendmsg, sendmmsg: no Landlock rule keeps a UNIX socket with a path apart
    29, 64, 68, 240,  # shmget, semget, msgget, mq_open: they outlive the process
    141, 142, 144, 314, 251,  # priorities and schedulers, which others of the same user have as well
    440, 448, 256, 279,  # process_madvise, process_mrelease, migrate_pages, move_pages
    165, 166, 155, 428, 429, 430, 431, 432, 433, 442,  # mounts
    272, 308, 161,  # unshare, setns, chroot
    321, 298, 323, 425, 426, 427,  # bpf, perf_event_open, userfaultfd, io_uring
    248, 249, 250,  # keyrings
    304,  # open_by_handle_at
    175, 176, 313, 246, 320, 169, 167, 168,  # modules, kexec, reboot, swap
    302,  # prlimit64 is decided below
)  # fmt: skip
_SYS_SOCKET, _SYS_KILL, _SYS_TGKILL, _SYS_PRLIMIT, _SYS_SETAFFINITY = 41, 62, 234, 302, 203
_SYS_SENDTO, _SYS_FCNTL, _SYS_IOCTL, _SYS_CLONE, _SYS_CLONE3, _SYS_MEMFD = 44, 72, 16, 56, 435, 319
_AF_UNIX = 1
_F_SETOWN, _F_SETOWN_EX, _FIOSETOWN, _SIOCSPGRP = 8, 15, 0x8901, 0x8902
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_NAMESPACES = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET


def program(pid: int, anonymous_files: bool) -> list[Step]:
    """The filter: deny ``_DENIED``, sockets other than UNIX ones, and signals to other processes.

    A file's owner gets the signals of F_SETSIG, SIGKILL among them, so nobody else is made owner. Of
    clone3, whose flags lie in memory, libraries know to do without.

    A grandchild (ptxas, gcc) cannot signal itself by number; glibc's ``abort`` ends it all the same,
    by an invalid instruction.
    """
    steps: list[Step] = [
        (_LOAD, 0, 0, 4),  # seccomp_data.arch
        (_EQUAL, 1, 0, _AUDIT_ARCH_X86_64),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0),  # seccomp_data.nr
        (_AT_LEAST, 0, 1, _X32_BIT),
        (_RETURN, 0, 0, _KILL),
    ]
    for number in (*_DENIED, *(() if anonymous_files else (_SYS_MEMFD,))):
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _DENY)]
    steps += [(_EQUAL, 0, 1, _SYS_CLONE3), (_RETURN, 0, 0, _NO_SYSTEM_CALL)]
    steps += _only_argument(_SYS_SOCKET, (_AF_UNIX,))
    steps += _only_argument(_SYS_KILL, (0, pid))
    steps += _only_argument(_SYS_TGKILL, (pid,))
    steps += _only_argument(_SYS_PRLIMIT, (0, pid))
    steps += _only_argument(_SYS_SETAFFINITY, (0, pid))
    steps += _not_argument(_SYS_FCNTL, 1, (_F_SETOWN, _F_SETOWN_EX))
    steps += _not_argument(_SYS_IOCTL, 1, (_FIOSETOWN, _SIOCSPGRP, _TIOCSTI, _TIOCLINUX))
    steps += _no_bit(_SYS_CLONE, 0, _NAMESPACES)
    steps += _no_bit(_SYS_SENDTO, 4, 0xFFFFFFFF)  # an address to send to
    return [*steps, (_RETURN, 0, 0, _ALLOW)]


def _not_argument(number: int, which: int, denied: tuple[int, ...]) -> list[Step]:
    """Deny system call ``number`` when the low half of an argument is one of ``denied``."""
    body: list[Step] = [(_LOAD, 0, 0, 16 + 8 * which)]
    for index, value in enumerate(denied):
        body.append((_EQUAL, len(denied) - index, 0, value))
    body += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _DENY)]
    return [(_EQUAL, 0, len(body), number), *body]


def _no_bit(number: int, which: int, bits: int) -> list[Step]:
    """Deny system call ``number`` when the low half of an argument has any of ``bits``."""
    body: list[Step] = [(_LOAD, 0, 0, 16 + 8 * which), (_ANY_BIT, 1, 0, bits)]
    body += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _DENY)]
    return [(_EQUAL, 0, len(body), number), *body]


def _only_argument(number: int, allowed: tuple[int, ...]) -> list[Step]:
    """Allow system call ``number`` when the low half of its first argument is one of ``allowed``."""
    body: list[Step] = [(_LOAD, 0, 0, 16)]
    for index, value in enumerate(allowed):
        body.append((_EQUAL, len(allowed) - index, 0, value))
    body += [(_RETURN, 0, 0, _DENY), (_RETURN, 0, 0, _ALLOW)]
    return [(_EQUAL, 0, len(body), number), *body]
