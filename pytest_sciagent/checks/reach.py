"""Which functions of a script its own code never gets to. What such a function would do is nothing that was done."""

from __future__ import annotations

import ast
from collections import defaultdict, deque
from collections.abc import Callable, Iterator

from .syntax import live_children

_MAX_NAME = 60
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Function = ast.FunctionDef | ast.AsyncFunctionDef


def unreached(module: ast.Module, is_used_beside: Callable[[str], bool]) -> frozenset[ast.AST]:
    """The functions at the module's level that nothing reaches: neither its own code, directly or by way of others, nor
    `is_used_beside`, which tells whether another file uses a name.

    Names are followed, not values: a function that is named anywhere, in a string too, counts as used. One with a
    decorator does. Of a module whose own code uses none of its functions, nothing is told: it may be a library.
    """
    functions: defaultdict[str, list[Function]] = defaultdict(list)
    used: set[str] = set()
    for node in _outside_functions(module):
        if isinstance(node, _DEFINITIONS):
            functions[node.name].append(node)
            used |= {node.name} if node.decorator_list else set()
        else:
            used |= used_names(node) if isinstance(node, ast.ClassDef) else _names_of(node)
    if used.isdisjoint(functions):
        return frozenset()
    waiting = [name for name in functions if name in used or is_used_beside(name)]
    reached = set(waiting)
    while waiting:
        inside = {name for function in functions[waiting.pop()] for name in used_names(function)}
        new = (inside & functions.keys()) - reached
        reached |= new
        waiting += new
    return frozenset(node for name, nodes in functions.items() if name not in reached for node in nodes)


def used_names(tree: ast.AST) -> frozenset[str]:
    """All names that occur in `tree`: variables, attributes, imported names, and strings that could be one."""
    return frozenset(name for node in ast.walk(tree) for name in _names_of(node))


def _outside_functions(module: ast.Module) -> Iterator[ast.AST]:
    """Every node that can have an effect, down to definitions of functions and classes, but not into their bodies."""
    waiting: deque[ast.AST] = deque([module])
    while waiting:
        node = waiting.popleft()
        yield node
        if isinstance(node, _DEFINITIONS):
            waiting += [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
        elif not isinstance(node, ast.ClassDef):
            waiting += live_children(node)


def _names_of(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.Attribute):
        return {node.attr}
    if isinstance(node, ast.alias):
        return {node.name.rpartition(".")[2]}
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) <= _MAX_NAME:
        return {node.value} if node.value.isidentifier() else set()
    return set()
