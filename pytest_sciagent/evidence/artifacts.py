"""The artifacts of one run, read on first use and kept: what checks and users' own criteria look into."""

from __future__ import annotations

from collections.abc import Sequence

from ..models import FileEntry
from ..runs import Run, UnsafeFile
from .isolation import read_isolated
from .readers import Artifact, Unreadable

MAX_ARTIFACT_BYTES = 64 * 1024 * 1024


class Artifacts:
    """Frozen files of a run as tables, documents and text. Nothing is read before it is asked for."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._read: dict[str, Artifact | str] = {}

    def get(self, path: str) -> Artifact | None:
        """The artifact at `path`, or None where it can't be read; `why_not` then tells the reason."""
        if path not in self._read:
            try:
                self._read[path] = read_isolated(path, self.run.read_bytes(path, MAX_ARTIFACT_BYTES))
            except (Unreadable, UnsafeFile) as error:
                self._read[path] = str(error)
        found = self._read[path]
        return None if isinstance(found, str) else found

    def why_not(self, path: str) -> str | None:
        """Why `path` can't be read, or None if it can."""
        self.get(path)
        found = self._read[path]
        return found if isinstance(found, str) else None

    def text(self, path: str) -> str:
        """The readable text of `path`; empty where there is none."""
        artifact = self.get(path)
        return (artifact.text or "") if artifact is not None else ""

    def of(self, paths: Sequence[str], *roles: str) -> list[FileEntry]:
        """Those of `paths` that are frozen files of one of `roles`, in order."""
        return [self.run.files[p] for p in paths if p in self.run.files and self.run.files[p].role in roles]
