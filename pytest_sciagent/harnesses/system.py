"""System files read, and the environment that a harness gets."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ..documents import load_yaml
from ..models.system import SystemFile


def load_system(path: Path) -> SystemFile:
    """The system file `path`.

    Raises:
        SciagentError: with file and line.
    """
    return load_yaml(path, SystemFile)


def base_environment(system: SystemFile, home: Path, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What every harness gets: a home of its own, the search path, and what the system file names. Nothing else."""
    base = {name: environ[name] for name in ("PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE") if name in environ}
    folders = {"HOME": home, "TMPDIR": home / "tmp", "XDG_CONFIG_HOME": home / ".config"}
    folders |= {"XDG_DATA_HOME": home / ".local/share", "XDG_CACHE_HOME": home / ".cache"}
    folders |= {"XDG_STATE_HOME": home / ".local/state"}
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    passed = {name: environ[name] for name in system.pass_environment if name in environ}
    return {**base, **{name: str(folder) for name, folder in folders.items()}, **passed, **system.environment}
