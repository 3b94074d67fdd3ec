"""Which statements of a run's Python can have a part in what its code writes. A value that goes nowhere shows nothing.

Names are followed, not values: a statement has a part if it writes, or binds, changes or returns something under a name
that such a statement uses, in whichever file. So too much may count, and hardly ever too little.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from .code import WRITES, Source, Spot
from .columns import vocabulary
from .syntax import dotted

_TURNS = vocabulary(
    "to_numpy to_list to_dict to_datetime to_numeric to_timedelta to_frame to_records to_period to_timestamp"
)
"""What begins as a writer's name does, and writes nothing."""
_HIDES = frozenset(("exec", "eval", "globals", "locals", "vars", "setattr", "__import__", "import_module"))
"""Calls that bind or use names which can't be followed."""
_CHANGES = vocabulary("shuffle fill_diagonal put copyto place putmask heappush heapify heappushpop insort seed")
"""Functions of libraries that change what they are given."""
_MODES = frozenset("rwxabtU+")
_NAMED = (ast.Name, ast.Attribute, ast.Subscript)
_HOLDERS = (ast.stmt, ast.excepthandler, ast.match_case)
"""What statements stand in."""
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(eq=False, slots=True)
class Step:
    """A statement, or the head of a function, a loop or a branch.

    lines: of the file, from 1. binds: names that it binds or changes. uses: names in it. calls: the functions that it
    calls, and what each is given by name, where nothing is done with what they return.
    writes, prints: whether it writes to a file, and whether it prints.
    function: the name of the innermost function around it. under: the head that decides whether it runs.
    defines: the name of the function that it is the head of; its parameters are what it binds.
    """

    path: str
    lines: range
    binds: frozenset[str]
    uses: frozenset[str]
    calls: frozenset[str]
    given: tuple[tuple[str, frozenset[str]], ...]
    writes: bool
    prints: bool
    function: str | None
    under: Step | None
    defines: str | None


class Flow:
    """What among the steps of several files has a part in what they write.

    prints_count: whether printing is writing, as where a result is what a script has printed.
    """

    def __init__(self, steps: Sequence[Step], prints_count: bool) -> None:
        writers = list(_with_callers(steps, prints_count))
        hidden = any(not _HIDES.isdisjoint(step.calls) for step in steps)
        self._followed = frozenset(step.path for step in steps) if writers and not hidden else frozenset()
        self._lines: defaultdict[str, set[int]] = defaultdict(set)
        for step in _reached(steps, writers):
            self._lines[step.path].update(step.lines)

    def has(self, spot: Spot) -> bool:
        """Whether the statement at `spot` may have a part; also where that can't be told."""
        return spot.path not in self._followed or spot.line in self._lines[spot.path]

    def without(self, spots: Iterable[Spot]) -> list[Spot]:
        """Those of `spots` that have none."""
        return [spot for spot in spots if not self.has(spot)]


def _with_callers(steps: Iterable[Step], prints_count: bool) -> Iterator[Step]:
    """The steps that write, and those that call a function which does."""
    calling: defaultdict[str, list[Step]] = defaultdict(list)
    for step in steps:
        for name in step.calls:
            calling[name].append(step)
    waiting = [step for step in steps if step.writes or (prints_count and step.prints)]
    seen = set(map(id, waiting))
    while waiting:
        step = waiting.pop()
        yield step
        new = [one for one in calling.pop(step.function or "", ()) if id(one) not in seen]
        seen |= set(map(id, new))
        waiting += new


def _reached(steps: Sequence[Step], writers: Iterable[Step]) -> Iterator[Step]:
    """`writers`, and what binds, changes or returns what they use, directly or by way of others."""
    changing = _changing(steps) | _CHANGES
    binding: defaultdict[str, list[Step]] = defaultdict(list)
    for step in steps:
        changed = (names for function, names in step.given if function in changing)
        for name in step.binds.union(*changed):
            binding[name].append(step)
    waiting = list(writers)
    seen = set(map(id, waiting))
    while waiting:
        step = waiting.pop()
        yield step
        new = [one for name in step.uses for one in binding.pop(name, ())]
        new += [step.under] if step.under is not None else []
        for one in new:
            if id(one) not in seen:
                seen.add(id(one))
                waiting.append(one)


def _changing(steps: Sequence[Step]) -> frozenset[str]:
    """Functions of the run in whose bodies something is done to a parameter."""
    parameters: defaultdict[str, set[str]] = defaultdict(set)
    for step in steps:
        if step.defines is not None:
            parameters[step.defines] |= step.binds
    return frozenset(
        step.function
        for step in steps
        if step.function is not None
        and not parameters[step.function].isdisjoint(step.binds.union(*(names for _, names in step.given)))
    )


# ---- steps of one file


def steps_of(source: Source) -> Iterator[Step]:
    """The live statements of a file in Python, outer ones first; none of another."""
    around: dict[ast.AST, tuple[str | None, Step | None]] = {}
    for node, parent in source.live:
        if not isinstance(node, _HOLDERS):
            continue
        function, under = around.get(parent, (None, None))
        binds, used = _parts(node, function)
        defines = node.name if isinstance(node, _DEFINITIONS) else None
        step = None
        if isinstance(node, ast.stmt) and (used or defines is not None):
            step = _step(source, node, binds, used, (function, under, defines))
            yield step
        if defines is not None:
            around[node] = (defines, None)
        elif step is not None and isinstance(node, ast.For | ast.AsyncFor | ast.While | ast.If | ast.Match):
            around[node] = (function, step)
        else:
            around[node] = (function, under)


def _step(
    source: Source,
    node: ast.stmt,
    binds: set[str],
    used: Sequence[ast.expr],
    around: tuple[str | None, Step | None, str | None],
) -> Step:
    function, under, defines = around
    inside = [inner for one in used for inner in ast.walk(one)]
    calls = [inner for inner in inside if isinstance(inner, ast.Call)]
    names = [_last(call) for call in calls]
    binds |= _bases(inner.target for inner in inside if isinstance(inner, ast.NamedExpr))
    given: tuple[tuple[str, frozenset[str]], ...] = ()
    if isinstance(node, ast.Expr):
        binds |= set(_owners(calls, source))
        if function is not None and any(isinstance(inner, ast.Yield | ast.YieldFrom) for inner in inside):
            binds.add(function)
        by_name = [[arg for arg in call.args if isinstance(arg, _NAMED)] for call in calls]
        given = tuple((name, _bases(args)) for name, args in zip(names, by_name, strict=True) if args)
    return Step(
        path=source.path,
        lines=range(node.lineno, max((one.end_lineno or one.lineno for one in used), default=node.lineno) + 1),
        binds=frozenset(binds),
        uses=frozenset(filter(None, map(_name, inside))),
        calls=frozenset(names),
        given=given,
        writes=(source.suffix == "ipynb" and isinstance(node, ast.Expr)) or any(map(_writes, calls)),
        prints="print" in names,
        function=function,
        under=under,
        defines=defines,
    )


def _parts(node: ast.AST, function: str | None) -> tuple[set[str], list[ast.expr]]:
    """What a node binds or changes as a statement, and the expressions that it uses; nothing where it is none."""
    match node:
        case ast.Expr():
            return set(), [node.value]
        case ast.Assign():
            return set(_bases(node.targets)), [*node.targets, node.value]
        case ast.AugAssign():
            return set(_bases([node.target])), [node.target, node.value]
        case ast.AnnAssign(value=ast.expr() as value):
            return set(_bases([node.target])), [node.target, value]
        case ast.Return(value=ast.expr() as value):
            return {function} if function is not None else set(), [value]
        case ast.For() | ast.AsyncFor():
            return set(_bases([node.target])), [node.target, node.iter]
        case ast.While() | ast.If():
            return set(), [node.test]
        case ast.With() | ast.AsyncWith():
            given = [item.optional_vars for item in node.items if item.optional_vars is not None]
            return set(_bases(given)), [item.context_expr for item in node.items]
        case ast.Match():
            names = {getattr(one, "name", None) for case in node.cases for one in ast.walk(case.pattern)}
            return {name for name in names if isinstance(name, str)}, [node.subject]
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
            every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            return {one.arg for one in every}, [*defaults, *node.decorator_list]
        case ast.Import() | ast.ImportFrom():
            renamed = [one for one in node.names if one.asname is not None]
            real = [ast.copy_location(ast.Name(one.name.rpartition(".")[2], ast.Load()), node) for one in renamed]
            return {one.asname for one in renamed if one.asname is not None}, list(real)
    return set(), []


def _owners(calls: Iterable[ast.Call], source: Source) -> Iterator[str]:
    """The names of objects whose methods are called, which may change them; a module does not. Each node is looked at
    once, however the calls are nested."""
    seen: set[ast.AST] = set()
    for call in calls:
        if isinstance(call.func, ast.Attribute) and dotted(call.func).partition(".")[0] not in source.imported:
            waiting: list[ast.AST] = [call.func.value]
            while waiting:
                node = waiting.pop()
                if node not in seen:
                    seen.add(node)
                    waiting += ast.iter_child_nodes(node)
                    if name := _name(node):
                        yield name


def _bases(targets: Iterable[ast.expr]) -> frozenset[str]:
    return frozenset(name for target in targets for node in ast.walk(target) if (name := _name(node)))


def _name(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


def _last(call: ast.Call) -> str:
    return dotted(call.func).rpartition(".")[2]


def _writes(call: ast.Call) -> bool:
    last = _last(call)
    if last == "open":
        given = [*call.args[:2], *(k.value for k in call.keywords if k.arg == "mode")]
        texts = [one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        return any(set(text) <= _MODES and not set(text).isdisjoint("wax+") for text in texts)
    if last == "print":
        return any(keyword.arg == "file" for keyword in call.keywords)
    return last.startswith(WRITES) and last not in _TURNS
