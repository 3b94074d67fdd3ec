"""Criteria 1.1 and 1.3: the identity of the inputs, the way from a finding to its artifacts, and its execution."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic import JsonValue

from ..models import Citation
from ..text import one_line
from .base import NOT_RECALCULATED, CheckContext, CheckResult, decided, not_assessed, waiting
from .looked import unlinked
from .scope import Scope, scope_of
from .times import LogEntry, log_entries, script_name
from .values import MAX_LISTED, listed

_RESULT = "output/results/fit.csv"


def data_identity(context: CheckContext) -> CheckResult:
    """1.1: the inputs are those of the task before and after the run, and the finding leads to code and results."""
    scope = scope_of(context)
    facts = dict(scope.link_facts)
    if context.task is None:
        task_id = one_line(context.run.manifest.task_id, 80)
        reason = f"The task {task_id} of this run is not known, so its inputs can't be compared (--sciagent-tasks)."
        return not_assessed(reason, "task_unknown", facts)
    inputs = context.run.manifest.inputs
    if inputs.before is None or inputs.after is None:
        reason = "The inputs were not hashed before and after the run: sciagent run does, freeze takes --inputs-before."
        return not_assessed(reason, "inputs_not_hashed", facts)
    registered = {_in_data(file.path): file.sha256 for file in context.task.manifest.files}
    problems = []
    for when, hashes in (("before", inputs.before), ("after", inputs.after)):
        problems += [f"{path} ({when}): {what}" for path, what in _differences(registered, hashes)]
    facts |= {"input_integrity_passed": not problems, "input_problems": listed(problems), "inputs": len(registered)}
    if problems:
        return decided(0, f"The inputs are not those of the task: {problems[0]}.", "inputs_differ", facts)
    if not scope.sources:
        return _no_source(scope, facts)
    source = _source_citation(scope)
    if not scope.named_results:
        why = unlinked(scope, "result", _RESULT)
        reason = f"The inputs are intact and the finding leads to {source.file}, but to no result: {why}."
        return decided(0.5, reason, "no_result", facts, (source,))
    path = scope.named_results[0][0]
    reason = f"The inputs are intact, and the finding leads to {source.file} and to {path}."
    return decided(1, reason, "traceable", facts, (source, _result_citation(scope)))


def execution_receipt(context: CheckContext) -> CheckResult:
    """1.3: the run completed, and the finding leads to code and results; in full with a recomputation behind it."""
    scope = scope_of(context)
    manifest = context.run.manifest
    entries = log_entries(context.artifacts)
    facts: dict[str, JsonValue] = {
        **scope.link_facts,
        "run_status": manifest.status,
        "platform_exit_code": manifest.exit_code,
        **_execution_facts(scope, entries),
    }
    if manifest.exit_code is None:
        facts["exit_code_note"] = "no exit code is recorded: judged by the run's status"
    if manifest.status != "completed" or manifest.exit_code not in (0, None):
        code = "" if manifest.exit_code is None else f" with exit code {manifest.exit_code}"
        return decided(0, f"The run ended as {manifest.status}{code}.", "run_not_completed", facts)
    if not scope.sources:
        return _no_source(scope, facts)
    if not scope.named_results:
        why = unlinked(scope, "result", _RESULT)
        return decided(0, f"The finding leads to no result of the frozen run: {why}.", "no_result", facts)
    source, result = _source_citation(scope), _result_citation(scope)
    found = context.recomputation
    facts["core_recomputation_supports"] = None if found is None else found.supports
    what = f"The run completed and the finding leads to {source.file} and {result.file}"
    if found is not None and found.supports:
        reason = f"{what}; a recomputation from the task's data supports it."
        return decided(1, reason, "executed_and_recomputed", facts, (source, result))
    if found is not None and not found.known:
        return waiting(NOT_RECALCULATED)
    why = "could not be made" if found is None or not found.numbers else "does not confirm it"
    return decided(0.5, f"{what}; a recomputation from the task's data {why}.", "executed", facts, (source, result))


def _no_source(scope: Scope, facts: Mapping[str, JsonValue]) -> CheckResult:
    why = unlinked(scope, "source", "output/code/fit.py")
    return decided(0, f"The finding leads to no analysis source of the frozen run: {why}.", "no_source", facts)


def _in_data(path: str) -> str:
    return path if path.startswith("data/") else f"data/{path}"


def _differences(registered: dict[str, str], hashes: dict[str, str]) -> Iterable[tuple[str, str]]:
    found = {_in_data(path): digest for path, digest in hashes.items()}
    for path, digest in registered.items():
        if path not in found:
            yield path, "missing"
        elif found[path] != digest:
            yield path, "another hash than the task registers"
    for path in sorted(found.keys() - registered.keys()):
        yield path, "not a file of the task"


def _source_citation(scope: Scope) -> Citation:
    """The place of the finding's code that names its result, else the first line of code."""
    named = {source.path for source in scope.named_sources}
    spots = sorted(scope.writers.values(), key=lambda spot: spot.path not in named)
    if spots:
        return spots[0].citation
    source = scope.sources[0]
    first = next((i for i, line in enumerate(source.lines, 1) if line.strip() and not line.lstrip().startswith("#")), 1)
    return source.spot_at(first, "the first line of code").citation


def _result_citation(scope: Scope) -> Citation:
    named = {path for path, _ in scope.named_results}
    result = next((result for result in scope.results if result.path in named), None)
    return scope.citation(result) if result is not None else scope.mention_of(scope.named_results[0][0])


def _execution_facts(scope: Scope, entries: list[LogEntry]) -> dict[str, JsonValue]:
    """What speaks for execution besides the files being there; it does not change the level."""
    scripts = {source.path: script_name(source.path) for source in scope.sources}
    ran = [(path, entry) for path, name in scripts.items() for entry in entries if entry.runs(name)]
    written: dict[str, JsonValue] = {}
    unnamed: list[str] = []
    for path, _ in scope.named_results[: MAX_LISTED * 2]:
        by = scope.writers_of([path])
        if by:
            written[path] = listed(spot.fact for spot in by.values())
        else:
            unnamed.append(path)
    times = {path: scope.run.files[path].mtime for path, _ in scope.named_results[:MAX_LISTED]}
    facts: dict[str, JsonValue] = {
        "results_written_by": written,
        "results_that_no_code_names": listed(unnamed),
        "logged_runs": [{"script": path, **entry.fact} for path, entry in ran[:MAX_LISTED]],
        "result_mtimes_self_declared": dict(times),
    }
    if unnamed and not ran:
        facts["note"] = "no code of the run names these results and no log shows a command that ran the finding's code"
    return facts
