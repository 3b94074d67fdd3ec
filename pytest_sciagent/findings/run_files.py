"""The files of one run, found by the many ways in which a report may name them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import islice

import bracex

MAX_MATCHES = 200  # files that one folder, glob or brace pattern may mean
MAX_SCANNED = 20_000  # files that a pattern is compared with
OUTPUT, LOGS = "output", "logs"
INPUTS = frozenset({"data", "literature"})  # a task's own folders, beside `output/` in the agent's workspace

_WILD = re.compile(r"[*?]|\[.+\]", re.DOTALL)
_NESTED_BRACES = re.compile(r"\{[^{}]*\{")
_DRIVE = re.compile(r"[A-Za-z]:(?=/)")


class _Names:
    """Paths that are found by their whole name, by their last components, or by the folder above them."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.all = sorted(set(paths))
        self._known = frozenset(self.all)
        self._by_end = sorted((_end(path), path) for path in self.all)

    def __contains__(self, path: object) -> bool:
        return path in self._known

    def ending_with(self, name: str) -> list[str]:
        """The paths whose last components are `name`: none, the only one, or two of several."""
        key = _end(name)
        at = bisect_left(self._by_end, (key, ""))
        return [path for end, path in self._by_end[at : at + 2] if end.startswith(key)]

    def below(self, folder: str) -> list[str]:
        """The first paths below `folder`, at any depth."""
        at = bisect_left(self.all, f"{folder}/")
        return [path for path in self.all[at : at + MAX_MATCHES] if path.startswith(f"{folder}/")]


def _folders(paths: Iterable[str]) -> set[str]:
    """The folders above `paths`, down to `.`."""
    found: set[str] = set()
    for path in paths:
        while path != "." and (path := path.rpartition("/")[0] or ".") not in found:
            found.add(path)
    return found


def _end(path: str) -> str:
    """`path` from its last component to its first, each closed, so that `a.py` is never the end of `data.py`."""
    return "".join(f"{part}/" for part in reversed(path.split("/")))


class RunFiles:
    """The frozen files of a run, without its logs, and the report among them, where relative names start.

    `others` are files that may be spoken of but are no artifacts: the logs and the task's inputs.
    """

    def __init__(self, paths: Sequence[str], report_path: str, others: Iterable[str] = ()) -> None:
        logs = [path for path in paths if path.startswith(f"{LOGS}/")]
        paths = [path for path in paths if not path.startswith(f"{LOGS}/")]
        self._others = frozenset(path.rpartition("/")[2] for path in [*logs, *others])
        self.report = report_path
        self._home = report_path.rpartition("/")[0]
        self._files = _Names(paths)
        self._folders = _Names(_folders(paths))

    def find(self, name: str, previous: str = "") -> list[str]:
        """The files that `name` means, a file or a folder; none where it means nothing or could mean several.

        `previous` is the folder that was spoken of last: a base name that several files share means the one there.
        """
        parts, is_foreign = components(name)
        if not parts:
            return []
        path = self._place(self._files, parts, previous, is_foreign)
        if path is not None:
            return [path]
        if len(parts) == 1 and not name.endswith("/"):
            return []
        folder = self._place(self._folders, parts, previous, is_foreign)
        if folder in (None, OUTPUT, self._home):  # "below output/" names nothing in particular
            return []
        return self._without_report(self._files.below(folder))

    def matching(self, pattern: str) -> list[str]:
        """The files that a glob (`*`, `?`, `[..]`, `**`) matches, from any folder on."""
        parts, _ = components(pattern)
        if OUTPUT in parts:
            parts = parts[parts.index(OUTPUT) :]
        if not _is_telling(parts):
            return []
        if pattern.endswith("/"):
            parts = [*parts, "**"]
        found = (path for path in islice(self._files.all, MAX_SCANNED) if _matches(["**", *parts], path.split("/")))
        return self._without_report(list(islice(found, MAX_MATCHES + 1)))[:MAX_MATCHES]

    def is_other(self, parts: list[str]) -> bool:
        """Whether the path of these components, which is no file of the run, is a log or an input of the task."""
        is_input = OUTPUT not in parts and not INPUTS.isdisjoint(parts)
        return is_input or parts[0] == LOGS or parts[-1] in self._others

    def _place(self, names: _Names, parts: list[str], previous: str, is_foreign: bool) -> str | None:
        name = "/".join(parts)
        alike = names.ending_with(name)
        places = [name, f"{OUTPUT}/{name}", f"{self._home}/{name}", f"{previous}/{name}"]
        if len(parts) == 1 and len(alike) > 1:
            places.insert(1, places.pop())
        for place in places:
            if place in names:
                return place
        if len(alike) == 1:
            return alike[0]
        if is_foreign and (OUTPUT in parts or INPUTS.isdisjoint(parts)):
            for start in range(1, len(parts)):
                alike = names.ending_with("/".join(parts[start:]))
                if len(alike) == 1:
                    return alike[0]
        return None

    def _without_report(self, paths: list[str]) -> list[str]:
        return [path for path in paths if path != self.report]


def components(name: str) -> tuple[list[str], bool]:
    """The components of a path as written, and whether it starts outside the run (`/workspace/..`, `../`, `~/`)."""
    name = _DRIVE.sub("", name.replace("\\", "/"), count=1)
    parts: list[str] = []
    for part in name.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    is_foreign = name.startswith(("/", "../", "./", "~")) or OUTPUT in parts[1:]
    return parts, is_foreign


def is_pattern(name: str) -> bool:
    """Whether `name` is a glob."""
    return _WILD.search(name) is not None


def expand_braces(name: str) -> list[str]:
    """The names that `name` stands for; none where its braces are nested or stand for more than `MAX_MATCHES`."""
    if "{" not in name:
        return [name]
    if _NESTED_BRACES.search(name):
        return []
    try:
        return bracex.expand(name, limit=MAX_MATCHES)
    except (bracex.ExpansionLimitException, ValueError):
        return []


def _is_telling(parts: list[str]) -> bool:
    """Whether a pattern says more than "any file" or `x*y`: `output/**` and `F*` don't, `*.csv` and `f1_*` do."""
    own = "/".join(part for part in parts if part != OUTPUT)
    letters = sum(character.isalnum() for character in own)
    return letters >= 3 or (letters > 0 and any(mark in own for mark in "/._-"))


def _matches(pattern: list[str], parts: list[str]) -> bool:
    if pattern[-1] != "**" and not fnmatchcase(parts[-1], pattern[-1]):
        return False
    at = _past_stars({0}, pattern)
    for part in parts:
        at = {
            i if pattern[i] == "**" else i + 1
            for i in at
            if i < len(pattern) and (pattern[i] == "**" or fnmatchcase(part, pattern[i]))
        }
        at = _past_stars(at, pattern)
    return len(pattern) in at


def _past_stars(at: set[int], pattern: list[str]) -> set[int]:
    """`at` with the places behind each `**`, which may match nothing."""
    reached = set(at)
    for i in sorted(at):
        while i < len(pattern) and pattern[i] == "**":
            i += 1
            reached.add(i)
    return reached
