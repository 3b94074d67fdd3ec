"""The records of a finding's check on separate data: its sets, its times, and the decisions they store."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePosixPath

from pydantic import JsonValue

from ..runs import MANIFEST
from . import columns as c
from . import keys as k
from .base import CheckContext
from .code import Source, Spot
from .looked import among, through
from .patterns import complement_spot, overlap_spot, set_spots
from .scope import Result, Scope, Stored, scope_of
from .second_stage import Released
from .sets import Overlap, Sets, find_sets
from .times import Event, LogEntry, Moment, events, log_entries, moment, script_name
from .values import is_number, listed

_SHOWN = 6


@dataclass
class Separation:
    """What a finding's code and records say about its check on separate data."""

    context: CheckContext
    scope: Scope = field(init=False)

    def __post_init__(self) -> None:
        self.scope = scope_of(self.context)

    # ---- the two sets

    @cached_property
    def tied(self) -> list[Result]:
        """The records that belong to this finding; see `_is_tied`."""
        return [result for result in self.scope.records if self._is_tied(result)]

    @cached_property
    def sources(self) -> list[Source]:
        """The finding's code, with the code that writes its records."""
        writers = self.scope.writers_of(result.path for result in self.tied)
        return self.scope.closure([*self.scope.sources, *map(self.scope.code.source, writers)])

    @cached_property
    def records(self) -> list[Result]:
        """The finding's records, with the results that the code of its records names."""
        known = {result.path for result in self.scope.records}
        own = {source.path for source in self.sources}
        more = {}
        for entry in self.context.run.with_role("result"):
            naming = {s.path for s, _, _ in self.scope.code.mentions(PurePosixPath(entry.path).name)}
            if entry.path not in known and naming & own:
                more[entry.path] = "code"
        return [*self.scope.records, *self.scope.read(more)]

    @cached_property
    def released(self) -> Released | None:
        """The hold-out of a second stage, where the finding has a result written since it was handed out."""
        stage = self.context.run.manifest.stage
        if stage is None:
            return None
        files = self.context.run.files
        since = [r for r in self.tied if not stage.holds(r.path, files[r.path].sha256) and has_result(r)]

        def rank(result: Result) -> int:
            """Results of the hold-out say that it was opened; a rule is none."""
            roles = {event.role for event in self.events_by_path[result.path]}
            return 0 if "opened" in roles else 2 if "fixed" in roles else 1

        result = min(since, key=rank, default=None)
        return None if result is None else Released(stage, self.context.run, result)

    @cached_property
    def sets(self) -> Sets:
        found = find_sets(self.records)
        if self.released is None:
            return found
        return replace(found, overlaps=(*found.overlaps, self.released.overlap))

    @cached_property
    def set_code(self) -> dict[k.SetRole, Spot]:
        found: dict[k.SetRole, Spot] = {}
        for source in self.sources:
            found = {**set_spots(source), **found}
        return found

    @cached_property
    def identified(self) -> Stored | None:
        """Where a result identifies both sets, by name or, where the code takes all the rest, by the left-out unit."""
        computed = [overlap.stored for overlap in self.sets.overlaps if overlap.how != "stored"]
        if computed or self.sets.both:
            return (*computed, *self.sets.both)[0]
        rest = any(complement_spot(source) for source in self.sources)
        return self.sets.left_out[0] if self.sets.left_out and rest else None

    @cached_property
    def provenance(self) -> tuple[float, str, str, Overlap | None]:
        """Level, reason, reason code and the overlap that decided, of criterion 4.1."""
        if len(self.set_code) < 2:
            return 0, self._no_split_code(), "no_split_code", None
        if self.identified is None:
            what = "a column split that says train or heldout, or the ids or ranges of both under such names"
            reason = f"No result of the finding identifies both sets; looked at {among(self.records)}"
            return 0, f"{reason}. What would do: {what}.", "no_split_result", None
        shares = next((overlap for overlap in self.sets.overlaps if overlap.shared > 0), None)
        if shares is not None:
            where = f"{shares.stored.result.path} ({shares.how}, {shares.stored.where})"
            return 0, f"The two sets share members: {shares.shared:g} by {where}.", "sets_overlap", shares
        none = next((overlap for overlap in self.sets.overlaps if overlap.how != "stored"), None)
        if none is None and any(overlap_spot(source) for source in self.sources):
            none = next(iter(self.sets.overlaps), None)
        where = f"{self.identified.result.path} ({self.identified.where})"
        if none is not None:
            return (
                1,
                f"Code and results name both sets, and they share no member: {none.how} in {where}.",
                "disjoint",
                none,
            )
        reason = f"Code and results name both sets ({where}), but no overlap is calculated from ids"
        return 0.5, f"{reason}. What would do: a result with the ids or ranges of both.", "no_overlap_result", None

    def _no_split_code(self) -> str:
        one = next(iter(self.set_code.values()), None)
        found = f" and found one alone, {one.fact}" if one is not None else ""
        claim = "No code of the finding makes or loads one set to form the claim and one to check it"
        looked = f"{claim}; looked through {through(self.sources)}{found}"
        return f"{looked}. What would do: two sets with names such as train and heldout."

    @cached_property
    def set_facts(self) -> dict[str, JsonValue]:
        facts: dict[str, JsonValue] = {
            **self.scope.link_facts,
            "split_source_found": {role: spot.fact for role, spot in self.set_code.items()},
            "split_results": [one.fact for one in (*self.sets.both, *self.sets.left_out)[:_SHOWN]],
            "overlaps": [
                {"shared": o.shared, "how": o.how, "path": o.stored.result.path, "form_and_check": list(o.members)}
                for o in self.sets.overlaps[:_SHOWN]
            ],
        }
        linked = [f"{r.path} ({r.link})" for r in self.records if r.link != "named"]
        return facts | ({"records_linked": listed(linked)} if linked else {})

    # ---- records of this finding

    @cached_property
    def _others_artifacts(self) -> set[str]:
        others = [f for f in self.context.report.findings if f.id != self.scope.finding.id]
        return {path for other in others for path in other.artifacts}

    def _is_tied(self, result: Result) -> bool:
        """Whether a record speaks of this finding and not of the whole run only.

        By the finding's number in keys or rows; else by the label of a rule that the finding's section quotes; else the
        finding names the record, or its code does and no other finding names that code.
        """
        if result.labels:
            return self.scope.finding.number in result.labels
        labels = _rule_labels(result)
        if labels:
            quoted = any(self.quotes(label) for label in labels)
            return quoted or (result.link == "named" and result.path not in self._others_artifacts)
        if result.link == "code":
            naming = {s.path for s, _, _ in self.scope.code.mentions(PurePosixPath(result.path).name)}
            own = {source.path for source in self.scope.named_sources}
            return bool(naming & own) and not naming & self._others_artifacts
        return result.link == "named"

    def quotes(self, label: str) -> bool:
        """Whether the finding's section quotes the label of a rule, or a shared line gives the rule to the finding."""
        pattern = re.compile(rf"(?<![\w.]){re.escape(label)}(?![A-Za-z0-9])")
        if pattern.search(self.scope.finding.section.text):
            return True
        finding = re.compile(rf"\b(?:finding\s+|F){self.scope.finding.number}(?!\d)", re.IGNORECASE)
        lines = (line for section in self.context.report.shared for line in section.text.split("\n"))
        return any(len(line) < 300 and pattern.search(line) and finding.search(line) for line in lines)

    # ---- times

    @cached_property
    def events_by_path(self) -> dict[str, list[Event]]:
        """The times of all records, also of those that are not tied to the finding."""
        return {result.path: events(result) for result in self.records}

    @cached_property
    def events(self) -> list[Event]:
        found = [event for result in self.tied for event in self.events_by_path[result.path]]
        if self.released is not None:
            found = self.released.events(found)
        strong = {event.role for event in found if not event.weak}
        return [event for event in found if not event.weak or event.role not in strong]

    @cached_property
    def fixed(self) -> Event | None:
        """When the rule was fixed: the latest time that says so."""
        return max((e for e in self.events if e.role == "fixed"), key=lambda e: e.moment.start, default=None)

    @cached_property
    def opened(self) -> Event | None:
        """When the held-out data or their result were first opened, by the records."""
        return min((e for e in self.events if e.role == "opened"), key=lambda e: e.moment.start, default=None)

    @cached_property
    def log(self) -> list[LogEntry]:
        return log_entries(self.context.artifacts)

    @cached_property
    def check_scripts(self) -> list[str]:
        """The scripts that write the records which say when the check was opened."""
        opened = {e.path for e in self.events if e.role == "opened"}
        fixed = {e.path for e in self.events if e.role == "fixed"} - opened
        return sorted(self.scope.writers_of(opened).keys() - self.scope.writers_of(fixed).keys())

    @cached_property
    def logged_opening(self) -> Event | None:
        """The first logged command that ran a script of the check, alone: without the script that fixed the rule."""
        rules = [path for path, found in self.events_by_path.items() if {event.role for event in found} == {"fixed"}]
        fixers = self.scope.writers_of(rules).keys() - set(self.check_scripts)
        for entry in sorted((e for e in self.log if e.moment), key=lambda e: e.moment.start):  # type: ignore[union-attr]
            ran = [path for path in self.check_scripts if entry.runs(script_name(path))]
            if ran and entry.moment and not any(entry.runs(script_name(path)) for path in fixers):
                return Event("opened", entry.moment, entry.path, f"line {entry.line} runs {ran[0]}", entry.quote)
        return None

    @cached_property
    def first_opening(self) -> Event | None:
        """The earlier of what records and logs say."""
        known = [event for event in (self.opened, self.logged_opening) if event is not None]
        return min(known, key=lambda event: event.moment.start, default=None)

    @cached_property
    def final(self) -> Event | None:
        """When the final claim was written: a record, the last logged command that wrote the report, the report's own
        time of change, or at the latest the end of the run."""
        recorded = max((e for e in self.events if e.role == "final"), key=lambda e: e.moment.start, default=None)
        if recorded is not None:
            return recorded
        manifest = self.context.run.manifest
        report = manifest.report or ""
        name = PurePosixPath(report).name
        wrote = [e for e in self.log if e.moment and name and e.writes(name)]
        if wrote and wrote[-1].moment:
            return Event(
                "final", wrote[-1].moment, wrote[-1].path, f"line {wrote[-1].line} writes {name}", wrote[-1].quote
            )
        end, changed = moment(manifest.finished_at), moment(self.context.run.files[report].mtime if report else None)
        if changed is not None and end is not None and changed.start <= end.end and not self.outside_run(changed):
            return Event("final", changed, report, "time of change")
        return Event("final", end, MANIFEST, "finished_at") if end is not None else None

    def outside_run(self, when: Moment) -> bool:
        """Whether `when` lies outside the run's recorded start and end."""
        manifest = self.context.run.manifest
        start, end = moment(manifest.started_at), moment(manifest.finished_at)
        return (start is not None and when.before(start)) or (end is not None and end.before(when))

    @cached_property
    def time_facts(self) -> dict[str, JsonValue]:
        manifest = self.context.run.manifest
        known = {"rule_fixed": self.fixed, "opened": self.opened, "opened_by_log": self.logged_opening}
        return {
            "run": [manifest.started_at, manifest.finished_at],
            **{name: event.fact for name, event in known.items() if event is not None},
            "records": listed(f"{result.path} ({result.link})" for result in self.tied),
        }

    # ---- decisions

    @cached_property
    def decisions(self) -> list[tuple[Stored, str]]:
        """The decisions that the finding's records store for the held-out result, each with its words."""
        rules = {e.path for e in self.events if e.role == "fixed"}
        opened = {e.path for e in self.events if e.role == "opened"}
        readers = self._readers_of(rules - opened)
        found: list[tuple[Stored, str]] = []
        for result in self.tied:
            if result.path in rules - opened:
                continue
            by_rule = bool(self.scope.writers_of([result.path]).keys() & readers)
            found += _decisions(result, self, whole=result.path in opened or by_rule)
        return found

    def _readers_of(self, paths: set[str]) -> set[str]:
        names = [PurePosixPath(path).name for path in paths]
        return {source.path for name in names for source, use, _ in self.scope.code.mentions(name) if use == "read"}


def _rule_labels(result: Result) -> set[str]:
    found = (
        {label for _, node in result.objects[:2_000] for key in node if (label := k.rule_label(key))}
        if result.data
        else set()
    )
    for table in result.tables if result.data is None else ():
        for name in table.columns:
            labels = [k.rule_label(cell) if isinstance(cell, str) else None for cell in table.column(name)[:2_000]]
            if labels and None not in labels:
                found |= {label for label in labels if label}
    return found


def _decisions(result: Result, separation: Separation, whole: bool) -> Iterator[tuple[Stored, str]]:
    """The decisions in a record; where it is not `whole` about the check, those that stand with the second set."""
    labels = {label for label in _rule_labels(result) if separation.quotes(label)}
    for place, node in result.objects:
        for key, value in node.items():
            steps = (*place.split("/"), key)
            label = next((x for x in map(k.rule_label, steps) if x), None)
            belongs = label in labels if labels else True
            about_check = whole or any(k.set_role(step) == "check" for step in steps)
            if belongs and about_check and k.is_decision(key, value) and moment(value) is None:
                yield Stored(result, f"{place}/{key}", "decision", 1, (f'"{key}"',)), str(value)
    for table in result.tables if result.data is None else ():
        for row in table.rows[:5_000]:
            texts = [cell for cell in row if isinstance(cell, str)]
            label = next((x for x in map(k.rule_label, texts) if x), None)
            belongs = label in labels if labels else True
            if not belongs or not (whole or any(k.set_role(text) == "check" for text in texts)):
                continue
            for name, cell in zip(table.columns, row, strict=True):
                if k.is_decision(name, cell) and set(c.words(name)) & k.DECIDING:
                    needles = (str(row[0]), str(cell)) if isinstance(cell, str) else (name,)
                    yield Stored(result, f"column {name}", "decision", 1, needles), str(cell)


def has_result(result: Result) -> bool:
    """Whether a record stores a number or a decision besides its times."""
    if result.data is None:
        return any(is_number(cell) for table in result.tables for row in table.rows for cell in row)
    return any(
        is_number(v) or (isinstance(v, list) and any(map(is_number, v))) or k.is_decision(key, v)
        for _, node in result.objects
        for key, v in node.items()
        if moment(v) is None
    )
