"""Criteria 2.1 to 2.4: uncertainty, repeated runs, changed samples and changed methods, from results and code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from .base import CheckContext, CheckResult, decided
from .code import Source, Spot
from .flow import Flow
from .looked import among, through, unlinked
from .patterns import filter_spots, is_numeric_work, literal_spots, own_functions, sample_spots, uncertainty_spots
from .repeats import RunResults
from .scope import Result, Scope, Stored, scope_of
from .stored import method_changes, sample_changes, uncertainties
from .values import listed

# Which calculations give which stored uncertainty: limits may come from a standard error, an error from a bootstrap.
_GIVES = {
    "interval": frozenset({"interval", "se"}),
    "se": frozenset({"se", "sd", "variance"}),
    "sd": frozenset({"sd", "variance", "se"}),
    "variance": frozenset({"variance", "sd"}),
}
_ENOUGH_RUNS = 3
_RESULT = "output/results/fit.csv"
_RUNS_SUCH_AS = "one row, key or file for each, with its own numbers, such as a column seed or run_id"
_SHOWN = 6


def uncertainty(context: CheckContext) -> CheckResult:
    """2.1: a result of the finding stores an uncertainty, and its code calculates this kind."""
    scope = scope_of(context)
    stored = [one for result in _labelled_first(scope) for one in uncertainties(result)]
    sources = _writers_first(scope, stored)
    own, flow = own_functions(sources), _flow(scope, stored, sources)
    found = [one for source in sources for one in uncertainty_spots(source, own)]
    spots = [(given, spot) for given, spot in found if flow.has(spot)]
    idle = flow.without(spot for _, spot in found)
    exact = next((one for one in stored if any(one.kind in given for given, _ in spots)), None)
    near = next((one for one in stored if any(given & _GIVES[one.kind] for given, _ in spots)), None)
    chosen = exact or near
    matching = []
    if chosen is not None:
        wanted = {chosen.kind} if exact else _GIVES[chosen.kind]
        matching = [spot for given, spot in spots if given & wanted]
        stored = [chosen, *(one for one in stored if one is not chosen)]
    facts = _facts(scope, stored, matching or [spot for _, spot in spots], "uncertainty")
    wants = _Wanted(
        "an uncertainty",
        "columns or keys such as slope_se, or slope_ci_low and slope_ci_high, beside the value",
        "calculates it",
        "a bootstrap, a standard error or a fit's confidence limits",
        "uncertainty",
    )
    return _two_parts(scope, stored, matching, sources, facts, wants, idle)


def replication(context: CheckContext) -> CheckResult:
    """2.2: separate results for distinct seeds or complete runs."""
    scope = scope_of(context)
    runs = RunResults(_task_variables(context))
    for result in scope.results:
        runs.add(result)
    distinct = runs.distinct()
    facts: dict[str, JsonValue] = {
        **scope.link_facts,
        "distinct_full_pipeline_run_ids": listed(distinct),
        "run_count": len(distinct),
        "stored_results": [one.fact for one in list(distinct.values())[:_SHOWN]],
    }
    if len(distinct) < 2:
        reason = _nothing(scope, "separate results of two or more seeds or runs", _RUNS_SUCH_AS)
        return decided(0, reason, "no_repeated_runs", facts)
    level = 1.0 if len(distinct) >= _ENOUGH_RUNS else 0.5
    first = next(iter(distinct.values()))
    reason = f"{len(distinct)} seeds or runs have their own, differing results ({first.where} in {first.result.path})."
    code = "three_runs" if level == 1 else "two_runs"
    return decided(level, reason, code, facts, (scope.citation(first.result, *first.needles),))


def sample_perturbation(context: CheckContext) -> CheckResult:
    """2.3: results for changed samples, and the code that changes the sample."""
    scope = scope_of(context)
    stored = [one for result in _labelled_first(scope) for one in sample_changes(result)]
    sources = _writers_first(scope, stored)
    strong = [one for one in stored if one.kind == "strong"]
    own, flow = own_functions(sources), _flow(scope, stored, sources)
    found = [spot for source in sources for spot in sample_spots(source, own, once=bool(strong))]
    idle = flow.without(found)
    spots = [spot for spot in found if spot not in idle]
    named = strong + ([one for one in stored if one.kind == "weak"] if spots else [])
    if not named and any(one.kind == "subset" for one in stored):
        spots = [spot for source in sources for spot in filter_spots(source) if flow.has(spot)]
        named = [one for one in stored if one.kind == "subset"] if spots else []
    facts = _facts(scope, named, spots, "sample_perturbation")
    unsupported = [one.where for one in stored if one not in named]
    if unsupported:
        facts["labels_without_code"] = listed(unsupported)
    wants = _Wanted(
        "results for changed samples",
        "one row a changed sample, such as a column left_out_site, or rows labelled leave-one-out or without 2003",
        "changes the sample",
        "a loop that leaves members out, or a subsample",
        "sample_perturbation",
    )
    return _two_parts(scope, named, spots, sources, facts, wants, idle)


def method_perturbation(context: CheckContext) -> CheckResult:
    """2.4: one quantity by several methods or settings, and the code that varies them."""
    scope = scope_of(context)
    variables = _task_variables(context)
    stored = [one for result in _labelled_first(scope) for one in method_changes(result, variables)]
    best: tuple[Stored, list[Spot]] | None = None
    for one in stored:
        spots = _method_spots(_writers_first(scope, [one]), one)
        if spots:
            best = (one, spots)
            break
    chosen = [best[0], *(one for one in stored if one is not best[0])] if best else stored
    sources = _writers_first(scope, chosen)
    facts = _facts(scope, chosen, best[1] if best else [], "method_perturbation")
    if chosen:
        facts["methods_or_settings"] = listed(str(label) for label in chosen[0].labels)
    wants = _Wanted(
        "one quantity for several methods or settings",
        "one row a variant, such as a column method, model or window with two or more values, and the number",
        "varies them",
        "a list of the stored methods or settings that it goes through",
        "method_perturbation",
    )
    return _two_parts(scope, chosen, best[1] if best else [], sources, facts, wants)


def _method_spots(sources: Sequence[Source], stored: Stored) -> list[Spot]:
    """Where calculating code writes out two or more of the methods or settings that a result is stored for."""
    labels = [label for label in stored.labels if isinstance(label, str)]
    numbers = {label for label in stored.labels if not isinstance(label, str)}
    found: dict[str | float, Spot] = {}
    for source in sources if any(map(is_numeric_work, sources)) else ():
        found = {**literal_spots(source, labels, numbers), **found}
    return list(found.values()) if len(found) > 1 else []


@dataclass(frozen=True)
class _Wanted:
    """What a criterion of two parts looks for: what a result stores, what code does; and of each what would do."""

    stored: str
    such_as: str
    does: str
    code_such_as: str
    code: str


def _two_parts(
    scope: Scope,
    stored: Sequence[Stored],
    spots: Sequence[Spot],
    sources: Sequence[Source],
    facts: dict[str, JsonValue],
    wants: _Wanted,
    idle: Sequence[Spot] = (),
) -> CheckResult:
    """Level 1 for a stored result with the code behind it, 0.5 for the result alone, else 0.

    idle: code that would do, but of which nothing comes that is written.
    """
    code = wants.code
    if not stored:
        reason_code = f"no_{code}_result" if scope.results else "no_result"
        return decided(0, _nothing(scope, wants.stored, wants.such_as), reason_code, facts)
    first = stored[0]
    cited = scope.citation(first.result, *first.needles)
    where = f"{first.result.path} stores {wants.stored} ({first.where})"
    if spots:
        reason = f"{where}, and the finding's code {wants.does} ({spots[0].fact})."
        return decided(1, reason, f"{code}_with_code", facts, (cited, spots[0].citation))
    if idle:
        facts["code_without_use"] = listed(dict.fromkeys(spot.fact for spot in idle))
        reason = f"{where}; code of the finding {wants.does} ({idle[0].fact}), but nothing that is written comes of it."
        return decided(0.5, reason, f"{code}_without_code", facts, (cited,))
    reason = f"{where}, but no code of the finding that {wants.does} was found: looked through {through(sources)}"
    return decided(0.5, f"{reason} for {wants.code_such_as}.", f"{code}_without_code", facts, (cited,))


def _nothing(scope: Scope, what: str, such_as: str) -> str:
    """No result stores `what`: which were looked at, and what would do."""
    if not scope.results:
        return f"The finding names no readable result, so none stores {what}: {unlinked(scope, 'result', _RESULT)}."
    return f"No result of the finding stores {what}; looked at {among(scope.results)}. What would do: {such_as}."


def _facts(scope: Scope, stored: Sequence[Stored], spots: Iterable[Spot], name: str) -> dict[str, JsonValue]:
    places = listed(dict.fromkeys(spot.fact for spot in spots))
    return {
        **scope.link_facts,
        f"{name}_results": [one.fact for one in stored[:_SHOWN]],
        f"{name}_results_count": len(stored),
        f"{name}_code": places,
    }


def _writers_first(scope: Scope, stored: Sequence[Stored]) -> list[Source]:
    """The finding's code and that of these results: what it names first, and of that what writes them."""
    writers = scope.writers_of(dict.fromkeys(one.result.path for one in stored))
    sources = scope.closure([*map(scope.code.source, writers), *scope.sources])
    named = {source.path for source in scope.named_sources}
    return sorted(sources, key=lambda source: (source.path not in named, source.path not in writers))


def _flow(scope: Scope, stored: Sequence[Stored], sources: Sequence[Source]) -> Flow:
    """What has a part in what the finding's code writes. A result that no code names may be what a script printed."""
    named = scope.writers_of(dict.fromkeys(one.result.path for one in stored))
    return scope.code.flow(sources, prints_count=not named)


def _labelled_first(scope: Scope) -> list[Result]:
    """The finding's results, those with rows or keys that carry its number before the others."""
    return sorted(scope.results, key=lambda result: scope.finding.number not in result.labels)


def _task_variables(context: CheckContext) -> frozenset[str]:
    """Column names of the task's data: a column of this name is data, no setting or run of the analysis."""
    if context.task is None:
        return frozenset()
    return frozenset(name for columns in context.task.manifest.variables.values() for name in columns)
