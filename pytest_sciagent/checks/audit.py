"""The leak audit: whether a run shows the source study, the hidden half of its task, or reads from elsewhere.

It tells what it found and where, and no more: a hit is a fact for the judge of criterion 5.1 and for people. Reference
values are what an honest analysis arrives at, so a value alone is no hit; written into code beforehand, or under the
hidden half's own name for it, it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import PurePosixPath

from pydantic import JsonValue

from ..evidence.artifacts import MAX_TEXT_BYTES, Artifacts
from ..models import FileEntry
from ..runs import Run, UnsafeFile
from ..tasks import Task
from ..tasks.leaks import Hidden, Leak, LeakKind, Lines, passage
from .base import CheckContext, CheckResult
from .columns import vocabulary
from .commands import Action, actions, decoded_lines, fetched_by, fetched_in_code, opened_in_code, read_by, written_by

MAX_HITS = 500
MAX_TOLD = 12
_CODE = ("analysis_source", "notebook")
_DATA = vocabulary(".csv .tsv .parquet .feather .npy .npz .h5 .hdf5 .mat .xlsx .png .jpg .jpeg .gif .tif .tiff")
_HIDDEN_FILE = re.compile(
    r"hidden[/\\](?:(?:reference|source|provenance|prior_art)\.yaml|verify\b|holdout\b)"
    r"|sciagent-(?:reference|source|provenance|prior-art)/\d"
)
_SYSTEM = ("/dev/", "/usr/", "/bin/", "/sbin/", "/lib", "/opt/", "/nix/", "/sys/", "/etc/os-release")
_YEAR = r"((?:1[89]|20)\d\d)"
_NAME = r"[A-Z][A-Za-zÀ-ÿ'’-]+"
_CITED = (
    re.compile(rf"{_NAME},?\s+et\s+al\.?,?\s+\(?{_YEAR}[a-z]?\b"),
    re.compile(rf"{_NAME}\s+(?:and|&)\s+{_NAME},?\s+\({_YEAR}[a-z]?\)"),
    re.compile(rf"\({_NAME}(?:\s+(?:and|&)\s+{_NAME}|\s+et\s+al\.?)?,\s+{_YEAR}[a-z]?\)"),
    re.compile(rf"{_NAME},\s+(?:[A-Z]\.\s*){{1,3}}.{{0,200}}?\({_YEAR}[a-z]?\)"),
    re.compile(rf"\byear\s*=\s*[{{\"']?{_YEAR}\b"),
    re.compile(rf"(?:doi\.org/|doi:\s*)10\.\d{{4,9}}/.{{0,120}}?[(\s,]{_YEAR}\b"),
)
_NOT_NAMES = vocabulary(
    "January February March April May June July August September October November December Spring Summer Autumn Fall"
    " Winter Season Seasons Year Years Table Figure Section Finding"
)
_ARXIV_ID = re.compile(r"arxiv[:\s./a-z]{0,12}(\d{2})(\d{2})\.\d{4,5}", re.IGNORECASE)


@dataclass(frozen=True)
class Audit:
    """What was found, sorted by file and line; the files that were read, and those that could not be, with why."""

    leaks: tuple[Leak, ...]
    read: tuple[str, ...]
    unread: tuple[str, ...]


def audit(artifacts: Artifacts, task: Task) -> Audit:
    """Search every readable file of a run and all file names."""
    run, hidden = artifacts.run, Hidden(task)
    found: list[Leak] = []
    read: list[str] = []
    unread: list[str] = []
    inside = _Inside(run, task)
    for entry in run.manifest.files:
        name = Lines([(0, entry.path)])
        found += (Leak(x.kind, x.file, None, x.what, entry.path) for x in hidden.sources(entry.path, name))
        if entry.role == "figure" and not entry.path.endswith((".svg", ".pdf")):
            continue
        try:
            text = artifacts.readable(entry.path)[:MAX_TEXT_BYTES]
        except UnsafeFile as error:
            unread.append(str(error))
            continue
        read.append(entry.path)
        found += _in_text(entry, text, hidden, task)
        found += _done(entry, text, inside)
    ordered = sorted(dict.fromkeys(found), key=lambda leak: (leak.file, leak.line or 0, leak.kind, leak.what))
    return Audit(tuple(ordered[:MAX_HITS]), tuple(read), tuple(unread))


def _in_text(entry: FileEntry, text: str, hidden: Hidden, task: Task) -> Iterator[Leak]:
    path = entry.path
    lines = Lines(decoded_lines(text)) if entry.role == "log" else Lines.of(text)
    yield from hidden.sources(path, lines)
    for number, line in lines.lines:
        match = _HIDDEN_FILE.search(line)
        if match is not None:
            yield Leak("hidden file", path, number, f"names {match[0]}", passage(line, match[0]))
    if PurePosixPath(path).suffix.lower() in _DATA:
        return
    yield from hidden.cited_authors(path, lines)
    yield from hidden.keys(path, lines)
    if entry.role in _CODE:
        yield from _written_values(path, lines, hidden)
    t0 = task.manifest.t0
    if entry.role != "result" and t0 is not None:
        yield from _late(path, lines, t0)


def _written_values(path: str, lines: Lines, hidden: Hidden) -> Iterator[Leak]:
    """Reference values written into code: one of four significant digits, or two different ones of three."""
    long = list(hidden.values(path, lines, 4))
    short = list(hidden.values(path, lines, 3))
    if len({leak.what.split(" = ")[0] for leak in short}) > 1:
        long += short
    yield from dict.fromkeys(long)


def _late(path: str, lines: Lines, t0: str) -> Iterator[Leak]:
    """Citations of what was certainly published on or after T0. A year counts from its first day."""
    first = date.fromisoformat(t0)
    for number, line in lines.lines:
        for pattern in _CITED:
            for match in pattern.finditer(line[:20_000]):
                names = re.findall(_NAME, match[0])
                year = int(match[1])
                if date(year, 1, 1) >= first and _NOT_NAMES.isdisjoint(names[:1]):
                    yield Leak("late literature", path, number, f"cites {year}, T0 is {t0}", passage(line, match[0]))
        for match in _ARXIV_ID.finditer(line):
            year, month = 2000 + int(match[1]), int(match[2])
            if 1 <= month <= 12 and date(year, month, 1) >= first:
                what = f"arXiv id of {year}-{month:02}, T0 is {t0}"
                yield Leak("late literature", path, number, what, passage(line, match[0]))


# ---- what was done


def _done(entry: FileEntry, text: str, inside: _Inside) -> Iterator[Leak]:
    """Reads from outside the workspace and from a network, by what a log or code says."""
    path = entry.path
    if path.startswith("logs/"):
        yield from _by_log(path, actions(text), inside)
    elif entry.role in _CODE:
        for number, opened in opened_in_code(text):
            if not opened.startswith("../") and inside.is_outside(opened):
                yield Leak("outside read", path, number, f"opens {opened}", passage(text.split("\n")[number - 1]))
        for number, call in fetched_in_code(text):
            yield Leak("network read", path, number, f"calls {call}", passage(text.split("\n")[number - 1], call))


def _by_log(path: str, done: Iterable[Action], inside: _Inside) -> Iterator[Leak]:
    for action in done:
        if action.kind == "write":
            inside.write(action.text)
        elif action.kind == "network":
            yield Leak("network read", path, action.line, "a tool of the harness", passage(action.text))
        elif action.kind == "read":
            if inside.is_outside(action.text):
                yield Leak("outside read", path, action.line, f"reads {action.text}", passage(action.text))
        else:
            for fetched in fetched_by(action.text):
                yield Leak("network read", path, action.line, "a command", passage(fetched))
            made = list(written_by(action.text))
            for target in read_by(action.text):
                if target not in made and inside.is_outside(target):
                    what = f"reads {target}"
                    yield Leak("outside read", path, action.line, what, passage(action.text, target))
            for target in made:
                inside.write(target)


class _Inside:
    """What belongs to a run: its workspace, its own files, the task's data, and what it wrote elsewhere itself."""

    def __init__(self, run: Run, task: Task) -> None:
        session = run.manifest.session
        self._workspace = session.workspace if session is not None else None
        names = [*run.files, *(file.path for file in task.manifest.files)]
        self._names = {PurePosixPath(name).name for name in names}
        self._names |= {"CONTRACT.md", "PROMPT.md", "objective.md", "DATA_GUIDE.md", "task.json", "validate.py"}
        self._written: set[str] = set()

    def write(self, path: str) -> None:
        self._written.add(path.rstrip("/"))

    def is_outside(self, path: str) -> bool:
        """Whether a path that was read leads out of the workspace, to a file that is not the run's own."""
        plain = path.rstrip("/*")
        if not plain.startswith(("/", "~", "../", "./..")) or PurePosixPath(plain).name in ("", "..", "~"):
            return False
        if self._workspace is not None and plain.startswith("/"):
            home = str(PurePosixPath(self._workspace).parent)
            if plain == self._workspace or plain.startswith((f"{self._workspace}/", f"{home}/home/")):
                return False
        elif plain.startswith("/") and re.search(r"/(?:workspace|work)(?:/|$)", plain):
            return False
        if plain.startswith(_SYSTEM):
            return False
        written = any(plain == known or plain.startswith(f"{known}/") for known in self._written)
        return not written and PurePosixPath(plain).name not in self._names


# ---- as facts


def leak_facts(context: CheckContext) -> CheckResult | None:
    """5.1: what the audit found, for the judge; None where there is nothing to tell, so that no question changes."""
    if context.task is None:
        return None
    found = _audited(context.artifacts, context.task).leaks
    if not found:
        return None
    told: list[JsonValue] = [
        {"kind": leak.kind, "place": leak.place, "what": leak.what, "passage": leak.passage}
        for leak in found[:MAX_TOLD]
    ]
    facts: dict[str, JsonValue] = {"leak_audit": told, "leak_audit_hits": counts(found)}
    return CheckResult("facts", "The leak audit found something.", "leak_audit", facts=facts)


@lru_cache(maxsize=2)
def _audited(artifacts: Artifacts, task: Task) -> Audit:
    """The findings of a run share one audit; their checks come one after the other, so that two are kept at most."""
    return audit(artifacts, task)


def counts(leaks: Iterable[Leak]) -> dict[str, JsonValue]:
    """How many hits there are of each kind."""
    found: dict[LeakKind, int] = {}
    for leak in leaks:
        found[leak.kind] = found.get(leak.kind, 0) + 1
    return {kind: found[kind] for kind in sorted(found)}
