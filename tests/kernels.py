"""Run a command under another kernel, with this machine's files to read.

``python -m tests.kernels FOLDER --user 1000 -- python3 -m pytest -q tests/worker/test_sandbox.py``

Confinement differs by kernel (Landlock's versions, namespaces), and a container has its host's. FOLDER is an
unpacked package of a distribution's kernel with its modules (``dpkg-deb -x linux-image-*.deb FOLDER``). QEMU
emulates it, some thirty times slower than this machine: name few tests. It takes qemu-system-x86_64, a static
busybox, depmod, modprobe and cpio. /tmp, /run and /home are empty there; the command may write to /mnt, a
folder of this machine whose path is printed.

``--machine aarch64 --root FOLDER`` emulates another machine, with FOLDER as its root file system (as of
``mmdebstrap --architectures=arm64 --variant=extract``, with busybox-static); this folder is its /srv.
"""

from __future__ import annotations

import argparse
import lzma
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_MODULES = ("virtio_pci", "9pnet_virtio", "9p")
_MACHINES = {"x86_64": ("pc", "max", "ttyS0"), "aarch64": ("virt", "max,pauth-impdef=on", "ttyAMA0")}
"""QEMU's name of the machine and of the processor, and the console."""
_SIZE = ("-accel", "tcg,thread=multi", "-smp", "2", "-m", "6G")
_QUIET = ("-nographic", "-nodefaults", "-no-reboot", "-serial", "stdio")
_INIT = """\
#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
$b mount -t devtmpfs dev /dev
exec >/dev/console 2>&1
for module in /modules/*; do $b insmod $module; done
share() { $b mount -t 9p -o trans=virtio,version=9p2000.L,msize=1048576,$1 $2 $3; }
share ro,cache=loose root /root
share rw out /root/mnt
share ro,cache=loose here /root/srv
for folder in /tmp /run /home /var/tmp; do $b mount -t tmpfs -o mode=1777 tmp /root$folder; done
$b mkdir -p /dev/shm /dev/pts
$b mount -t tmpfs -o mode=1777 shm /dev/shm
for folder in /proc /sys /dev; do $b mount --move $folder /root$folder; done
$b ip link set lo up
$b cp /bin/busybox /root/run/busybox
exec $b switch_root /root /bin/sh /mnt/first
"""
_FIRST = """\
cd {folder}
{command} >/mnt/output 2>&1
echo $? >/mnt/status
sync
/run/busybox poweroff -f
"""


def main() -> None:
    """Run it, print what it printed, and end as it did."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kernel", type=Path, help="an unpacked package of a kernel")
    parser.add_argument("--user", type=int, default=0, help="the user's and the group's number")
    parser.add_argument("--machine", choices=_MACHINES, default="x86_64")
    parser.add_argument("--root", type=Path, default=Path("/"), help="that machine's files; this one's")
    parser.add_argument("--timeout", type=int, default=1800, help="seconds")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    out = Path(tempfile.mkdtemp(prefix="kernel-"))
    print(f"/mnt is {out}", file=sys.stderr)
    as_user = [
        "setpriv",
        f"--reuid={options.user}",
        f"--regid={options.user}",
        "--clear-groups",
        "setsid",
        "-w",
    ]
    command = shlex.join([*as_user, "env", *_environment(), *options.command])
    here = Path.cwd() if options.root == Path("/") else "/srv"
    (out / "first").write_text(_FIRST.format(folder=shlex.quote(str(here)), command=command))
    with tempfile.TemporaryDirectory() as scratch:
        image = _first_file_system(options.kernel, options.root, Path(scratch))
        _boot(options, image, out)
    if not (out / "status").exists():
        sys.exit(f"it did not end; {out}/console has the kernel's messages, {out}/output what it printed")
    print((out / "output").read_text(errors="replace"), end="")
    sys.exit(int((out / "status").read_text()))


def _environment() -> list[str]:
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return [
        f"{name}={value}" for name, value in (kept | {"HOME": "/tmp", "PYTHONDONTWRITEBYTECODE": "1"}).items()
    ]


def _first_file_system(kernel: Path, files: Path, scratch: Path) -> Path:
    """The initial RAM file system: busybox, and the modules that mount the machine's files."""
    root = scratch / "root"
    for folder in ("bin", "modules", "proc", "sys", "dev", "root"):
        (root / folder).mkdir(parents=True)
    shutil.copy(files / "bin/busybox", root / "bin")
    (root / "init").write_text(_INIT)
    (root / "init").chmod(0o755)
    for number, path in enumerate(_modules(kernel)):
        (root / f"modules/{number:02}.ko").write_bytes(_decompressed(path))
    image = scratch / "image"
    names = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
    with image.open("wb") as stream:
        subprocess.run(
            ["cpio", "-o", "-H", "newc", "--quiet"], cwd=root, input=names.encode(), stdout=stream, check=True
        )
    return image


def _modules(kernel: Path) -> list[Path]:
    """What has to be loaded, in order."""
    version = next(path for path in (kernel / "lib/modules").iterdir()).name
    subprocess.run(["depmod", "-b", kernel, version], check=True, stderr=subprocess.DEVNULL)
    found: dict[Path, None] = {}
    for module in _MODULES:
        asked = ["modprobe", "-d", str(kernel), "-S", version, "--show-depends", module]
        said = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
        found |= {Path(line.split()[1]): None for line in said.splitlines() if line.startswith("insmod")}
    return list(found)


def _decompressed(path: Path) -> bytes:
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dc", path], check=True, capture_output=True).stdout
    return lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()


def _boot(options: argparse.Namespace, image: Path, out: Path) -> None:
    machine, processor, console = _MACHINES[options.machine]
    shares = {
        "root": f"path={options.root},readonly=on,multidevs=remap",
        "here": f"path={Path.cwd()},readonly=on,multidevs=remap",
        "out": f"path={out}",
    }
    folders = [f"local,mount_tag={tag},security_model=none,{how}" for tag, how in shares.items()]
    kernel = next((options.kernel / "boot").glob("vmlinuz*"))
    with (out / "console").open("wb") as messages:
        subprocess.run(
            [f"qemu-system-{options.machine}", "-machine", machine, "-cpu", processor, *_SIZE, *_QUIET,
             "-kernel", str(kernel), "-initrd", str(image), "-append", f"console={console} quiet panic=-1",
             *(part for folder in folders for part in ("-virtfs", folder))],
            stdout=messages, stderr=subprocess.STDOUT, timeout=options.timeout, check=False,
        )  # fmt: skip


if __name__ == "__main__":
    main()
