"""What a sandbox looks like from within: which paths exist, where they come from, what the environment holds."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

Mount = tuple[str, str, str]
"""Kind ("read", "write", "empty", "hidden" or "link"), source, path inside; for a link, its text is the source."""

ENTER = "/run/sciagent/enter.py"
_EMPTY = ("/tmp", "/dev/shm")  # noqa: S108 - places inside the sandbox
_RESERVED = ("/proc", "/dev", "/tmp", "/run", "/scratch")  # noqa: S108 - the same
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
# The loader's index; Debian's choice of a BLAS library; what resolving and encryption need, where a network is given.
_SETTINGS = ("/etc/ld.so.cache", "/etc/alternatives")
_NETWORK = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ssl", "/etc/pki", "/etc/ca-certificates")
# Of an interpreter's prefix only these: the prefix of a virtual environment may well be a project's own folder.
_PREFIX_PARTS = ("bin", "lib", "lib64", "share", "pyvenv.cfg")
# Installed with this package, among the libraries: the tasks, with the answers that a rerun must not be able to read.
SHIPPED = Path(__file__).parents[2] / "_shipped"


def environment(scratch: str) -> dict[str, str]:
    """The whole environment of a command whose scratch folder is at `scratch`: one thread, one hash seed, one zone."""
    own = {"PYTHONUSERBASE": site.getuserbase()} if site.ENABLE_USER_SITE else {"PYTHONNOUSERSITE": "1"}
    return {
        "HOME": scratch,
        "TMPDIR": scratch,
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        **own,
    }


def places(inputs: Mapping[Path, str], scratch: Path | None) -> dict[str, Path]:
    """Path inside -> resolved path here, for the inputs and the scratch folder.

    Raises:
        ValueError: a path inside is not absolute and plain, is taken, or is within another one.
        FileNotFoundError: a path here does not exist.
    """
    found: dict[str, Path] = {}
    for here, inside in inputs.items():
        if not inside.startswith("/") or os.path.normpath(inside) != inside or inside == "/":
            raise ValueError(f"not an absolute, plain path inside the sandbox: {inside!r}")
        clash = next((other for other in (*found, *_RESERVED, *_SYSTEM) if _nested(inside, other)), None)
        if clash is not None:
            raise ValueError(f"two things cannot be at {inside!r} and {clash!r} inside the sandbox")
        found[inside] = Path(here).resolve(strict=True)
    if scratch is not None:
        found["/scratch"] = Path(scratch).resolve(strict=True)
    return found


def outside(argument: str, places: Mapping[str, Path]) -> str:
    """`argument` with the path inside that it starts with replaced by the path here; others as they are."""
    for inside, here in places.items():
        if argument == inside or argument.startswith(inside + "/"):
            return f"{here}{argument[len(inside) :]}"
    return argument


def mounts(places: Mapping[str, Path], *, network: bool) -> list[Mount]:
    """Everything to be put into the private root, in an order in which no mount hides an earlier one.

    Raises:
        ValueError: an input's place inside is needed for the interpreter.
    """
    empty = [*_EMPTY, *([] if "/scratch" in places else ["/scratch"])]
    system: dict[str, Mount] = {}
    for path in sorted({*_SYSTEM, *_SETTINGS, *_interpreter(), *(_NETWORK if network else ())}, key=_depth):
        if Path(path).exists() and not any(_within(path, other) for other in system):
            system[path] = _system_mount(path)
    for inside in places:
        if clash := next((other for other in system if _nested(inside, other)), None):
            raise ValueError(f"{inside!r} inside the sandbox is taken by {clash!r}")
    return [
        *(("empty", "", path) for path in empty),
        *system.values(),
        *(("hidden", "", path) for path in _shipped() if any(_within(path, other) for other in system)),
        *(("write" if inside == "/scratch" else "read", str(here), inside) for inside, here in places.items()),
    ]


def bubblewrap(program: str, spec: Mapping[str, Any], enter: str) -> list[str]:
    """The bubblewrap command line, up to the command: the mounts of `spec`, and `enter` at `ENTER`."""
    size = str(spec["limits"]["file_bytes"])
    options = {"read": ["--ro-bind"], "write": ["--bind"], "link": ["--symlink"]}
    argv = [program, "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"]
    argv += ["--cap-drop", "ALL", "--hostname", "sandbox", *(["--share-net"] if spec["network"] else [])]
    argv += ["--proc", "/proc", "--dev", "/dev"]
    for kind, source, inside in spec["mounts"]:
        if kind in options:
            argv += [*options[kind], source, inside]
        else:
            argv += ["--size", size, "--tmpfs", inside, *(["--remount-ro", inside] if kind == "hidden" else [])]
    return [*argv, "--ro-bind", enter, ENTER, "--remount-ro", "/dev", "--remount-ro", "/", "--"]


def _interpreter() -> Iterator[str]:
    """Paths this interpreter and its installed packages live at."""
    for prefix in (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix):
        for part in _PREFIX_PARTS:
            yield f"{prefix}/{part}"
            yield f"{os.path.realpath(prefix)}/{part}"
    yield from (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    yield from (sys.executable, os.path.realpath(sys.executable))
    if site.ENABLE_USER_SITE:
        yield site.getusersitepackages()


def _shipped() -> set[str]:
    """Where the tasks that came with the package lie, by every path that leads there (lib64 may be a link to lib)."""
    found = {str(SHIPPED), os.path.realpath(SHIPPED)} if SHIPPED.exists() else set()
    for prefix in {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}:
        for root in {prefix, os.path.realpath(prefix)}:
            found |= {str(path) for path in Path(root).glob("lib*/python*/*-packages/pytest_sciagent/_shipped")}
    return found


def _system_mount(path: str) -> Mount:
    # /bin, /lib and so on are links into /usr on most systems, and stay so.
    if path in _SYSTEM and Path(path).is_symlink():
        return ("link", str(Path(path).readlink()), path)
    return ("read", os.path.realpath(path), path)


def _depth(path: str) -> tuple[int, str]:
    return path.count("/"), path


def _within(path: str, folder: str) -> bool:
    return PurePosixPath(path).is_relative_to(folder)


def _nested(one: str, other: str) -> bool:
    return _within(one, other) or _within(other, one)
