"""The first processes of a sandbox: make its private root, set limits, give up every right, start the command.

Started as `python -I -S enter.py SPEC` with nothing but the standard library, in one of three ways: "namespaces" (does
all of it), "bubblewrap" (that has made the root, so only the last steps are left) and "none" (limits, and all
children killed in the end). `SPEC` is JSON, made by `_run` of the package.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import struct
import sys
from pathlib import Path
from typing import Any, NoReturn

if sys.platform != "win32":
    import resource

_NOBODY = 65534
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_BIND, _MS_REC, _MS_PRIVATE = 2, 4, 8, 0x1000, 0x4000, 1 << 18
_MNT_DETACH = 2
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV, _AT_FDCWD, _AT_RECURSIVE = 1, 2, 4, -100, 0x8000
_CLONE_NEWNS, _CLONE_NEWCGROUP, _CLONE_NEWUTS, _CLONE_NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
_CLONE_NEWUSER, _CLONE_NEWPID, _CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
_SYS_MOUNT_SETATTR = 442
_SYS_PIVOT_ROOT = {"x86_64": 155, "ppc64le": 203, "s390x": 217}  # 41 on all newer architectures
_PR_SET_PDEATHSIG, _PR_SET_KEEPCAPS, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 1, 8, 22, 24
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE = 36, 38, 47, 2
_CAP_DAC_OVERRIDE = 1
# Of each architecture: its name for the kernel's filters, the number of socket, and the numbers of shmget, add_key,
# request_key, keyctl and memfd_create.
_ARCHITECTURES = {
    "x86_64": (0xC000003E, 41, (29, 248, 249, 250, 319)),
    "aarch64": (0xC00000B7, 198, (194, 217, 218, 219, 279)),
}
_DENIED_ANYWHERE = (425, 447)  # io_uring_setup, which can open sockets unseen; memfd_secret
_FAMILIES = (1, 2, 10, 16)  # Unix, IPv4, IPv6, netlink
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _GIVE = 0x20, 0x15, 0x35, 0x06
_KILL, _REFUSE, _ALLOW = 0x80000000, 0x00050001, 0x7FFF0000  # refused calls fail with "operation not permitted"

_linux = sys.platform == "linux"


def _call(name: str, *arguments: Any) -> None:
    """Call a function of the C library that returns 0, or raise the OSError it reports."""
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _prctl(option: int, *arguments: int) -> None:
    _call("prctl", option, *(ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]))


def parents() -> dict[int, int]:
    """Process id -> id of its parent, of all processes to be seen; empty on systems without `/proc`."""
    found: dict[int, int] = {}
    for folder in Path("/proc").iterdir() if _linux else ():
        # A process may end between any two steps.
        if folder.name.isdecimal():
            with contextlib.suppress(OSError):
                # The name of the program, in brackets, may hold anything; the parent is the second field after it.
                found[int(folder.name)] = int((folder / "stat").read_bytes().rpartition(b")")[2].split()[1])
    return found


def main(spec: dict[str, Any]) -> int:
    """Run the command of `spec` to its end; returns its exit code, 128 + n if signal n ended it."""
    os.umask(0o022)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if _linux:
        # When memory runs out, the kernel is to look here first. Not all containers leave that to their processes.
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("1000")
    if spec["isolation"] == "bubblewrap":
        _start(spec)
    if _linux:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != spec["parent"]:
            return 1  # it died before it could take this process with it
    if spec["isolation"] == "namespaces":
        _unshare(network=spec["network"])
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # new rights may have undone it
        first = os.fork()
        return _wait(first) if first else _first_process(spec)
    if _linux:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    child = os.fork()
    if child == 0:
        if _linux:
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        _start(spec)
    code = _wait(child)
    _kill_children()
    return code


def _wait(child: int) -> int:
    """Wait for `child`, and for every orphan that ends before it."""
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _kill_children() -> None:
    """Kill all children; theirs become ours and are killed too, until there are none."""
    while True:
        for pid, parent in parents().items():
            if parent == os.getpid():
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0 if _linux else os.WNOHANG)
        except ChildProcessError:
            return


def _unshare(*, network: bool) -> None:
    """Move into own namespaces, users mapped to themselves: all of them for root, else this one only.

    The maps are written by a process left behind, since only one outside may map more than one user.
    """
    own, group = os.geteuid(), os.getegid()
    reading, writing = os.pipe()
    target = os.getpid()
    helper = os.fork()
    if helper == 0:
        os.close(writing)
        if not os.read(reading, 1):
            os._exit(1)  # there are no namespaces to be had
        if own == 0:
            maps = [_identity(Path(f"/proc/self/{kind}_map").read_text()) for kind in ("uid", "gid")]
        else:
            Path(f"/proc/{target}/setgroups").write_text("deny")
            maps = [f"{own} {own} 1", f"{group} {group} 1"]
        for kind, text in zip(("uid", "gid"), maps, strict=True):
            Path(f"/proc/{target}/{kind}_map").write_text(text)
        os._exit(0)
    flags = _CLONE_NEWUSER | _CLONE_NEWNS | _CLONE_NEWPID | _CLONE_NEWIPC | _CLONE_NEWUTS | _CLONE_NEWCGROUP
    _call("unshare", flags | (0 if network else _CLONE_NEWNET))
    os.write(writing, b".")
    if _wait(helper) != 0:
        raise OSError("users could not be mapped")
    os.close(reading)
    os.close(writing)


def _identity(text: str) -> str:
    ranges = (line.split() for line in text.splitlines())
    return "".join(f"{inside} {inside} {count}\n" for inside, _, count in ranges)


def _first_process(spec: dict[str, Any]) -> int:
    """Process 1 of the sandbox: when it ends, for whatever reason, the kernel kills all others in there."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    os.setsid()  # so that no signal to a group of processes leaves the sandbox
    _call("sethostname", b"sandbox", ctypes.c_size_t(7))
    _make_root(spec["root"], spec["mounts"], spec["limits"]["file_bytes"])
    child = os.fork()
    if child == 0:
        _start(spec)
    return _wait(child)


def _make_root(root: str, mounts: list[list[str]], size: int) -> None:
    """Build the private root at the empty folder `root`, and move there for good."""
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    _mount("tmpfs", root, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=4m,mode=755")
    devices = [["device", f"/dev/{name}", f"/dev/{name}"] for name in ("null", "zero", "full", "random", "urandom")]
    links = [["link", f"/proc/self/fd{end}", f"/dev/{name}"] for name, end in (("fd", ""), ("stdin", "/0"))]
    links += [["link", f"/proc/self/fd/{number}", f"/dev/{name}"] for name, number in (("stdout", 1), ("stderr", 2))]
    for kind, source, inside in [*mounts, *devices, *links]:
        target = Path(root + inside)
        target.parent.mkdir(parents=True, exist_ok=True)
        if kind == "link":
            target.symlink_to(source)
        elif kind in ("empty", "hidden"):
            target.mkdir(exist_ok=True)
            _mount("tmpfs", str(target), "tmpfs", _MS_NOSUID | _MS_NODEV, f"size={size},nr_inodes=100k,mode=1777")
            if kind == "hidden":
                _restrict(str(target), _ATTR_RDONLY)
        else:
            target.mkdir() if Path(source).is_dir() else target.touch()
            _mount(source, str(target), None, _MS_BIND | _MS_REC)
            if kind != "device":
                _restrict(str(target), _ATTR_NOSUID | _ATTR_NODEV | (_ATTR_RDONLY if kind == "read" else 0))
    process = Path(root, "proc")
    process.mkdir()
    _mount("proc", str(process), "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    # In a namespace of its own the command would be root again, and could mount memory without limit.
    (process / "sys/user/max_user_namespaces").write_text("0")
    _restrict(str(process), _ATTR_RDONLY)
    _restrict(root, _ATTR_RDONLY, recursive=False)
    os.chdir(root)
    number = _SYS_PIVOT_ROOT.get(os.uname().machine, 41)
    _call("syscall", ctypes.c_long(number), b".", b".")
    _call("umount2", b".", _MNT_DETACH)
    os.chdir("/")


def _mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    texts = [None if text is None else text.encode() for text in (source, target, kind, options)]
    _call("mount", *texts[:3], ctypes.c_ulong(flags), texts[3])


def _restrict(target: str, attributes: int, *, recursive: bool = True) -> None:
    """Set mount attributes, on everything mounted below `target` too."""
    flags = _AT_RECURSIVE if recursive else 0
    change = struct.pack("=QQQQ", attributes, 0, 0, 0)
    numbers = (ctypes.c_long(_SYS_MOUNT_SETATTR), ctypes.c_int(_AT_FDCWD))
    _call("syscall", *numbers, target.encode(), ctypes.c_uint(flags), change, ctypes.c_size_t(len(change)))


def _start(spec: dict[str, Any]) -> NoReturn:
    """Set the limits, give up rights, and become the command."""
    os.chdir(spec["folder"])
    os.set_inheritable(spec["ready"], False)
    if spec["isolation"] == "namespaces" and os.geteuid() == 0:
        _become_nobody()
    limits = _limits(spec["limits"])
    if spec["isolation"] != "none":
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
        _filter_calls()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    for kind, value in limits.items():
        # A second more until SIGKILL, for one that ignores the signal of the processor limit.
        hard = value + 1 if kind == resource.RLIMIT_CPU else value
        present = resource.getrlimit(kind)[1]
        most = hard if present == resource.RLIM_INFINITY else min(hard, present)
        resource.setrlimit(kind, (min(value, most), most))
    os.write(spec["ready"], b".")
    try:
        os.execve(spec["argv"][0], spec["argv"], spec["environment"])  # noqa: S606 - without a shell, as meant
    except OSError as error:
        print(f"{spec['argv'][0]}: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(127)


def _limits(wanted: dict[str, Any]) -> dict[int, int]:
    limits = {
        resource.RLIMIT_CPU: wanted["cpu_s"],
        resource.RLIMIT_FSIZE: wanted["file_bytes"],
        resource.RLIMIT_CORE: 0,
    }
    if _linux:
        limits[resource.RLIMIT_AS] = wanted["memory_bytes"]
        limits[resource.RLIMIT_NPROC] = wanted["processes"] + _tasks()
    return limits


def _tasks() -> int:
    """Threads that this user runs besides, since the kernel counts those too: inside a sandbox, none to speak of."""
    count = 0
    for pid in parents().keys() - {os.getpid()}:
        folder = Path(f"/proc/{pid}")
        with contextlib.suppress(OSError):
            if folder.stat().st_uid == os.geteuid():
                count += sum(1 for _ in (folder / "task").iterdir())
    return count


def _become_nobody() -> None:
    """From root to a user whose processes are counted; of root's rights only reading and writing any file is kept.

    Files that root alone may read are inputs like others, and what is not mounted, or read-only, stays out of reach.
    """
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
    for capability in range(last + 1):
        if capability != _CAP_DAC_OVERRIDE:
            _prctl(_PR_CAPBSET_DROP, capability)
    _prctl(_PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setresgid(_NOBODY, _NOBODY, _NOBODY)
    os.setresuid(_NOBODY, _NOBODY, _NOBODY)
    kept = 1 << _CAP_DAC_OVERRIDE
    _call("capset", struct.pack("=Ii", 0x20080522, 0), struct.pack("=6I", kept, kept, kept, 0, 0, 0))
    _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _CAP_DAC_OVERRIDE)


def _filter_calls() -> None:
    """Refuse what the namespaces leave open: sockets to a virtual machine's host, memory of no process, the key ring.

    A filter of the kernel's own kind: each instruction is a code, how many to skip if true, if false, and an operand.
    Nothing is filtered on architectures that are not in the table.
    """
    if (machine := os.uname().machine) not in _ARCHITECTURES:
        return
    architecture, socket, denied = _ARCHITECTURES[machine]
    program = [(_LOAD, 0, 0, 4), (_IF_EQUAL, 1, 0, architecture), (_GIVE, 0, 0, _KILL)]
    program += [(_LOAD, 0, 0, 0), (_IF_AT_LEAST, 0, 1, 0x40000000), (_GIVE, 0, 0, _REFUSE)]  # x86: the x32 numbers
    for number in (*denied, *_DENIED_ANYWHERE):
        program += [(_IF_EQUAL, 0, 1, number), (_GIVE, 0, 0, _REFUSE)]
    program += [(_IF_EQUAL, 1, 0, socket), (_GIVE, 0, 0, _ALLOW), (_LOAD, 0, 0, 16)]
    for family in _FAMILIES:
        program += [(_IF_EQUAL, 0, 1, family), (_GIVE, 0, 0, _ALLOW)]
    program.append((_GIVE, 0, 0, _REFUSE))
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *instruction) for instruction in program))
    header = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(code)))
    _prctl(_PR_SET_SECCOMP, 2, ctypes.addressof(header))


if __name__ == "__main__":
    os._exit(main(json.loads(sys.argv[1])))
