"""Recorded times: read as times, with their precision, from JSON, tables and logs. Almost all are self-declared."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath
from typing import Any

from pydantic import JsonValue

from ..evidence.artifacts import Artifacts
from ..models import Citation
from ..runs import MANIFEST
from .columns import vocabulary, words
from .keys import TimeRole, is_weak_time, time_role
from .scope import Result
from .syntax import MAX_QUOTE
from .values import is_number

MAX_LOG_LINES = 20_000
_ISO = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})(?:[T ](?P<minute>\d{2}:\d{2})(?P<second>:\d{2})?(?P<fraction>[.,]\d{1,9})?)?"
    r"\s*(?P<zone>Z|UTC|[+-]\d{2}:?\d{2})?",
    re.IGNORECASE,
)
_EPOCH = (1e9, 4e9)
_EVENT_KEYS = vocabulary("event name action type stage step what kind label")
_TIME_KEYS = vocabulary("time timestamp ts at when date datetime utc")
_COMMAND_KEYS = ("command", "cmd", "args", "argv", "input")
_EXIT_KEYS = ("exit_code", "returncode", "return_code", "exit", "rc", "exitcode")
MAX_COMMAND = 2_000
_MAX_LOGGED = 200_000
_HEREDOC = re.compile(r"<<-?[ \t]*(['\"]?)(\w+)\1")
_PROGRAM = re.compile(r"(?:python[\d.]*|Rscript|R|julia|node|octave|bash|sh|make|papermill|--execute)$")


@dataclass(frozen=True, slots=True)
class Moment:
    """A recorded time. It lies somewhere from `start` to `end`: a date alone is a whole day."""

    start: datetime
    end: datetime
    text: str

    def before(self, other: Moment) -> bool:
        """Whether this time is surely before `other`."""
        return self.end < other.start


def moment(value: object) -> Moment | None:
    """A time as written: ISO 8601 (UTC where no zone is given), or seconds since 1970. None for anything else."""
    if is_number(value) and _EPOCH[0] <= value < _EPOCH[1]:  # type: ignore[operator]
        start = datetime.fromtimestamp(int(value), UTC)  # type: ignore[call-overload]
        return Moment(start, start + timedelta(seconds=1, microseconds=-1), str(value))
    match = _ISO.fullmatch(value.strip()) if isinstance(value, str) and len(value) < 60 else None
    if match is None:
        return None
    zone = (match["zone"] or "Z").upper().replace("UTC", "Z").replace("Z", "+00:00")
    clock = f"T{match['minute']}{match['second'] or ':00'}" if match["minute"] else "T00:00:00"
    try:
        start = datetime.fromisoformat(f"{match['date']}{clock}{zone}").astimezone(UTC)
        fraction = float(f"0{match['fraction'].replace(',', '.')}") if match["fraction"] else 0.0
        start += timedelta(seconds=fraction)
        width = timedelta(days=1)
        if match["minute"]:
            width = timedelta(minutes=1)
        if match["second"]:
            width = timedelta(milliseconds=1) if match["fraction"] else timedelta(seconds=1)
        return Moment(start, start + width - timedelta(microseconds=1), match[0].strip())
    except (ValueError, OverflowError):
        return None


@dataclass(frozen=True, slots=True)
class Event:
    """A time of a role that matters, and where it stands: in a `line` of a log, or in a result beside `needles`.

    certain: recorded by this program when a second stage was handed out, not by the run.
    """

    role: TimeRole
    moment: Moment
    path: str
    where: str
    line: str = ""
    result: Result | None = None
    needles: tuple[str, ...] = ()
    weak: bool = False
    certain: bool = False

    @property
    def fact(self) -> dict[str, JsonValue]:
        source = "log of the run" if self.line or self.path == MANIFEST else "self-declared"
        source = "handing out of the hold-out" if self.certain else source
        return {"time": self.moment.text, "path": self.path, "where": self.where[:MAX_QUOTE], "source": source}

    @property
    def citation(self) -> Citation:
        """A passage that holds the time."""
        return Citation(file=self.path, quote=self.line if self.result is None else self.result.quote(*self.needles))


def events(result: Result) -> list[Event]:
    """The times that a result records of fixing, opening and finishing."""
    found: list[Event] = []
    if result.data is not None:
        for place, node in result.objects:
            found += _events_of_object(result, place, node)
    if result.artifact.kind != "json":
        for table in result.tables:
            for name in table.columns:
                role = time_role(name)
                values = {str(v): v for v in table.column(name)[:5_000] if v is not None} if role else {}
                for text, value in values.items():
                    when = moment(value)
                    if role is not None and when is not None:
                        weak = is_weak_time(name)
                        where = f"column {name}"
                        found.append(Event(role, when, result.path, where, result=result, needles=(text,), weak=weak))
            if any(name.lower() in _EVENT_KEYS for name in table.columns) and any(map(_is_time_key, table.columns)):
                for row in table.rows[:5_000]:
                    found += _labelled_event(result, table.name, dict(zip(table.columns, row, strict=True)))
    return found


def _events_of_object(result: Result, place: str, node: dict[str, Any]) -> Iterator[Event]:
    """`{"rule_fixed_at": T}`, and `{"event": "rule fixed", "time": T}`."""
    for key, value in node.items():
        role, when = time_role(key), moment(value)
        if role is not None and when is not None:
            needles = (f'"{key}"', when.text)
            weak = is_weak_time(key)
            yield Event(role, when, result.path, f"{place}/{key}", result=result, needles=needles, weak=weak)
    yield from _labelled_event(result, place, node)


def _labelled_event(result: Result, place: str, node: dict[str, Any]) -> Iterator[Event]:
    label = next((v for k, v in node.items() if k.lower() in _EVENT_KEYS and isinstance(v, str)), None)
    when = next((found for k, v in node.items() if _is_time_key(k) and (found := moment(v))), None)
    role = time_role(label) if label is not None and len(label) <= 80 else None
    if label is not None and role is not None and when is not None:
        needles, weak = (label, when.text), is_weak_time(label)
        yield Event(role, when, result.path, f"{place}: {label}", result=result, needles=needles, weak=weak)


def _is_time_key(key: str) -> bool:
    return words(key)[-1:] != () and words(key)[-1] in _TIME_KEYS


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One command that a log records, without the text of its here-documents."""

    path: str
    line: int
    moment: Moment | None
    command: str
    exit_code: int | None
    quote: str

    def runs(self, name: str) -> bool:
        """Whether the command runs the script called `name` (no folders)."""
        if name not in self.command:
            return False
        follows = False  # whether only options stand between a program and the word
        for word in self.command.split():
            for prefix in _before(name, word):
                if (not prefix or prefix.endswith("/")) and (follows or "./" in prefix):
                    return True
            is_option = word.startswith("-") and len(word) > 1
            follows = (follows and is_option) or "nbconvert" in word or _PROGRAM.search(word) is not None
        return False

    def writes(self, name: str) -> bool:
        """Whether the command redirects its output to the file called `name`."""
        redirected = False
        for word in self.command.split():
            if any(redirected or ">" in prefix for prefix in _before(name, word, whole=False)):
                return True
            redirected = word.endswith(">")
        return False

    @property
    def fact(self) -> dict[str, JsonValue]:
        time = self.moment.text if self.moment else None
        return {"log": f"{self.path}:{self.line}", "time": time, "exit_code": self.exit_code}


def _before(name: str, word: str, whole: bool = True) -> Iterator[str]:
    """What stands before each `name` in a word; `whole`: where the name doesn't go on."""
    at = word.find(name)
    while at >= 0:
        following = word[at + len(name) : at + len(name) + 1]
        if not whole or not (following.isalnum() or following in ("_", ".")):
            yield word[:at]
        at = word.find(name, at + 1)


def _without_heredocs(command: str) -> str:
    """A command without the text of its here-documents, at most `MAX_COMMAND` characters of it."""
    lines = command[:_MAX_LOGGED].split("\n")
    ends: defaultdict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        ends[(line.split(maxsplit=1) or [""])[0]].append(number)
    kept: list[str] = []
    waiting = deque(enumerate(lines))
    while waiting:
        number, line = waiting.popleft()
        match = _HEREDOC.search(line)
        stops = ends[match[2]] if match else []
        at = bisect_right(stops, number)
        if match is None or at == len(stops):
            kept.append(line)
            continue
        while waiting and waiting[0][0] < stops[at]:
            waiting.popleft()
        last = waiting.popleft()[1]
        kept.append(line[: match.start()] + last.lstrip().removeprefix(match[2]))
    return "\n".join(kept)[:MAX_COMMAND]


def log_entries(artifacts: Artifacts) -> list[LogEntry]:
    """The commands that the run's logs record: JSON lines with a command, or lines that start with a time."""
    found: list[LogEntry] = []
    for entry in artifacts.run.with_role("log"):
        # The agent writes what it likes below output/.
        artifact = artifacts.get(entry.path) if entry.path.startswith("logs/") else None
        lines = (artifact.text or "").split("\n") if artifact is not None else []
        for number, line in enumerate(lines[:MAX_LOG_LINES], 1):
            parsed = _log_entry(entry.path, number, line)
            if parsed is not None:
                found.append(parsed)
    return found


def _log_entry(path: str, number: int, line: str) -> LogEntry | None:
    text = line.strip()
    if text.startswith("{"):
        try:
            node = json.loads(text)
        except (ValueError, RecursionError):
            return None
        command = next((node[k] for k in _COMMAND_KEYS if node.get(k)), None)
        if isinstance(command, list):
            command = " ".join(map(str, command))
        if not isinstance(command, str):
            return None
        time = next((when for k, v in node.items() if _TIME_KEYS & set(words(k)) and (when := moment(v))), None)
        code = next((node[k] for k in _EXIT_KEYS if isinstance(node.get(k), int)), None)
        return LogEntry(path, number, time, _without_heredocs(command), code, text[:MAX_QUOTE])
    match = _ISO.match(text.lstrip("[("))
    if match is None or not match["minute"]:
        return None
    command = text.lstrip("[(")[match.end() :].lstrip(" ])-:|$>")[:MAX_COMMAND]
    return LogEntry(path, number, moment(match[0]), command, None, text[:MAX_QUOTE]) if command else None


def logged_command(line: str) -> str | None:
    """The command that a line of a plain log holds, after a time or a prompt; None where it holds none."""
    entry = _log_entry("", 0, line)
    if entry is not None:
        return entry.command
    match = re.match(r"\s*(?:\$|\+|>>>|#\s?\$)\s+(\S.*)", line[:_MAX_LOGGED])
    return match[1] if match else None


def script_name(path: str) -> str:
    """The name by which a command runs the file at `path`."""
    return PurePosixPath(path).name
