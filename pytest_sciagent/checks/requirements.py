"""What a criterion requires among a run's artifacts: files, tables with columns, numbers in a range.

A requirement that is not met decides (level 0) or caps (0.5) what the criterion may earn; one that is met earns nothing
by itself where a judge is asked. Names are compared by their words, never prose.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import PurePosixPath

from pydantic import JsonValue

from ..evidence.readers import Artifact, Table
from ..models import Citation, FileEntry
from ..models.requirement import FileRequirement, NumberRequirement, Requirement, TableRequirement
from ..text import one_line
from .base import CheckContext, CheckResult, decided
from .columns import words
from .looked import among, some
from .scope import Result, scope_of
from .syntax import MAX_QUOTE
from .values import as_float, json_objects

MIN_STEM = 3
"""Letters from which on a word of a requirement may also be the beginning of a name's word: `corr` of `correlation`."""
MAX_ROWS = 100_000
MAX_LABEL = 60
MAX_NAMES = 6
"""Words of a requirement that are told."""
NOTE = "files, names and ranges alone were compared; whether this is what the criterion asks for is not told by it"


def names_match(wanted: Collection[str], name: str) -> bool:
    """Whether one of the words stands in `name`."""
    found = words(name)
    return any(word == w or (len(w) >= MIN_STEM and word.startswith(w)) for word in found for w in wanted)


def told(requirement: Requirement) -> str:
    """A requirement in words."""
    if isinstance(requirement, FileRequirement):
        kinds = f" ({', '.join(requirement.suffixes)})" if requirement.suffixes else ""
        return f"{requirement.count} or more files of role {requirement.role}{kinds}"
    if isinstance(requirement, TableRequirement):
        columns = ", ".join(map(_shown, requirement.columns))
        return f"a stored table of {requirement.rows} or more rows with columns {columns}"
    low = "" if requirement.low is None else f" from {requirement.low:g}"
    high = "" if requirement.high is None else f" up to {requirement.high:g}"
    return f"{requirement.count} or more stored numbers{low}{high} under a name with {_shown(requirement.names)}"


def _shown(names: tuple[str, ...]) -> str:
    return "/".join(names[:MAX_NAMES]) + ("/..." if len(names) > MAX_NAMES else "")


def required_artifacts(context: CheckContext) -> CheckResult:
    """The criterion's requirements, looked for among what the finding leads to, or in the whole run without a finding.

    Copies of the task's own files are never looked at.
    """
    material = _Material(context)
    facts: list[JsonValue] = []
    missing, citations = [], []
    for requirement in context.requires:
        place = _find(requirement, material)
        facts.append({"required": told(requirement), "found_in": place})
        if place is None:
            missing.append(requirement)
        elif (citation := material.citation(place)) is not None:
            citations.append(citation)
    given: dict[str, JsonValue] = {"requirements": facts, "note": NOTE}
    if not missing:
        reason = "All that the criterion requires is there: " + "; ".join(map(told, context.requires))
        if context.judged:
            return CheckResult("facts", reason, "requirements_met", facts=given)
        return decided(1, reason, "requirements_met", given, tuple(citations))
    reason = f"Not found: {'; '.join(map(told, missing))}; looked at {material.told(missing)}"
    at_most = min(float(requirement.at_most) for requirement in missing)
    if context.judged and at_most:
        return CheckResult("facts", reason, "requirement_not_met", facts=given, at_most=at_most)
    return decided(at_most, reason, "requirement_not_met", given, tuple(citations))


class _Material:
    """The files and results in which a criterion's requirements are looked for."""

    def __init__(self, context: CheckContext) -> None:
        self.context = context
        inputs = context.task.manifest.files if context.task is not None else ()
        self._copied = {file.sha256 for file in inputs}
        self._scope = scope_of(context) if context.finding is not None else None
        self.results = [r for r in self._all_results() if context.run.files[r.path].sha256 not in self._copied]

    def _all_results(self) -> list[Result]:
        if self._scope is not None:
            return self._scope.records
        artifacts = self.context.artifacts
        found = [(entry.path, artifacts.get(entry.path)) for entry in self.context.run.with_role("result")]
        return [_whole(path, artifact) for path, artifact in found if artifact is not None]

    def files(self, role: str) -> list[FileEntry]:
        """Files of one role that the finding leads to (of the whole run: all)."""
        run = self.context.run
        found = run.with_role(role)
        if self._scope is not None:
            linked = {source.path for source in self._scope.sources} | {result.path for result in self.results}
            shared = [path for m in self.context.report.shared_mentions for path in m.paths]
            linked |= {*self._scope.finding.artifacts, *shared}
            found = [entry for entry in found if entry.path in linked]
        return [entry for entry in found if entry.bytes and entry.sha256 not in self._copied]

    def told(self, missing: Collection[Requirement]) -> str:
        """Where what is missing was looked for."""
        roles = dict.fromkeys(r.role for r in missing if isinstance(r, FileRequirement))
        files = [one_line(entry.path, 80) for role in roles for entry in self.files(role)]
        read = [among(self.results)] if any(not isinstance(r, FileRequirement) for r in missing) else []
        return " and ".join([*([some(files) or f"no file of role {', '.join(roles)}"] if roles else []), *read])

    def citation(self, path: str) -> Citation | None:
        """A passage that shows the file at `path`: of itself, else the line of the report that names it."""
        result = next((r for r in self.results if r.path == path and r.quotable and r.artifact.text), None)
        if result is not None:
            return Citation(file=path, quote=result.quote())
        report = self.context.run.manifest.report
        lines = self.context.artifacts.text(report).split("\n") if report is not None else []
        name = PurePosixPath(path).name
        line = next((line.strip() for line in lines if name in line), None)
        if report is None or line is None:
            return None
        start = max(0, line.find(name) - 60) if len(line) > MAX_QUOTE else 0
        return Citation(file=report, quote=line[start : start + MAX_QUOTE].strip())


def _whole(path: str, artifact: Artifact) -> Result:
    return Result(path, artifact, artifact.tables, artifact.data, "run")


def _find(requirement: Requirement, material: _Material) -> str | None:
    """The file in which the requirement is met (of several files: the first), or None."""
    if isinstance(requirement, FileRequirement):
        files = [
            entry.path
            for entry in material.files(requirement.role)
            if not requirement.suffixes or PurePosixPath(entry.path).suffix.lower() in requirement.suffixes
        ]
        return files[0] if len(files) >= requirement.count else None
    if isinstance(requirement, TableRequirement):
        return next((r.path for r in material.results if any(_has_columns(requirement, t) for t in r.tables)), None)
    count, first = 0, None
    for result in material.results:
        inside = sum(1 for _ in _numbers(requirement, result))
        count, first = count + inside, first or (result.path if inside else None)
        if count >= requirement.count:
            return first
    return None


def _has_columns(requirement: TableRequirement, table: Table) -> bool:
    """Whether the table has a column of its own for each group of words."""
    if len(table.rows) < requirement.rows:
        return False
    fitting = [[n for n, name in enumerate(table.columns) if names_match(group, name)] for group in requirement.columns]
    return _distinct(fitting, frozenset())


def _distinct(fitting: list[list[int]], taken: frozenset[int]) -> bool:
    """Whether one can be chosen of each list, none twice."""
    if not fitting:
        return True
    return any(_distinct(fitting[1:], taken | {one}) for one in fitting[0] if one not in taken)


def _numbers(requirement: NumberRequirement, result: Result) -> Iterator[float]:
    """The stored numbers within the range whose column, key or row is called so."""
    for name, value in _named_numbers(result):
        number = as_float(value)
        if number is None or not names_match(requirement.names, name):
            continue
        if (requirement.low is None or number >= requirement.low) and (
            requirement.high is None or number <= requirement.high
        ):
            yield number


def _named_numbers(result: Result) -> Iterator[tuple[str, object]]:
    """The numbers of a result, each with the words that name it: column and short labels of its row; keys."""
    if result.data is not None:
        for place, node in json_objects(result.data):
            labels = " ".join(v for v in node.values() if isinstance(v, str) and len(v) <= MAX_LABEL)
            for key, value in node.items():
                for one in value if isinstance(value, list) else [value]:
                    yield f"{place[-100:]} {key} {labels}"[-300:], one
    if result.artifact.kind != "json":
        for table in result.tables:
            for row in table.rows[:MAX_ROWS]:
                labels = " ".join(cell for cell in row if isinstance(cell, str) and len(cell) <= MAX_LABEL)
                for column, cell in zip(table.columns, row, strict=True):
                    yield f"{column} {labels}"[:300], cell
