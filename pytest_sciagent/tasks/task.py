"""A task on disk: the visible half, and the hidden half where it exists."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from ..digest import sha256_bytes
from ..documents import is_there, load_yaml, read_text, shipped_folder
from ..errors import SciagentError
from ..models import Card, Reference, Source, TaskManifest
from ..models.prior_art import Hit, PriorArt
from ..runs.files import UnsafeFile, read_file, walk

MAX_HITS = 12
PLACEHOLDER = "REPLACE"
"""Stands where `sciagent task new` leaves the words to somebody."""


class Task:
    """One task. The hidden half is read only where it is asked for; judges of criteria never see it."""

    def __init__(self, path: Path, manifest: TaskManifest) -> None:
        self.path = path
        self.manifest = manifest

    @classmethod
    def load(cls, path: Path) -> Task:
        """The task in the folder `path`.

        Raises:
            SciagentError: no `task.yaml`, or an invalid one.
        """
        return cls(path, load_yaml(path / "task.yaml", TaskManifest))

    def check(self) -> None:
        """Read every document of the task, and hash its data.

        Raises:
            SciagentError: a document that is missing or can't be read; a data file that is missing, or is not the one
                that `task.yaml` registers.
        """
        for document in (self.objective, self.data_guide, self.cards, self.prior_art, self.source):
            del document
        problem = next(self.data_problems(), None)
        if problem is not None:
            raise SciagentError(
                f"{problem}; put the registered file back, or register this one with: sciagent task hash {self.path}",
                path=self.path / "task.yaml",
            )

    @cached_property
    def unfinished(self) -> str | None:
        """What to tell where a place that needs somebody's words still holds what `sciagent task new` put there."""
        words = (json.dumps(self.manifest.as_json()), self.objective, self.data_guide)
        if any(PLACEHOLDER in text for text in words):
            return (
                f"task {self.id} still says {PLACEHOLDER}, also to judges; what is left: sciagent task check {self.id}"
            )
        if self.cards and not self.reference:
            return (
                f"task {self.id}: hidden/reference.yaml still says {PLACEHOLDER}, so nobody is asked what matches it "
                f"and target stays open; what is left: sciagent task check {self.id}"
            )
        return None

    def data_problems(self) -> Iterator[str]:
        """What keeps `data/` from being what `task.yaml` registers: missing, changed and unregistered files."""
        registered = {file.path: file for file in self.manifest.files}
        present = set()
        for entry in walk(self.path, "data") if self.data_dir.is_dir() else ():
            if entry.problem is not None:
                yield f"{entry.path} is {entry.problem}"
            present.add(entry.path)
        yield from (f"{path} is not registered" for path in sorted(present - registered.keys()))
        for path, file in registered.items():
            try:
                if not path.startswith("data/"):
                    yield f"{path} does not lie below data/"
                elif path not in present:
                    yield f"{path} is missing"
                elif file.bytes != (self.path / path).stat().st_size or file.sha256 != self._digest(path):
                    yield f"{path} is not the file that is registered (bytes or sha256 differ)"
            except UnsafeFile as error:
                yield str(error)

    def _digest(self, path: str) -> str:
        return sha256_bytes(read_file(self.path, path))

    @property
    def id(self) -> str:
        return self.manifest.id

    @property
    def data_dir(self) -> Path:
        """The visible data."""
        return self.path / "data"

    @property
    def holdout_dir(self) -> Path:
        """The data of a second stage, which a run gets only after its first stage is frozen; may not exist."""
        return self.path / "hidden" / "holdout"

    @cached_property
    def objective(self) -> str:
        """The neutral goal the agent was given."""
        return read_text(self.path / "objective.md")

    @cached_property
    def data_guide(self) -> str:
        """What the agent was told about the data."""
        return read_text(self.path / "DATA_GUIDE.md")

    @cached_property
    def cards(self) -> tuple[Card, ...]:
        """The hidden reference findings; none where the task has no reference."""
        path = self.path / "hidden" / "reference.yaml"
        return load_yaml(path, Reference).cards if is_there(path) else ()

    @cached_property
    def reference(self) -> tuple[Card, ...]:
        """The cards that judges are asked about: none while a card holds a placeholder, which nobody can have found."""
        unwritten = any(PLACEHOLDER in json.dumps(card.as_json()) for card in self.cards)
        return () if unwritten else self.cards

    @cached_property
    def prior_art(self) -> PriorArt | None:
        """The frozen literature snapshot, where the task has one."""
        path = self.path / "hidden" / "prior_art.yaml"
        return load_yaml(path, PriorArt) if is_there(path) else None

    @cached_property
    def earlier_hits(self) -> tuple[Hit, ...]:
        """The publications of the snapshot that are certainly from before T0, without the source study; at most 12.

        A date of a year or a month alone never counts as earlier.
        """
        t0 = self.manifest.t0
        if self.prior_art is None or t0 is None:
            return ()
        whole = [h for h in self.prior_art.hits if h.date is not None and len(h.date) == len("YYYY-MM-DD")]
        earlier = [h for h in whole if str(h.date) < t0 and not self._is_source(h)]
        return tuple(earlier[:MAX_HITS])

    def _is_source(self, hit: Hit) -> bool:
        source = self.source
        if source is None:
            return False
        same_doi = hit.doi is not None and source.doi is not None and hit.doi.lower() == source.doi.lower()
        return same_doi or hit.title.casefold().strip() == source.title.casefold().strip()

    @cached_property
    def source(self) -> Source | None:
        """The hidden study behind the data, where recorded."""
        path = self.path / "hidden" / "source.yaml"
        return load_yaml(path, Source) if is_there(path) else None


def unfinished_tasks(tasks: Iterable[Task | None]) -> list[str]:
    """What to warn of before agents or judges are shown `tasks`: places that still wait for somebody's words, each told
    once. What is not known (None) is passed over."""
    found = {task.unfinished for task in tasks if task is not None}
    return sorted(text for text in found if text is not None)


def task_folders(given: Sequence[Path], rootdir: Path) -> list[Path]:
    """Where tasks are looked up, in order: the folders given, `tasks/` under the rootdir, the shipped ones."""
    return list(dict.fromkeys([*given, rootdir / "tasks", shipped_folder("tasks")]))


def find_task(task_id: str, folders: Sequence[Path]) -> Task | None:
    """The first task named `task_id` in `folders`, or None.

    Raises:
        SciagentError: it is there but can't be read, or its id is another than its folder's name.
    """
    for folder in folders:
        path = folder / task_id
        if is_there(path / "task.yaml"):
            task = Task.load(path)
            if task.id != task_id:
                raise SciagentError(f"the task's id is {task.id!r}, its folder {task_id!r}", path=path / "task.yaml")
            return task
    return None
