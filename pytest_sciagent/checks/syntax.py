"""Questions about Python's syntax trees: names, literals, numbers. Nothing is executed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

MAX_QUOTE = 200
"""Characters of code that are quoted at most."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_WRITTEN_OUT = (
    ast.Constant,
    ast.List,
    ast.Tuple,
    ast.Set,
    ast.Dict,
    ast.UnaryOp,
    ast.BinOp,
    ast.BoolOp,
    ast.Compare,
    ast.expr_context,
    ast.operator,
    ast.unaryop,
    ast.boolop,
    ast.cmpop,
)


def dotted(node: ast.expr) -> str:
    """`a.b.c` for nested attributes; a leading dot where the innermost object is no plain name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    parts.append(node.id if isinstance(node, ast.Name) else "")
    return ".".join(reversed(parts))


def bound_names(target: ast.expr) -> set[str]:
    """The names that an assignment to `target` binds."""
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}


def is_literal(node: ast.AST) -> bool:
    """Whether an expression is written out: numbers, strings, and collections and sums of them; no name, no call."""
    waiting = [node]
    while waiting:
        inner = waiting.pop()
        if not isinstance(inner, _WRITTEN_OUT):
            return False
        waiting += ast.iter_child_nodes(inner)
    return True


def dump(node: ast.AST) -> str | None:
    """The structure of `node` as text, to compare; None where it is too deep."""
    try:
        return ast.dump(node)
    except RecursionError:
        return None


def live_children(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of `node` that can have an effect: no arm under a constant test, no statement that is a literal."""
    dead: list[ast.AST] = []
    if isinstance(node, ast.If | ast.While | ast.IfExp) and isinstance(node.test, ast.Constant):
        arm = node.orelse if node.test.value else node.body
        dead = list(arm) if isinstance(arm, list) else [arm]
    for child in ast.iter_child_nodes(node):
        bare = isinstance(child, ast.Expr) and not isinstance(child.value, ast.Constant) and is_literal(child.value)
        if not bare and not any(child is one for one in dead):
            yield child


def names_in(node: ast.AST) -> set[str]:
    """All plain names that occur in `node`."""
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def parameters(function: ast.AST) -> set[str]:
    """The parameter names of a function or lambda."""
    if not isinstance(function, FUNCTIONS):
        return set()
    a = function.args
    every = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
    return {argument.arg for argument in every}


def numbers_in(node: ast.AST) -> list[float]:
    """All numeric literals in `node`, signs ignored."""
    return [
        float(inner.value)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Constant)
        and isinstance(inner.value, int | float)
        and not isinstance(inner.value, bool)
        and abs(inner.value) < 1e300
    ]
