"""System files read, and the environment that a harness gets."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ..digest import sha256_bytes, sha256_json
from ..documents import load_yaml, read_text
from ..errors import SciagentError
from ..models.system import SystemFile
from ..tasks.workspace import CONTRACT, PROMPT

MAX_PROMPT_BYTES = 1_000_000


def load_system(path: Path) -> SystemFile:
    """The system file `path`, its prompts as absolute paths.

    Raises:
        SciagentError: with file and line; or a prompt that can't be told to an agent.
    """
    system = load_yaml(path, SystemFile)
    system = system.model_copy(update={"prompts": tuple(str(path.absolute().parent / name) for name in system.prompts)})
    prompt_texts(system)
    return system


def prompt_texts(system: SystemFile) -> dict[str, bytes]:
    """The texts of the prompts that the system file names, by the names under which a run records them.

    Raises:
        SciagentError: a file that can't be read, is no text, or has the name of another.
    """
    found: dict[str, bytes] = {}
    for path in map(Path, system.prompts):
        if path.name in found or path.name in (CONTRACT, PROMPT):
            raise SciagentError("is no name for a prompt: another one has it", path=path)
        try:
            text = path.read_bytes()
            text.decode("utf-8")
        except OSError as error:
            raise SciagentError(f"the prompt can't be read: {error.strerror}", path=path) from None
        except UnicodeDecodeError:
            raise SciagentError("the prompt is no text in UTF-8", path=path) from None
        if len(text) > MAX_PROMPT_BYTES:
            raise SciagentError(f"the prompt has {len(text):,} bytes, more than {MAX_PROMPT_BYTES:,}", path=path)
        found[path.name] = text
    return found


def digest_of(path: Path, system: SystemFile) -> str:
    """The digest of the system file `path` and of all prompts that it names: what was said about how to run.

    Raises:
        SciagentError: see `prompt_texts`.
    """
    own = sha256_bytes(read_text(path).encode())
    prompts = {name: sha256_bytes(text) for name, text in prompt_texts(system).items()}
    return sha256_json({"file": own, "prompts": prompts}) if prompts else own


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
