"""Files that this user's own sessions have written, told from all others by a code that only this user can make.

What is kept saves work; it is no evidence. A file that came with a repository, or that anything else has written, has
no valid code and counts as absent: then the work is done.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
from pathlib import Path

from ..errors import SciagentError
from .store import write_atomically

_CODE_BYTES = 32


def user_secret(environ: os._Environ[str] | dict[str, str]) -> bytes | None:
    """The secret of this user, made on first use; None where there is no place for one."""
    try:
        state = environ.get("XDG_STATE_HOME")
        path = (Path(state) if state else Path.home() / ".local" / "state") / "pytest-sciagent" / "kept.key"
        if not path.is_file():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Made whole beside its place: of two sessions that begin at once, one wins and both read the same.
            made = path.with_name(f".{secrets.token_hex(8)}")
            made.touch(mode=0o600)
            made.write_bytes(secrets.token_bytes(_CODE_BYTES))
            with contextlib.suppress(FileExistsError):
                os.link(made, path)
            made.unlink()
        found = path.read_bytes()
    except (OSError, RuntimeError):  # RuntimeError: no home
        return None
    return found if len(found) == _CODE_BYTES else None


class KeptFiles:
    """A folder of kept files; each belongs to a `basis`, the digest of all that its content follows from."""

    def __init__(self, folder: Path, secret: bytes) -> None:
        self._folder = folder
        self._secret = secret

    @classmethod
    def of_user(cls, folder: Path, environ: os._Environ[str] | dict[str, str]) -> KeptFiles:
        """Those of this user; where there is no place for a secret, those of this one object."""
        return cls(folder, user_secret(environ) or secrets.token_bytes(_CODE_BYTES))

    def digest(self, text: str) -> str:
        """A digest of `text` that tells others nothing about it."""
        return hmac.new(self._secret, text.encode("utf-8", "surrogatepass"), "sha256").hexdigest()

    def read(self, name: str, basis: str) -> bytes | None:
        """What was kept under `name` for `basis`; None where nothing was, or it is not what was written."""
        try:
            data = (self._folder / name).read_bytes()
        except OSError:
            return None
        code, content = data[:_CODE_BYTES], data[_CODE_BYTES:]
        return content if hmac.compare_digest(code, self._code(name, basis, content)) else None

    def write(self, name: str, basis: str, content: bytes) -> None:
        """Keep `content` in the place of what `name` held. A place that can't be written to keeps nothing."""
        with contextlib.suppress(SciagentError):
            write_atomically(self._folder / name, self._code(name, basis, content) + content)

    def _code(self, name: str, basis: str, content: bytes) -> bytes:
        return hmac.digest(self._secret, f"{name}\0{basis}\0".encode() + content, "sha256")
