"""Criteria 4.1 to 4.3: two separate sets, the check executed on the second, the rule fixed before its result."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from pydantic import JsonValue

from ..models import Citation
from . import columns as c
from .base import Check, CheckContext, CheckResult, decided, not_assessed
from .code import Source, Spot
from .patterns import complement_spot, overlap_spot, set_spots
from .scope import Result, Scope, Stored, is_number, json_objects, listed
from .sets import Overlap, Sets, find_sets
from .times import Event, LogEntry, Moment, events, log_entries, moment, script_name

_SHA256 = re.compile(r"[0-9a-f]{64}")
_SHOWN = 6
_NAMES_A_FILE = ("path", "file", "artifact", "name", "filename")


@dataclass
class Separation:
    """What a finding's code and records say about its check on separate data."""

    context: CheckContext
    scope: Scope = field(init=False)

    def __post_init__(self) -> None:
        self.scope = Scope(self.context)

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
    def sets(self) -> Sets:
        return find_sets(self.records)

    @cached_property
    def set_code(self) -> dict[c.SetRole, Spot]:
        found: dict[c.SetRole, Spot] = {}
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
            return (
                0,
                "No code of the finding makes or loads one set to form the claim and one to check it.",
                "no_split_code",
                None,
            )
        if self.identified is None:
            return 0, "No result of the finding identifies both sets.", "no_split_result", None
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
        return (
            0.5,
            f"Code and results name both sets ({where}), but no overlap is calculated from ids.",
            "no_overlap_result",
            None,
        )

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
    def events(self) -> list[Event]:
        return [event for result in self.tied for event in events(result)]

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
        fixers = self.scope.writers_of({e.path for e in self.events if e.role == "fixed"}).keys() - set(
            self.check_scripts
        )
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
        wrote = [e for e in self.log if e.moment and name and re.search(rf">\s*\S*{re.escape(name)}", e.command)]
        if wrote and wrote[-1].moment:
            return Event(
                "final", wrote[-1].moment, wrote[-1].path, f"line {wrote[-1].line} writes {name}", wrote[-1].quote
            )
        end, changed = moment(manifest.finished_at), moment(self.context.run.files[report].mtime if report else None)
        if changed is not None and end is not None and changed.start <= end.end and not self.outside_run(changed):
            return Event("final", changed, report, "time of change", "", "mtime")
        return Event("final", end, "run.json", "finished_at", "", "log") if end is not None else None

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
        {label for _, node in json_objects(result.data, 2_000) for key in node if (label := c.rule_label(key))}
        if result.data
        else set()
    )
    for table in result.tables if result.data is None else ():
        for name in table.columns:
            labels = [c.rule_label(cell) if isinstance(cell, str) else None for cell in table.column(name)[:2_000]]
            if labels and None not in labels:
                found |= {label for label in labels if label}
    return found


def _decisions(result: Result, separation: Separation, whole: bool) -> Iterator[tuple[Stored, str]]:
    """The decisions in a record; where it is not `whole` about the check, those that stand with the second set."""
    labels = {label for label in _rule_labels(result) if separation.quotes(label)}
    for place, node in json_objects(result.data) if result.data is not None else ():
        for key, value in node.items():
            steps = (*place.split("/"), key)
            label = next((x for x in map(c.rule_label, steps) if x), None)
            belongs = label in labels if labels else True
            about_check = whole or any(c.set_role(step) == "check" for step in steps)
            if belongs and about_check and c.is_decision(key, value) and moment(value) is None:
                yield Stored(result, f"{place}/{key}", "decision", 1, (f'"{key}"',)), str(value)
    for table in result.tables if result.data is None else ():
        for row in table.rows[:5_000]:
            texts = [cell for cell in row if isinstance(cell, str)]
            label = next((x for x in map(c.rule_label, texts) if x), None)
            belongs = label in labels if labels else True
            if not belongs or not (whole or any(c.set_role(text) == "check" for text in texts)):
                continue
            for name, cell in zip(table.columns, row, strict=True):
                if c.is_decision(name, cell) and set(c.words(name)) & c.DECIDING:
                    needles = (str(row[0]), str(cell)) if isinstance(cell, str) else (name,)
                    yield Stored(result, f"column {name}", "decision", 1, needles), str(cell)


# ---- criteria


def provenance(context: CheckContext) -> CheckResult:
    """4.1: two named sets in code and results, and their overlap calculated to be zero."""
    separation = Separation(context)
    level, reason, code, overlap = separation.provenance
    if not level or separation.identified is None:
        return decided(0, reason, code, separation.set_facts)
    stored = overlap.stored if overlap is not None else separation.identified
    citations = [separation.scope.citation(stored.result, *stored.needles)]
    citations += [spot.citation for spot in separation.set_code.values()]
    return decided(level, reason, code, separation.set_facts, tuple(citations))


def execution(context: CheckContext) -> CheckResult:
    """4.2: the check was executed between the fixing of the claim and the final claim, with a stored result."""
    separation = Separation(context)
    steps = _steps(separation.tied)
    exits = _failed_exits(separation)
    hashes = _wrong_hashes(separation)
    facts: dict[str, JsonValue] = {
        **separation.set_facts,
        **separation.time_facts,
        "required_steps": listed(steps.required),
        "completed_steps": listed(steps.completed),
        "failed_exit_codes": listed(exits),
        "hashes_that_differ": listed(hashes),
    }
    if not separation.provenance[0]:
        return decided(0, f"There is no separate set to check on: {separation.provenance[1]}", "no_separate_set", facts)
    fixed, opened, final = separation.fixed, separation.opened, separation.final
    if fixed is None or opened is None:
        missing = "when the claim was fixed" if fixed is None else "when the check was executed"
        return decided(0, f"No record of the finding says {missing}.", "no_recorded_times", facts)
    stored = [one for one in separation.tied if one.path == opened.path and _has_result(one)]
    if not stored:
        return decided(
            0, f"{opened.path} says when the check was executed but stores no result.", "no_check_result", facts
        )
    problem = _order_problem(separation, fixed, opened)
    if final is not None:
        facts["final_claim"] = final.fact
    if problem is not None:
        return decided(0, problem, "times_out_of_order", facts)
    if exits or hashes:
        what = f"a step failed: {exits[0]}" if exits else f"a recorded hash differs from its artifact: {hashes[0]}"
        return decided(0, f"The check was recorded, but {what}.", "failed_step" if exits else "hash_differs", facts)
    if final is None or context.run.manifest.started_at is None:
        return not_assessed("The run's own start and end are not recorded.", "run_times_unknown", facts)
    share = steps.share
    if steps.critical_missing or share < 0.5:
        return decided(0, "A deciding step, or more than half of the steps, was not done.", "steps_missing", facts)
    cited = (fixed.citation, opened.citation, separation.scope.citation(stored[0]))
    times = f"at {opened.moment.text} ({opened.path}), after the claim was fixed at {fixed.moment.text}"
    reason = f"The check was executed {times}"
    if share < 1:
        return decided(0.5, f"{reason}, with {share:.0%} of the listed steps.", "steps_partly_done", facts, cited)
    return decided(1, f"{reason}, and its result is stored.", "check_executed", facts, cited)


def prefrozen_decision(context: CheckContext) -> CheckResult:
    """4.3: the rule was fixed before the held-out result was opened, and its decision is stored."""
    separation = Separation(context)
    fixed, opened = separation.fixed, separation.first_opening
    before = fixed is not None and opened is not None and fixed.moment.before(opened.moment)
    decisions = separation.decisions
    facts: dict[str, JsonValue] = {
        **separation.scope.link_facts,
        **separation.time_facts,
        "prefrozen_order_found": before,
        "decisions": [{**one.fact, "decision": words[:80]} for one, words in decisions[:_SHOWN]],
        "decision_output_found": bool(decisions),
    }
    cited: list[Citation] = []
    parts = []
    if before and fixed is not None and opened is not None:
        parts.append(f"the rule was fixed at {fixed.moment.text} and the result opened at {opened.moment.text}")
        cited += [fixed.citation, opened.citation]
    if decisions:
        stored, words = decisions[0]
        parts.append(f"{stored.result.path} stores the decision {words!r}")
        cited.append(separation.scope.citation(stored.result, *stored.needles))
    reason = "; ".join(parts)
    if before and decisions:
        return decided(1, _sentence(reason), "order_and_decision", facts, tuple(cited))
    if parts:
        missing = (
            "no decision for the held-out result is stored" if before else "no times show that the rule came first"
        )
        code = "order_only" if before else "decision_only"
        return decided(0.5, _sentence(f"{reason}; {missing}"), code, facts, tuple(cited))
    return decided(
        0, "No times put a rule before a held-out result, and no decision of one is stored.", "neither", facts
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _order_problem(separation: Separation, fixed: Event, opened: Event) -> str | None:
    if not fixed.moment.before(opened.moment):
        return f"The claim was fixed at {fixed.moment.text}, not before the check at {opened.moment.text}."
    for event, what in ((fixed, "fixing of the claim"), (opened, "check")):
        if separation.outside_run(event.moment):
            return f"The recorded time of the {what} ({event.moment.text}) lies outside the run."
    if separation.final is not None and separation.final.moment.before(opened.moment):
        return f"The final claim ({separation.final.moment.text}) was written before the check ({opened.moment.text})."
    return None


def _has_result(result: Result) -> bool:
    """Whether a record stores a number or a decision besides its times."""
    if result.data is None:
        return any(is_number(cell) for table in result.tables for row in table.rows for cell in row)
    return any(
        is_number(v) or (isinstance(v, list) and any(map(is_number, v))) or c.is_decision(key, v)
        for _, node in json_objects(result.data)
        for key, v in node.items()
        if moment(v) is None
    )


def _failed_exits(separation: Separation) -> list[str]:
    """Scripts of the check whose last logged run failed, and exit codes in records that are not 0."""
    found = []
    for path in separation.check_scripts:
        runs = [entry for entry in separation.log if entry.runs(script_name(path)) and entry.exit_code is not None]
        if runs and runs[-1].exit_code != 0:
            found.append(f"{path} ended with exit code {runs[-1].exit_code}")
    for result in separation.tied:
        for place, node in json_objects(result.data, 2_000) if result.data is not None else ():
            for key, value in node.items():
                if {"exit", "returncode"} & set(c.words(key)):
                    codes = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
                    found += [f"{result.path}{place}/{key}: {code}" for code in codes if is_number(code) and code != 0]
    return found


def _wrong_hashes(separation: Separation) -> list[str]:
    """Files whose recorded SHA-256 is not that of the frozen file."""
    found = []
    for result in separation.tied:
        for _, node in json_objects(result.data, 2_000) if result.data is not None else ():
            pairs = {k: v for k, v in node.items() if isinstance(v, str) and _SHA256.fullmatch(v)}
            name = next((node[k] for k in _NAMES_A_FILE if isinstance(node.get(k), str)), None)
            for key, digest in pairs.items():
                path = _frozen(separation, key) or (_frozen(separation, name) if name else None)
                if path is not None and separation.context.run.files[path].sha256 != digest:
                    found.append(f"{path} (recorded in {result.path})")
    return found


def _frozen(separation: Separation, name: str) -> str | None:
    """The one frozen file that ends with `name`."""
    paths = [p for p in separation.context.run.files if p == name or p.endswith(f"/{name}")] if "." in name else []
    return paths[0] if len(paths) == 1 else None


@dataclass(frozen=True)
class _Steps:
    required: tuple[str, ...]
    completed: tuple[str, ...]
    critical: tuple[str, ...]

    @property
    def share(self) -> float:
        done = [step for step in self.required if step in self.completed]
        return len(done) / len(self.required) if self.required else 1.0

    @property
    def critical_missing(self) -> bool:
        return any(step not in self.completed for step in self.critical)


def _steps(records: Sequence[Result]) -> _Steps:
    """The steps of the check that records list as required and as completed."""
    lists: dict[str, tuple[str, ...]] = {"required": (), "completed": (), "critical": ()}
    for result in records:
        for _, node in json_objects(result.data, 2_000) if result.data is not None else ():
            for key, value in node.items():
                words = set(c.words(key))
                role = _step_role(words) if isinstance(value, list) and {"step", "steps"} & words else None
                if role is not None:
                    lists[role] = tuple(map(str, value))
                elif words == {"steps"} and isinstance(value, list):
                    named = [item for item in value if isinstance(item, dict) and _step_name(item)]
                    lists["required"] = tuple(_step_name(item) for item in named)
                    lists["completed"] = tuple(_step_name(item) for item in named if _is_done(item))
                    lists["critical"] = tuple(_step_name(item) for item in named if item.get("critical") is True)
    return _Steps(**lists)


def _step_role(words: set[str]) -> str | None:
    if "critical" in words:
        return "critical"
    if words & {"completed", "done", "executed"}:
        return "completed"
    return "required" if words & {"required", "planned"} else None


def _step_name(item: dict[str, Any]) -> str:
    return str(next((item[k] for k in ("id", "name", "step") if item.get(k)), ""))


def _is_done(item: dict[str, Any]) -> bool:
    status = str(item.get("status", "")).lower()
    return (
        item.get("done") is True
        or item.get("exit_code") == 0
        or status in ("done", "completed", "ok", "success", "succeeded")
    )


CHECKS: dict[str, Check] = {
    "separated_validation.provenance": provenance,
    "separated_validation.execution": execution,
    "separated_validation.prefrozen_decision": prefrozen_decision,
}
