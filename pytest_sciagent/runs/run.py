"""A frozen run: its manifest, its integrity, and its files as they were frozen."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from ..digest import sha256_bytes, sha256_tree
from ..documents import MAX_BYTES, parse_json
from ..errors import SciagentError
from ..layout import FROZEN_FOLDERS, MANIFEST
from ..models import FileEntry, RunManifest
from ..models.run import check_roles
from .files import MAX_FILE_BYTES, UnsafeFile, read_file, walk

MAX_REPORT_BYTES = 10_000_000


class Run:
    """One frozen run on disk. Files are read lazily; each is checked against its frozen hash when it is read."""

    def __init__(self, path: Path, manifest: RunManifest) -> None:
        self.path = path
        self.manifest = manifest

    @classmethod
    def load(cls, path: Path) -> Run:
        """The run in the folder `path`.

        Raises:
            SciagentError: no `run.json`, or one that is not a valid manifest.
        """
        try:
            text = read_file(path, MANIFEST, MAX_BYTES).decode("utf-8")
        except (UnsafeFile, OSError, ValueError) as error:  # ValueError: not UTF-8, or a name that nothing can have
            raise SciagentError(f"no readable {MANIFEST}: {error}", path=path) from None
        return cls(path, parse_json(text, RunManifest, path / MANIFEST))

    @property
    def label(self) -> str:
        """`system/task`, with `.rN` for a repeat: how the run is named to people."""
        repeat = "" if self.manifest.repeat == 1 else f".r{self.manifest.repeat}"
        return f"{self.manifest.system.name}/{self.manifest.task_id}{repeat}"

    @cached_property
    def files(self) -> dict[str, FileEntry]:
        """The frozen files by their path, in the manifest's order."""
        return {entry.path: entry for entry in self.manifest.files}

    def with_role(self, *roles: str) -> list[FileEntry]:
        """The frozen files of these roles, in the manifest's order.

        Raises:
            ValueError: a word that is no role.
        """
        check_roles(roles)
        return [entry for entry in self.manifest.files if entry.role in roles]

    def read_bytes(self, path: str, limit: int = MAX_FILE_BYTES) -> bytes:
        """The frozen bytes of `path`.

        Raises:
            UnsafeFile: not in the manifest, over `limit`, a link, or no longer what was frozen.
        """
        entry = self.files.get(path)
        if entry is None:
            raise UnsafeFile(f"{path!r} is not a file of this run")
        data = read_file(self.path, path, limit)
        if len(data) != entry.bytes or sha256_bytes(data) != entry.sha256:
            raise UnsafeFile(f"{path!r} is not what was frozen")
        return data

    def read_text(self, path: str, limit: int = MAX_FILE_BYTES) -> str:
        """The frozen text of `path`: UTF-8, undecodable bytes replaced, line ends as `\\n`.

        Raises:
            UnsafeFile: as `read_bytes`.
        """
        text = self.read_bytes(path, limit).decode("utf-8-sig", "replace")
        return text.replace("\r\n", "\n").replace("\r", "\n")

    @cached_property
    def report_text(self) -> str | None:
        """The text of the report, or None where there is none."""
        return None if self.manifest.report is None else self.read_text(self.manifest.report, MAX_REPORT_BYTES)

    def problems(self) -> list[str]:
        """What keeps the run from being what was frozen: each changed, missing or extra file by name; none if sound."""
        found = list(self._manifest_problems())
        present: set[str] = set()
        refused: set[str] = set()
        for entry in walk(self.path):
            if entry.path == MANIFEST:
                continue
            if entry.problem is not None:
                found.append(f"refused: {entry.path} is {entry.problem}")
                refused.add(entry.path)
            elif entry.path in self.files:
                present.add(entry.path)
            else:
                found.append(f"extra: {entry.path}")
        for path in self.files:
            if path not in present:
                if path not in refused:
                    found.append(f"missing: {path}")
                continue
            try:
                self.read_bytes(path)
            except UnsafeFile:
                found.append(f"changed: {path}")
        return found

    def _manifest_problems(self) -> Iterator[str]:
        if sha256_tree((f.path, f.bytes, f.sha256) for f in self.manifest.files) != self.manifest.tree_sha256:
            yield f"changed: {MANIFEST} (its file list does not match its tree_sha256)"
        if len(self.files) != len(self.manifest.files):
            yield f"changed: {MANIFEST} (it lists a file twice)"
        for path in self.files:
            if path.split("/", 1)[0] not in FROZEN_FOLDERS:
                yield f"refused: {path} lies outside {' and '.join(FROZEN_FOLDERS)}"
        if self.manifest.report is not None and self.manifest.report not in self.files:
            yield f"missing: the report {self.manifest.report} is not among the frozen files"
