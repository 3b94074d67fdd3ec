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
        function, under = around.get(parent, (None, None))
        binds, used = _parts(node, function)
        defines = node.name if isinstance(node, _DEFINITIONS) else None
        step = None
        if used or defines is not None:
            last = max((one.end_lineno or one.lineno for one in used), default=node.lineno)  # type: ignore[attr-defined]
            calls = [call for one in used for call in ast.walk(one) if isinstance(call, ast.Call)]
            given: tuple[tuple[str, frozenset[str]], ...] = ()
            if isinstance(node, ast.Expr):
                binds |= _owners(calls, source)
                given = tuple((_last(call), _bases(filter(_is_name, call.args))) for call in calls)
            shown = source.suffix == "ipynb" and isinstance(node, ast.Expr)
            step = Step(
                path=source.path,
                lines=range(node.lineno, last + 1),  # type: ignore[attr-defined]
                binds=binds,
                uses=_bases(used),
                calls=frozenset(map(_last, calls)),
                given=given,
                writes=shown or any(map(_writes, calls)),
                prints=any(_last(call) == "print" for call in calls),
                function=function,
                under=under,
                defines=defines,
            )
            yield step
        if defines is not None:
            around[node] = (defines, None)
        elif step is not None and isinstance(node, ast.For | ast.AsyncFor | ast.While | ast.If | ast.Match):
            around[node] = (function, step)
        else:
            around[node] = (function, under)


def _parts(node: ast.AST, function: str | None) -> tuple[frozenset[str], list[ast.expr]]:
    """What a node binds or changes as a statement, and the expressions that it uses; nothing where it is none."""
    returned = frozenset((function,)) if function is not None else frozenset()
    match node:
        case ast.Assign():
            return _bases(node.targets), [*node.targets, node.value]
        case ast.AugAssign():
            return _bases([node.target]), [node.target, node.value]
        case ast.AnnAssign(value=ast.expr() as value):
            return _bases([node.target]), [node.target, value]
        case ast.Expr():
            yields = any(isinstance(one, ast.Yield | ast.YieldFrom) for one in ast.walk(node.value))
            return _bound_within(node.value) | (returned if yields else frozenset()), [node.value]
        case ast.Return(value=ast.expr() as value):
            return returned, [value]
        case ast.For() | ast.AsyncFor():
            return _bases([node.target]), [node.target, node.iter]
        case ast.While() | ast.If():
            return _bound_within(node.test), [node.test]
        case ast.With() | ast.AsyncWith():
            given = [item.optional_vars for item in node.items if item.optional_vars is not None]
            return _bases(given), [item.context_expr for item in node.items]
        case ast.Match():
            names = {getattr(one, "name", None) for case in node.cases for one in ast.walk(case.pattern)}
            return frozenset(name for name in names if isinstance(name, str)), [node.subject]
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
            every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            return frozenset(one.arg for one in every), [*defaults, *node.decorator_list]
        case ast.Import() | ast.ImportFrom():
            renamed = [one for one in node.names if one.asname is not None]
            real = [ast.copy_location(ast.Name(one.name.rpartition(".")[2], ast.Load()), node) for one in renamed]
            return frozenset(one.asname for one in renamed if one.asname is not None), list(real)
    return frozenset(), []


def _owners(calls: Iterable[ast.Call], source: Source) -> frozenset[str]:
    """The objects whose methods are called, which may change them; a module does not."""
    owners = [call.func.value for call in calls if isinstance(call.func, ast.Attribute)]
    return _bases(owner for owner in owners if dotted(owner).partition(".")[0] not in source.imported)


def _is_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Name | ast.Attribute | ast.Subscript)


def _bound_within(value: ast.expr) -> frozenset[str]:
    return _bases([one.target for one in ast.walk(value) if isinstance(one, ast.NamedExpr)])


def _bases(targets: Iterable[ast.expr]) -> frozenset[str]:
    return frozenset(name for target in targets for name in _names(target))


def _names(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            yield one.id
        elif isinstance(one, ast.Attribute):
            yield one.attr


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
