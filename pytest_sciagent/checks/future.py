"""Criterion 6.5: code that would decide the next test of a finding, with a branch for each outcome."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TypeVar

from pydantic import JsonValue

from .base import CheckContext, CheckResult, decided
from .code import Source, Spot
from .columns import vocabulary, words
from .keys import finding_label
from .looked import through
from .scope import Scope, scope_of
from .syntax import dotted, is_literal, names_in, parameters
from .values import listed

N = TypeVar("N", bound=ast.AST)
_FUTURE = vocabulary("future next prospective prospectively forthcoming upcoming new falsify falsifier falsification")
_FUTURE_DATA = re.compile(r"(?:future|prospective|new|next)_\w+|future|prospective")
_INPUT_MODULES = frozenset(("argparse", "click", "typer", "fire"))
_NUMBERED = re.compile(r"(?:^|[_ -])(?:f|finding|claim|test)?[_ -]?0*(\d{1,2})(?=$|[_ -])", re.IGNORECASE)
_COMPARISON = re.compile(r"[^<>=!-](?:<=?|>=?)[^<>=]")


@dataclass(frozen=True)
class _Rule:
    """What a piece of code does for the next test: its comparisons, and the different outcomes of its branches."""

    source: Source
    comparisons: tuple[Spot, ...]
    branches: tuple[Spot, ...]
    outcomes: tuple[str, ...]

    @property
    def level(self) -> float:
        return (bool(self.comparisons) + (len(self.outcomes) > 1)) / 2


def prefrozen_executable_rule(context: CheckContext) -> CheckResult:
    """6.5: a comparison with a threshold, and branches with different decisions, in code for a future test."""
    scope = scope_of(context)
    sources = _candidates(scope)
    rules = [rule for source in sources for rule in _rules(scope, source)]
    best = max(rules, key=lambda rule: rule.level, default=None)
    facts: dict[str, JsonValue] = {
        "future_rule_source_paths": listed(dict.fromkeys(rule.source.path for rule in rules))
    }
    if best is None:
        return decided(0, _no_rule(scope, sources), "no_future_rule", facts)
    facts |= {
        "read_by_tokenizer_only": not best.source.is_python,
        "decision_logic_found": listed(spot.fact for spot in best.comparisons),
        "outcome_branches_found": listed(spot.fact for spot in best.branches),
        "outcomes": listed(best.outcomes),
    }
    path = best.source.path
    if best.level == 1:
        count = len(best.outcomes)
        reason = f"{path} compares a new outcome with a threshold and has {count} different outcomes."
        return decided(
            1, reason, "rule_with_branches", facts, (best.comparisons[0].citation, best.branches[0].citation)
        )
    if best.comparisons:
        reason = f"{path} compares a new outcome, but has no two branches with different decisions."
        return decided(0.5, reason, "comparison_only", facts, (best.comparisons[0].citation,))
    if len(best.outcomes) > 1:
        reason = f"{path} has branches with different decisions, but compares no new outcome with a threshold."
        return decided(0.5, reason, "branches_only", facts, (best.branches[0].citation,))
    return decided(
        0, f"{path} holds neither a comparison of a new outcome nor different decisions.", "no_rule_content", facts
    )


def _no_rule(scope: Scope, sources: Sequence[Source]) -> str:
    such_as = f"a script such as output/code/future_test_{scope.finding.number}.py that takes the new outcome"
    if not sources:
        return f"No code of the run belongs to this finding and concerns a future test. What would do: {such_as}."
    looked = f"No code of this finding takes a new outcome and decides by a rule; looked through {through(sources)}"
    return f"{looked}. What would do: {such_as}, compares it with a threshold and returns one of two decisions."


def _candidates(scope: Scope) -> list[Source]:
    """Code that the finding names, and code for a future test that carries the finding's number in its name."""
    found = {source.path: source for source in scope.named_sources}
    for entry in scope.run.with_role("analysis_source", "notebook"):
        stem = PurePosixPath(entry.path).stem
        if entry.path not in found and not _FUTURE.isdisjoint(words(stem)):
            number = _number(stem)
            if number in (None, scope.finding.number):
                found[entry.path] = scope.code.source(entry.path)
    return list(found.values())


def _number(name: str) -> int | None:
    """The number of the finding that a file or function name carries: `future_test_2`, `test_F2_rule`."""
    for part in re.split(r"[/.]", name):
        match = _NUMBERED.search(part) or re.search(r"(?<![A-Za-z])F0*(\d{1,2})(?![0-9])", part)
        if match:
            return int(match[1])
    return None


def _rules(scope: Scope, source: Source) -> Iterator[_Rule]:
    """The rules of this finding in `source`."""
    is_named = source.path in scope.finding.artifacts
    in_name = not _FUTURE.isdisjoint(words(PurePosixPath(source.path).stem))
    numbered = _number(PurePosixPath(source.path).stem) if in_name else None
    if numbered is not None and numbered != scope.finding.number and not is_named:
        return
    if not source.is_python:
        if in_name and (is_named or numbered == scope.finding.number):
            yield _light_rule(source)
        return
    own: list[ast.FunctionDef] = []
    others: list[ast.FunctionDef] = []
    plain: list[ast.FunctionDef] = []
    for function in source.all(ast.FunctionDef):
        is_future = in_name or _speaks_of_future(function)
        if isinstance(source.parent(function), ast.Module) and is_future and parameters(function):
            number = _number(function.name)
            (plain if number is None else own if number == scope.finding.number else others).append(function)
    body = own if own or others else plain
    belongs = (
        bool(own) or (not others and (is_named or numbered == scope.finding.number)) or _names_finding(source, scope)
    )
    if others and not own and is_named and plain:
        body = plain
        belongs = _names_finding(source, scope)
    if not belongs:
        return
    if in_name and not own and _takes_input(source):
        yield _rule(source, None, _constants(source))
    elif body:
        constants = _constants(source)
        for function in body:
            yield _rule(source, function, constants)


def _speaks_of_future(function: ast.FunctionDef) -> bool:
    """Whether the name of a function or of a parameter does: `future_verdict(x)`, `decide(new_data)`."""
    if not _FUTURE.isdisjoint(words(function.name)):
        return True
    return any(_FUTURE_DATA.fullmatch(name) for name in parameters(function))


def _takes_input(source: Source) -> bool:
    """Whether the source takes a new outcome from outside: arguments, standard input, or a function's parameters."""
    if {module.partition(".")[0] for module in source.modules} & _INPUT_MODULES:
        return True
    for attribute in source.all(ast.Attribute):
        if dotted(attribute) in ("sys.argv", "sys.stdin", "os.environ"):
            return True
    if any(dotted(call.func) == "input" for call in source.all(ast.Call)):
        return True
    return any(parameters(function) for function in source.all(ast.FunctionDef))


def _names_finding(source: Source, scope: Scope) -> bool:
    """Whether a string in the code is the label of this finding: a key such as `F2`."""
    return any(
        text.value and finding_label(text.value) == scope.finding.number
        for text in source.strings
        if len(text.value or "") < 20
    )


def _rule(source: Source, function: ast.AST | None, constants: set[str]) -> _Rule:
    """The rule in `function`, or in the whole source, in which `constants` depend on nothing."""

    # A function's own nodes are visited once; the parts without effect have no parent.
    own = None if function is None else [n for n in ast.walk(function) if source.parent(n) is not None]

    def inside(*kinds: type[N]) -> list[N]:
        return [n for kind in kinds for n in (source.all(kind) if own is None else own) if isinstance(n, kind)]

    fixed = constants - (parameters(function) if function is not None else set())
    compares = [n for n in inside(ast.Compare) if _is_threshold(n) and _depends(n, fixed)]
    comparisons = [source.spot(node, "a comparison") for node in compares]
    branches: list[Spot] = []
    outcomes: dict[str, None] = {}
    nodes: list[ast.IfExp | ast.If | ast.Match] = [*inside(ast.IfExp), *inside(ast.If), *inside(ast.Match)]
    for node in nodes:
        test = node.subject if isinstance(node, ast.Match) else node.test
        found = _outcomes(node) if _depends(test, fixed) and not _is_technical(node) else []
        if found:
            branches.append(source.spot(node, "a branch"))
            outcomes |= dict.fromkeys(found)
    for call in inside(ast.Call):
        if dotted(call.func).rpartition(".")[2] in ("where", "select"):
            texts = [n.value for n in ast.walk(call) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
            if len(set(texts)) > 1:
                branches.append(source.spot(call, "a choice"))
                outcomes |= dict.fromkeys(texts)
    for choice in inside(ast.Subscript):
        if isinstance(choice.value, ast.List | ast.Tuple | ast.Dict):
            texts = [
                n.value for n in ast.walk(choice.value) if isinstance(n, ast.Constant) and isinstance(n.value, str)
            ]
            if len(set(texts)) > 1 and not isinstance(choice.slice, ast.Constant):
                branches.append(source.spot(choice, "a choice"))
                outcomes |= dict.fromkeys(texts)
    by_line = sorted(comparisons, key=lambda spot: spot.line)
    return _Rule(source, tuple(by_line), tuple(sorted(branches, key=lambda spot: spot.line)), tuple(outcomes))


def _constants(source: Source) -> set[str]:
    """Names that only stand for what the code writes out."""
    literal: set[str] = set()
    other: set[str] = set()
    for node in source.all(ast.Name):
        if isinstance(node.ctx, ast.Store):
            assign = source.parent(node)
            is_written = isinstance(assign, ast.Assign) and is_literal(assign.value)
            (literal if is_written else other).add(node.id)
    return literal - other


def _depends(node: ast.AST, fixed: set[str]) -> bool:
    """Whether an expression depends on something that the code does not write out."""
    return not names_in(node) <= fixed


def _is_threshold(node: ast.Compare) -> bool:
    """A comparison of sizes that is not about arguments or the number of rows."""
    if not all(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in node.ops):
        return False
    return not any(_is_count(side) for side in (node.left, *node.comparators))


def _is_count(node: ast.expr) -> bool:
    is_len = isinstance(node, ast.Call) and dotted(node.func) == "len"
    return is_len or "argv" in {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}


def _is_technical(node: ast.If | ast.IfExp | ast.Match) -> bool:
    """Whether a branch is about how the script was called, not about an outcome."""
    test = node.subject if isinstance(node, ast.Match) else node.test
    attributes = {n.attr for n in ast.walk(test) if isinstance(n, ast.Attribute)}
    return bool(attributes & {"argv", "exists", "is_file", "isfile"}) or "__name__" in names_in(test)


def _outcomes(node: ast.If | ast.IfExp | ast.Match) -> list[str]:
    """The decisions that the arms of a branch give: strings and truth values that they return, print or assign."""
    if isinstance(node, ast.IfExp):
        arms: list[list[ast.AST]] = [[node.body], [node.orelse]]
    elif isinstance(node, ast.If):
        arms = [list(node.body), list(node.orelse)]
    else:
        arms = [list(case.body) for case in node.cases]
    found = [_decision(arm) for arm in arms]
    return [outcome for outcome in found if outcome is not None]


def _decision(arm: list[ast.AST]) -> str | None:
    """The first decision in an arm; a nested branch speaks for itself."""
    for node in arm:
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bool):
            return str(node.value)
        value: ast.expr | None = None
        if isinstance(node, ast.Return | ast.Assign):
            value = node.value
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and node.value.args:
            value = node.value.args[0]
        elif isinstance(node, ast.Tuple | ast.List | ast.Dict | ast.Call | ast.JoinedStr):
            value = node
        for inner in ast.walk(value) if value is not None else ():
            if isinstance(inner, ast.IfExp):
                break
            if isinstance(inner, ast.Constant) and isinstance(inner.value, str | bool):
                return str(inner.value)
    return None


def _light_rule(source: Source) -> _Rule:
    """Comparisons and branches in another language, by its tokens."""
    code = source.bare_code
    comparisons = [
        source.spot_at(source.bare_line(match.start()), "a comparison")
        for match in _COMPARISON.finditer(code)
        if "if" in code[code.rfind("\n", 0, match.start()) + 1 : match.start()]
    ]
    branches = [source.spot_at(source.bare_line(match.start()), "a branch") for match in re.finditer(r"\belse\b", code)]
    lines = {spot.line + shift for spot in (*comparisons, *branches) for shift in (0, 1)}
    outcomes = {text.value: None for text in source.strings if text.value and text.line in lines}
    return _Rule(source, tuple(comparisons), tuple(branches), tuple(outcomes) if branches else ())
