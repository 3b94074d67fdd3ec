"""What belongs to a finding: its code, its results, and the part of each shared result that is its own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import PurePosixPath
from typing import Any

from pydantic import JsonValue

from ..evidence.artifacts import Artifacts
from ..evidence.json_data import json_tables
from ..evidence.readers import Artifact, Table, Unreadable, needs_isolation
from ..models import Citation, Finding
from ..runs import UnsafeFile
from .base import CheckContext
from .code import Source, Spot
from .keys import finding_label, is_finding_column
from .notebooks import notebook_results
from .run_code import CODE_ROLES, MAX_CODE_BYTES, RunCode
from .syntax import MAX_QUOTE
from .values import is_number, json_objects, listed

MAX_TABLE_COLUMNS = 200
_STORES = ("result", "notebook")
_KEY_LIST = re.compile(r"\s?\(((?:`[^`\n]{1,80}`(?:,? and |, ?)?)+)\)")


@dataclass(frozen=True)
class Result:
    """A result artifact. `data` and `tables` hold only the part that belongs to the finding.

    `link`: how the finding leads to it: `named` in its section, `code` (its code writes or reads it), or `shared`
    (named in a part of the report that all findings share). `labels`: numbers of findings that rows or keys carry.
    """

    path: str
    artifact: Artifact
    tables: tuple[Table, ...]
    data: Any
    link: str
    labels: frozenset[int] = frozenset()

    @property
    def quotable(self) -> bool:
        return not needs_isolation(self.path)

    @cached_property
    def objects(self) -> list[tuple[str, dict[str, Any]]]:
        """The objects of a JSON document, as `json_objects` finds them: most checks look at each."""
        return list(json_objects(self.data))

    @property
    def is_empty(self) -> bool:
        """Whether nothing of it belongs to the finding."""
        return bool(self.labels) and not self.data and not any(table.rows for table in self.tables)

    def quote(self, *needles: str) -> str:
        """A passage of the file with all `needles` on its first line, else its first lines."""
        lines = (self.artifact.text or "").split("\n")
        wanted = [needle for needle in needles if needle]
        at = next((i for i, line in enumerate(lines) if all(n in line for n in wanted)), 0)
        line = lines[at]
        start = max(0, line.find(wanted[0]) - 40) if wanted and len(line) > MAX_QUOTE else 0
        quote = line[start : start + MAX_QUOTE].strip()
        while len(quote) < 20 and at + 1 < len(lines):
            at += 1
            quote = f"{quote}\n{lines[at].strip()}".strip()[:MAX_QUOTE]
        return quote


@dataclass(frozen=True)
class Stored:
    """Something that a result stores: where (a column or a key), of what kind, how many numbers, and what to quote."""

    result: Result
    where: str
    kind: str
    count: int
    needles: tuple[str, ...] = ()
    labels: tuple[str | float, ...] = ()

    @property
    def fact(self) -> dict[str, JsonValue]:
        return {"path": self.result.path, "where": self.where[:MAX_QUOTE], "kind": self.kind, "values": self.count}


class Scope:
    """Everything that belongs to one finding of one run."""

    def __init__(self, context: CheckContext, finding: Finding, code: RunCode) -> None:
        self.context = context
        self.finding = finding
        self.run = context.run
        self.code = code
        self.numbers = frozenset(f.number for f in context.report.findings)

    # ---- code

    @cached_property
    def named_sources(self) -> list[Source]:
        """The sources that the finding names. One without a statement is none."""
        entries = self.context.artifacts.of(self.finding.artifacts, *CODE_ROLES)
        return [source for source in map(self.code.source, (f.path for f in entries)) if not source.is_empty]

    @cached_property
    def writers(self) -> dict[str, Spot]:
        """The sources that write a result which the finding names, each with the place that names it."""
        return self.writers_of(path for path, _ in self.named_results)

    def writers_of(self, paths: Iterable[str]) -> dict[str, Spot]:
        """The sources that write one of these files: by a call that says so, else by naming it not only to read it."""
        found: dict[str, Spot] = {}
        for path in paths:
            named = [m for m in self.code.mentions(PurePosixPath(path).name) if m[0].path != path and m[1] != "read"]
            sure = [mention for mention in named if mention[1] == "write"]
            for source, _, spot in sure or named:
                found.setdefault(source.path, spot)
        return found

    @cached_property
    def sources(self) -> list[Source]:
        """The finding's code: what it names, what writes its results, and the run's own modules these import."""
        return self.closure([*self.named_sources, *map(self.code.source, self.writers)])

    def closure(self, sources: Iterable[Source]) -> list[Source]:
        """`sources` and the run's own modules that they import, each once."""
        found: dict[str, Source] = {}
        waiting = list(sources)
        while waiting:
            source = waiting.pop(0)
            if source.path not in found:
                found[source.path] = source
                waiting += self.code.helpers(source)
        return list(found.values())

    # ---- results

    @cached_property
    def named_results(self) -> list[tuple[str, Artifact]]:
        """The results that the finding names, can be read and hold something, executed notebooks with outputs among
        them."""
        found: list[tuple[str, Artifact]] = []
        for entry in self.context.artifacts.of(self.finding.artifacts, *_STORES):
            artifact = self.context.artifacts.get(entry.path)
            if artifact is not None and _holds_something(artifact):
                found.append((entry.path, artifact))
        return found

    @cached_property
    def named_unread(self) -> list[str]:
        """The results that the finding names and that can't be read or are empty, each with the reason."""
        usable = {path for path, _ in self.named_results}
        entries = self.context.artifacts.of(self.finding.artifacts, "result")
        paths = [entry.path for entry in entries if entry.path not in usable]
        return [f"{path}: {self.context.artifacts.why_not(path) or 'empty'}" for path in paths]

    @cached_property
    def results(self) -> list[Result]:
        """The readable results of this finding, each cut to its own part: those it names, and those whose rows or keys
        carry its number."""
        return [r for r in self.records if r.link == "named" or self.finding.number in r.labels]

    @cached_property
    def records(self) -> list[Result]:
        """The results that the finding names, then those its code names, then those that shared parts of the report
        name."""
        paths = {path: "named" for path, _ in self.named_results}
        known = [entry.path for entry in self.run.with_role("result") if entry.path not in paths]
        paths |= {path: "code" for path in known if self._is_named_by_code(path)}
        shared = [path for mention in self.context.report.shared_mentions for path in mention.paths]
        paths |= {f.path: "shared" for f in self.context.artifacts.of(shared, "result") if f.path not in paths}
        return self.read(paths)

    def read(self, links: dict[str, str]) -> list[Result]:
        """The readable results at these paths, by how the finding leads to them, without those of other findings."""
        read = [(path, link, self.context.artifacts.get(path)) for path, link in links.items()]
        own = [self._own(path, artifact, link) for path, link, artifact in read if artifact is not None]
        return [result for result in own if result is not None and not result.is_empty]

    def _is_named_by_code(self, path: str) -> bool:
        sources = {source.path for source in self.sources}
        return any(source.path in sources for source, _, _ in self.code.mentions(PurePosixPath(path).name))

    def _own(self, path: str, artifact: Artifact, link: str) -> Result | None:
        labels: set[int] = set()
        if artifact.kind == "json":
            keys = self._named_keys(path) if link == "named" else frozenset()
            is_part = isinstance(artifact.data, dict) and not keys.isdisjoint(artifact.data)
            data = self._prune(_only(artifact.data, keys) if is_part else artifact.data, labels)
            tables = tuple(json_tables(data)) if labels or is_part else artifact.tables
            return Result(path, artifact, tuple(map(_narrowed, tables)), data, link, frozenset(labels))
        if artifact.kind == "notebook":
            try:
                printed, documents = notebook_results(self.run.read_bytes(path, MAX_CODE_BYTES))
            except (UnsafeFile, Unreadable):
                return None
            printed = tuple(map(_narrowed, printed))
            return Result(path, artifact, printed, documents, link)
        tables = tuple(self._own_rows(_narrowed(table), labels) for table in artifact.tables)
        return Result(path, artifact, tables, None, link, frozenset(labels))

    def _named_keys(self, path: str) -> frozenset[str]:
        """The keys that the finding lists in brackets wherever it names the file: "`all.json` (`slope`, `control`)"."""
        text = self.finding.section.text
        keys: set[str] = set()
        for mention in self.finding.mentions:
            for found in re.finditer(f"`{re.escape(mention.text)}`", text) if path in mention.paths else ():
                listed_keys = _KEY_LIST.match(text, found.end())
                if listed_keys is None:
                    return frozenset()
                keys |= set(re.findall(r"`([^`]+)`", listed_keys[1]))
        return frozenset(keys)

    def _own_rows(self, table: Table, labels: set[int]) -> Table:
        """`table` without the rows that a column gives to other findings; the findings it names go to `labels`."""
        labels |= {number for name in table.columns if (number := self._finding_of(name)) is not None}
        column = next((name for name in table.columns if is_finding_column(name)), None)
        if column is None:
            return table
        kept = []
        for index, cell in enumerate(table.column(column)):
            number = self._finding_of(cell)
            labels |= set() if number is None else {number}
            if number in (None, self.finding.number):
                kept.append(index)
        raws = None if table.raws is None else tuple(table.raws[i] for i in kept)
        return replace(table, rows=tuple(table.rows[i] for i in kept), raws=raws)

    def _finding_of(self, label: object) -> int | None:
        """The finding of this report that a key or cell names."""
        number = finding_label(label) if isinstance(label, str) else label if is_number(label) else None
        return number if number in self.numbers else None

    def _prune(self, data: Any, labels: set[int]) -> Any:
        """`data` without what is labelled with other findings; the findings it names go to `labels`."""
        if isinstance(data, dict):
            kept = {}
            for key, value in data.items():
                number = self._finding_of(key) if isinstance(value, dict | list | str | bool) else None
                labels |= set() if number is None else {number}
                if number in (None, self.finding.number):
                    kept[key] = self._prune(value, labels)
            return kept
        if isinstance(data, list):
            rows = []
            for item in data:
                label = (
                    next((v for k, v in item.items() if is_finding_column(k)), None) if isinstance(item, dict) else None
                )
                number = self._finding_of(label)
                labels |= set() if number is None else {number}
                if number in (None, self.finding.number):
                    rows.append(self._prune(item, labels))
            return rows
        return data

    # ---- what a receipt says

    def citation(self, stored: Result, *needles: str) -> Citation:
        """A passage of a result; where its format can't be quoted, the words with which the finding names it."""
        if stored.quotable:
            return Citation(file=stored.path, quote=stored.quote(*needles))
        return self.mention_of(stored.path)

    def mention_of(self, path: str) -> Citation:
        """The line of the finding's section that names `path`."""
        texts = [mention.text for mention in self.finding.mentions if path in mention.paths]
        line = next((x for x in self.finding.section.text.split("\n") if any(t in x for t in texts)), "")
        start = max(0, line.find(texts[0]) - 60) if texts and len(line) > MAX_QUOTE else 0
        return Citation(file=self.run.manifest.report or "", quote=line[start : start + MAX_QUOTE].strip())

    @cached_property
    def link_facts(self) -> dict[str, JsonValue]:
        """How the finding leads to its code and results."""
        facts: dict[str, JsonValue] = {
            "analysis_source_paths": listed(source.path for source in self.named_sources),
            "result_artifact_paths": listed(path for path, _ in self.named_results),
        }
        linked = [spot.fact for path, spot in self.writers.items() if path not in self.finding.artifacts]
        if linked:
            facts["sources_linked_through_results"] = listed(linked)
        own = {*(s.path for s in self.named_sources), *self.writers}
        helpers = [source.path for source in self.sources if source.path not in own]
        if helpers:
            facts["imported_helpers"] = listed(helpers)
        not_python = [source.path for source in self.sources if not source.is_python]
        if not_python:
            facts["read_by_tokenizer_only"] = listed(not_python)
        broken = [f"{s.path}: {s.problem}" for s in self.sources if s.is_python and s.tree is None]
        if broken:
            facts["not_parsed"] = listed(broken)
        if self.named_unread:
            facts["not_read"] = listed(self.named_unread)
        wide = [path for path, a in self.named_results if any(len(t.columns) > MAX_TABLE_COLUMNS for t in a.tables)]
        if wide:
            facts[f"only_first_{MAX_TABLE_COLUMNS}_columns_looked_at"] = listed(wide)
        return facts


def _holds_something(artifact: Artifact) -> bool:
    """Whether a result is one: with rows, values or text; a notebook with outputs of a cell that was executed."""
    if artifact.kind == "notebook":
        return bool(artifact.facts.get("outputs") and artifact.facts.get("executed_cells"))
    if artifact.kind == "json":
        return artifact.data not in ({}, [], "", None)
    if artifact.kind == "table":
        return any(table.rows for table in artifact.tables)
    return artifact.text is None or bool(artifact.text.strip())


def _narrowed(table: Table) -> Table:
    """`table` with its first columns: pairs of columns are compared, and an agent decides how many there are."""
    if len(table.columns) <= MAX_TABLE_COLUMNS:
        return table
    raws = None if table.raws is None else tuple(row[:MAX_TABLE_COLUMNS] for row in table.raws)
    rows = tuple(row[:MAX_TABLE_COLUMNS] for row in table.rows)
    return replace(table, columns=table.columns[:MAX_TABLE_COLUMNS], rows=rows, raws=raws)


def _only(data: dict[str, Any], keys: frozenset[str]) -> dict[str, Any]:
    """`data` without the objects and lists under other keys."""
    return {key: value for key, value in data.items() if key in keys or not isinstance(value, dict | list)}


def scope_of(context: CheckContext) -> Scope:
    """The scope of the context's finding, made once for all its checks.

    Raises:
        ValueError: the context is that of a whole run.
    """
    if context.finding is None:
        raise ValueError("this criterion is of a finding, not of a whole run")
    code, scopes = _made(context.artifacts)
    if context.finding.id not in scopes:
        scopes[context.finding.id] = Scope(context, context.finding, code)
    return scopes[context.finding.id]


@lru_cache(maxsize=2)
def _made(artifacts: Artifacts) -> tuple[RunCode, dict[str, Scope]]:
    """The code of a run, and its findings' scopes so far. A run's checks come one after the other: two are kept."""
    return RunCode(artifacts), {}
