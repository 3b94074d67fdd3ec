"""Criteria 4.1 to 4.3: two separate sets, the check executed on the second, the rule fixed before its result."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from ..models import Citation
from ..text import one_line
from . import columns as c
from .base import CheckContext, CheckResult, decided, not_assessed
from .looked import among
from .records import Separation, has_result
from .scope import Result
from .times import Event, script_name
from .values import is_number, listed

_SHA256 = re.compile(r"[0-9a-f]{64}")
_SHOWN = 6
_EXIT_CODES = ("exit_code", "exit_codes", "returncode", "returncodes", "exit_status")
_NAMES_A_FILE = ("path", "file", "artifact", "name", "filename")


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
        why = separation.provenance[1]
        return decided(0, f"There is no separate set: {why[:1].lower()}{why[1:]}", "no_separate_set", facts)
    fixed, opened, final = separation.fixed, separation.opened, separation.final
    if fixed is None or opened is None:
        reason = _no_time("the claim was fixed", "rule_fixed_at", separation)
        if fixed is not None:
            reason = _no_time("the check was executed", "opened_at", separation)
        return decided(0, reason, "no_recorded_times", facts)
    stored = [one for one in separation.tied if one.path == opened.path and has_result(one)]
    if not stored:
        reason = f"{opened.path} says when the check was executed, but no number or decision stands beside it."
        return decided(0, reason, "no_check_result", facts)
    problem = _order_problem(separation, fixed, opened)
    if final is not None:
        facts["final_claim"] = final.fact
    if problem is not None:
        return decided(0, problem, "times_out_of_order", facts)
    if exits or hashes:
        what = f"a step failed: {exits[0]}" if exits else f"a recorded hash differs from its artifact: {hashes[0]}"
        return decided(0, f"The check was recorded, but {what}.", "failed_step" if exits else "hash_differs", facts)
    if final is None or context.run.manifest.started_at is None:
        reason = "The run's own start and end are not recorded (freeze: --started-at, --finished-at)."
        return not_assessed(reason, "run_times_unknown", facts)
    share = steps.share
    if steps.critical_missing or share < 0.5:
        undone = next(step for step in (*steps.critical, *steps.required) if step not in steps.completed)
        reason = f"A deciding step, or more than half of the steps, was not done, such as {one_line(undone, 80)!r}."
        return decided(0, reason, "steps_missing", facts)
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
    outside = [e for e in (fixed, opened) if e is not None and separation.outside_run(e.moment)]
    ordered = fixed is not None and opened is not None and fixed.moment.before(opened.moment)
    before = ordered and not outside
    decisions = separation.decisions
    facts: dict[str, JsonValue] = {
        **separation.scope.link_facts,
        **separation.time_facts,
        **({"times_outside_the_run": [event.fact for event in outside]} if outside else {}),
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
        parts.append(f"the decision {words!r} is stored in {stored.result.path}")
        cited.append(separation.scope.citation(stored.result, *stored.needles))
    reason = "; ".join(parts)
    if before and decisions:
        return decided(1, _sentence(reason), "order_and_decision", facts, tuple(cited))
    if parts:
        missing = (
            "no decision for the held-out result is stored" if before else "no times show that the rule came first"
        )
        if outside:
            missing = f"the time {outside[0].moment.text} in {outside[0].path} lies outside the run"
        code = "order_only" if before else "decision_only"
        return decided(0.5, _sentence(f"{reason}; {missing}"), code, facts, tuple(cited))
    nothing = "No times put a rule before a held-out result, and no decision of one is stored"
    such_as = "keys rule_fixed_at, then opened_at and decision, with the times in ISO 8601"
    return decided(0, f"{nothing}; looked at {among(separation.tied)}. What would do: {such_as}.", "neither", facts)


def _no_time(what: str, key: str, separation: Separation) -> str:
    nothing = f"No record of the finding says when {what}; looked at {among(separation.tied)}"
    return f"{nothing}. What would do: a key {key} with the time in ISO 8601."


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


def _failed_exits(separation: Separation) -> list[str]:
    """Scripts of the check whose last logged run failed, and exit codes in records that are not 0."""
    found = []
    for path in separation.check_scripts:
        runs = [entry for entry in separation.log if entry.runs(script_name(path)) and entry.exit_code is not None]
        if runs and runs[-1].exit_code != 0:
            found.append(f"{path} ended with exit code {runs[-1].exit_code}")
    for result in separation.tied:
        for place, node in result.objects[:2_000]:
            for key, value in node.items():
                if "_".join(c.words(key)) in _EXIT_CODES:
                    codes = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
                    found += [f"{result.path}{place}/{key}: {code}" for code in codes if is_number(code) and code != 0]
    return found


def _wrong_hashes(separation: Separation) -> list[str]:
    """Files whose recorded SHA-256 is not that of the frozen file."""
    found = []
    for result in separation.tied:
        for _, node in result.objects[:2_000]:
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
        for _, node in result.objects[:2_000]:
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
