"""What an import brings in: each task, run, rubric and set of labels by itself; a broken one costs itself only."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import ValidationError

from ..documents import json_text
from ..errors import SciagentError
from ..ledger.store import write_atomically
from ..models import Label, Model, Rubric
from ..runs import UnsafeFile
from ..runs.freeze import FreezeOptions, freeze
from ..tasks import Task
from ..text import counted, one_line
from .foreign import fault

Kind = Literal["task", "run", "rubric", "labels", "result", "figures"]
KINDS: tuple[Kind, ...] = ("task", "run", "rubric", "labels", "result", "figures")
SUMMARY = "import.json"
_MAX_REASON = 400
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")


@dataclass(frozen=True, slots=True)
class Loaded:
    """One thing that came in: `place` relative to the target; `notes` say what is particular about it."""

    kind: Kind
    name: str
    place: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """One thing that did not come in: the file that was at fault, and why."""

    kind: Kind
    name: str
    file: str
    reason: str


@dataclass
class Gathering:
    """Everything one import brings into the folder `target`.

    system: the name for runs whose source names none. tell: called with a line as each thing comes in.
    complete: whether the import came to its end.
    """

    target: Path
    system: str | None = None
    tell: Callable[[str], None] = field(default=lambda line: None)
    loaded: list[Loaded] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    complete: bool = False
    _repeats: Counter[tuple[str, str]] = field(default_factory=Counter)

    @contextmanager
    def attempt(self, kind: Kind, name: str, file: Path) -> Iterator[None]:
        """What goes wrong inside is told of `name`, and of it alone."""
        try:
            yield
        except SciagentError as error:
            self.refuse(kind, name, Path(error.path) if error.path is not None else file, error.message)
        except ValidationError as error:
            self.refuse(kind, name, file, fault(error))
        except UnsafeFile as error:
            self.refuse(kind, name, file, str(error))
        except (ValueError, OverflowError, RecursionError) as error:  # hostile values that no model has caught
            self.refuse(kind, name, file, f"can't be read: {error}")
        except OSError as error:
            self.refuse(kind, name, Path(error.filename or file), f"can't be read or written: {error.strerror}")

    def refuse(self, kind: Kind, name: str, file: Path, reason: str) -> None:
        """Note that `name` does not come in, because of `file`."""
        self.refused.append(Refused(kind, one_line(name, 200), one_line(str(file), 500), one_line(reason, _MAX_REASON)))
        self.tell(f"refused {kind} {self.refused[-1].name}")

    def add(self, kind: Kind, name: str, place: Path, *notes: str) -> None:
        """Note that `name` came in at `place`."""
        shown = tuple(one_line(note, _MAX_REASON) for note in notes)
        self.loaded.append(Loaded(kind, name, place.relative_to(self.target).as_posix(), shown))
        self.tell(f"{kind} {name}")

    def counts(self) -> dict[Kind, tuple[int, int]]:
        """How many came in and how many did not, by kind; kinds of which there are none are left out."""
        came, stayed = Counter(x.kind for x in self.loaded), Counter(x.kind for x in self.refused)
        return {kind: (came[kind], stayed[kind]) for kind in KINDS if came[kind] or stayed[kind]}

    # ---- one of each kind

    def free(self, *parts: str) -> Path:
        """A place below the target for something new.

        Raises:
            SciagentError: something is there, or a part that can't be a name.
        """
        for part in parts:
            if not _PLAIN.fullmatch(part):
                raise SciagentError(f"{one_line(part, 80)!r} can't be the name of a file or folder here")
        place = self.target.joinpath(*parts)
        if os.path.lexists(place):
            raise SciagentError("exists already: import into another folder, or remove it first", path=place)
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def write_labels(self, dataset: str, labels: Sequence[Label], *notes: str, name: str | None = None) -> None:
        """Write `labels/<name>.jsonl` (name: the data set's where none is given), a label a line."""
        place = self.free("labels", f"{name or dataset}.jsonl")
        lines = (json.dumps(label.as_json(), ensure_ascii=False) + "\n" for label in labels)
        write_atomically(place, "".join(lines))
        raters = len({(label.rater.kind, label.rater.name) for label in labels})
        told = f"{counted(len(labels), 'label')} of {counted(raters, 'rater')}"
        self.add("labels", name or dataset, place, told, *notes)

    def write_rubric(self, rubric: Rubric, *notes: str) -> None:
        """Write `rubrics/<id>.yaml`."""
        place = self.free("rubrics", f"{rubric.id}.yaml")
        write_atomically(place, as_yaml(rubric))
        self.add("rubric", rubric.id, place, f"{len(rubric.criteria)} criteria", *notes)

    def write_task(self, id: str, files: Mapping[str, bytes], *notes: str) -> None:
        """Write `tasks/<id>/` with these files, whole or not at all, after reading every document of it.

        Raises:
            SciagentError: a document that is not what it should be.
        """
        place = self.free("tasks", id)
        with tempfile.TemporaryDirectory(dir=place.parent, prefix=".importing-") as temporary:
            folder = Path(temporary) / id
            (folder / "data").mkdir(parents=True)
            for name, data in files.items():
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            Task.load(folder).check()
            folder.rename(place)
        self.add("task", id, place, *notes)

    def freeze(self, workspace: Path, options: FreezeOptions, *notes: str) -> Path:
        """Freeze `workspace` as `runs/<system>/<task>`, or as the next repeat of it; gives the run's folder.

        Raises:
            SciagentError: as `runs.freeze.freeze`.
        """
        name, task = options.system.name, options.task_id
        repeat = self._repeats[name, task] + 1
        suffix = "" if repeat == 1 else f".r{repeat}"
        if os.path.lexists(self.target / "runs" / name / f"{task}{suffix}"):
            self._repeats[name, task] = repeat  # an earlier import has brought this one
        place = self.free("runs", name, f"{task}{suffix}")
        # No values of the user's own environment are looked for: these logs were written elsewhere.
        frozen = freeze(workspace, place, replace(options, repeat=repeat), {})
        self._repeats[name, task] = repeat
        masked = [f"{frozen.masked} secrets masked in logs"] if frozen.masked else []
        told = [warning for warning in frozen.warnings if warning not in frozen.gaps]
        self.add("run", frozen.run.label, place, *notes, *told, *masked)
        return place

    def write_json(self, kind: Kind, name: str, parts: Sequence[str], content: Any, *notes: str) -> None:
        """Write JSON below the target."""
        place = self.free(*parts)
        write_atomically(place, json_text(content))
        self.add(kind, name, place, *notes)

    def as_json(self) -> dict[str, Any]:
        """The whole account, as plain data."""
        return {
            "schema": "sciagent-import/1",
            "complete": self.complete,
            "counts": {kind: {"loaded": a, "refused": b} for kind, (a, b) in self.counts().items()},
            "loaded": [{"kind": x.kind, "name": x.name, "place": x.place, "notes": list(x.notes)} for x in self.loaded],
            "refused": [{"kind": x.kind, "name": x.name, "file": x.file, "reason": x.reason} for x in self.refused],
            "notes": self.notes,
        }


@contextmanager
def staged(files: Iterable[tuple[str, bytes, float | None]]) -> Iterator[Path]:
    """A workspace made of files (path, bytes, time of change or None), for as long as it is frozen."""
    folder = Path(tempfile.mkdtemp(prefix="sciagent-import-"))
    try:
        (folder / "output").mkdir()
        for name, data, mtime in files:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            if mtime is not None:
                os.utime(path, (mtime, mtime))
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


_OTHER_LINE_ENDS = re.compile("[\x85\u2028\u2029]")


class _Dumper(yaml.SafeDumper):
    """Quotes what our own reading of YAML would take for a number, and escapes line ends that it would fold."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if _OTHER_LINE_ENDS.search(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
_Dumper.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$"),
    list("-+.0123456789"),
)


def as_yaml(model: Model) -> str:
    """A document of ours as YAML that is read back as it was; what has its default value is left out."""
    data = model.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    if "schema_" in type(model).model_fields:
        data = {"schema": model.model_dump(include={"schema_"})["schema_"], **data}
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text
