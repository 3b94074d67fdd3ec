"""Program text as structure: Python (also in notebooks) by its syntax tree, other languages by a light tokenizer.

Comments and docstrings are never looked at, strings only as values. Nothing is executed or imported.
"""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Literal, TypeVar

from ..models import Citation
from ..text import clean
from .columns import vocabulary
from .reach import unreached
from .syntax import FUNCTIONS, MAX_QUOTE, bound_names, dotted, live_children, parameters

N = TypeVar("N", bound=ast.AST)
Use = Literal["read", "write", "other"]

MAX_SOURCE_CHARS = 1_000_000
_MIN_QUOTE = 12
_MAX_EXACT = 10_000  # longer lines are quoted near the column only
_MIN_SOLID = 5
_READERS = vocabulary(
    "read_csv read_table read_json read_excel read_parquet read_text read_bytes loadtxt genfromtxt load loads exists"
    " is_file isfile getsize stat scan_csv read_feather read_hdf unlink remove"
)
WRITES = ("to_", "save", "dump", "write", "export")
_MAGIC = re.compile(r"^[ \t]*[%!?].*$", re.MULTILINE)
_PLACEHOLDERS = re.compile("\0+")
_CALL = re.compile(r"(?<![\w.])([A-Za-z_][\w.]*+)\s*+\(")
_LINE_COMMENTS = {"r": "#", "jl": "#", "sh": "#", "m": "%", "sql": "--"}
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a source: its line (from 1), what stands there, and the words to quote."""

    path: str
    line: int
    what: str
    quote: str

    @property
    def fact(self) -> str:
        """`path:line what`, for a receipt."""
        return f"{self.path}:{self.line} {self.what}"[:MAX_QUOTE]

    @property
    def citation(self) -> Citation:
        return Citation(file=self.path, quote=self.quote)


@dataclass(frozen=True, slots=True)
class Text:
    """A string in the code; formatted parts of it are None. `use`: what the code does with the file it may name."""

    parts: tuple[str | None, ...]
    use: Use
    line: int
    column: int
    _literals: tuple[str, ...] = ()
    _file: tuple[str, ...] = ()

    @classmethod
    def of(cls, parts: Sequence[str | None], use: Use, line: int, column: int) -> Text:
        if len(parts) == 1 and parts[0] is not None:
            return cls(tuple(parts), use, line, column)
        written = _PLACEHOLDERS.sub("\0", "".join("\0" if part is None else part for part in parts))
        base = written.rpartition("/")[2]
        has_name = len(base.replace("\0", "").rpartition(".")[0]) > 1
        literals, file = tuple(written.split("\0")), tuple(base.split("\0")) if has_name else ()
        return cls(tuple(parts), use, line, column, literals, file)

    @property
    def value(self) -> str | None:
        """The whole string; None where a part of it is formatted in."""
        return self.parts[0] if len(self.parts) == 1 else None

    def gives(self, label: str) -> bool:
        """Whether this string is `label`, may become it, or is a longer part of it."""
        if self._literals:
            solid = sum(len(part) for part in self.parts if part is not None)
            return solid >= min(3, len(label)) and _fits(self._literals, label)
        value = (self.value or "").strip()
        return value == label or (len(value) >= _MIN_SOLID and value in label)

    def names_file(self, name: str) -> bool:
        """Whether the last component of this string is, or may become, the file name `name`."""
        if self.value is not None:
            return self.value.rpartition("/")[2] == name
        return bool(self._file) and _fits(self._file, name)


def _fits(literals: Sequence[str], text: str) -> bool:
    """Whether `text` is these literals in order, with anything between two of them. Linear: each is searched once."""
    first, last = literals[0], literals[-1]
    if len(literals) == 1:
        return text == first
    at, end = len(first), len(text) - len(last)
    if at > end or not text.startswith(first) or not text.endswith(last):
        return False
    for literal in literals[1:-1]:
        found = text.find(literal, at, end)
        if found < 0:
            return False
        at = found + len(literal)
    return True


class Source:
    """One source file, or the code cells of one notebook. Functions that nothing gets to are left out.

    is_used_beside: whether another source of the run uses a name.
    """

    def __init__(self, path: str, text: str, is_used_beside: Callable[[str], bool] = lambda name: False) -> None:
        self.path = path
        self._is_used_beside = is_used_beside
        self.suffix = PurePosixPath(path).suffix.lower().lstrip(".")
        self.text = text[:MAX_SOURCE_CHARS]
        self.is_python = self.suffix in ("py", "ipynb")
        self.problem: str | None = None

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    # ---- Python

    @cached_property
    def tree(self) -> ast.Module | None:
        """The syntax tree; None for another language, or where `problem` says why there is none."""
        if not self.is_python:
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about escapes in the agent's strings
                return ast.parse(_MAGIC.sub("pass", self.text) if self.suffix == "ipynb" else self.text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.problem = clean(f"not parsed: {type(error).__name__}: {error}", 200)
            return None

    @cached_property
    def _parents(self) -> dict[ast.AST, ast.AST]:
        parents: dict[ast.AST, ast.AST] = {}
        waiting: deque[ast.AST] = deque([self.tree] if self.tree else [])
        idle = unreached(self.tree, self._is_used_beside) if self.tree else frozenset()
        while waiting:
            node = waiting.popleft()
            for child in live_children(node):
                if child not in idle:
                    parents[child] = node
                    waiting.append(child)
        return parents

    @property
    def live(self) -> Iterator[tuple[ast.AST, ast.AST]]:
        """Every node that can have an effect, each with the node around it; outer ones first."""
        yield from self._parents.items()

    @cached_property
    def is_empty(self) -> bool:
        """Whether there is no statement in it. Code that can't be parsed is not empty."""
        if self.is_python:
            return self.tree is not None and not self.tree.body
        return not self.bare_code.strip()

    @cached_property
    def _by_type(self) -> dict[type[ast.AST], list[ast.AST]]:
        found: defaultdict[type[ast.AST], list[ast.AST]] = defaultdict(list)
        for node in self._parents:
            found[type(node)].append(node)
        return found

    def all(self, kind: type[N]) -> list[N]:
        """Every node of this type, in no promised order."""
        return self._by_type.get(kind, [])  # type: ignore[return-value]

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self._parents.get(node)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around `node`, innermost first."""
        while (found := self._parents.get(node)) is not None:
            yield found
            node = found

    def varied_names(self, node: ast.AST) -> set[str]:
        """Names that take several values where `node` stands: loop and comprehension targets, function parameters."""
        names: set[str] = set()
        for around in self.ancestors(node):
            if isinstance(around, ast.For | ast.AsyncFor):
                names |= bound_names(around.target)
            elif isinstance(around, _COMPREHENSIONS):
                for generator in around.generators:
                    names |= bound_names(generator.target)
            elif isinstance(around, FUNCTIONS):
                names |= parameters(around)
        return names

    @cached_property
    def imported(self) -> dict[str, str]:
        """What each imported name stands for: `np` -> `numpy`, `sem` -> `scipy.stats.sem`."""
        names: dict[str, str] = {}
        for one in self.all(ast.Import):
            for alias in one.names:
                names[alias.asname or alias.name.split(".")[0]] = alias.name
        for some in self.all(ast.ImportFrom):
            for alias in some.names:
                names[alias.asname or alias.name] = f"{some.module or ''}.{alias.name}".lstrip(".")
        return names

    @cached_property
    def modules(self) -> set[str]:
        """Modules imported from anywhere, by their full names."""
        modules = {alias.name for node in self.all(ast.Import) for alias in node.names}
        for node in self.all(ast.ImportFrom):
            modules.add(node.module or "")
            modules |= {f"{node.module}.{a.name}" if node.module else a.name for a in node.names}
        return modules - {""}

    def called(self, call: ast.Call) -> str:
        """The full dotted name of what is called: `numpy.percentile`; `.std` where the object is no plain name."""
        name = dotted(call.func)
        first, _, rest = name.partition(".")
        return f"{self.imported[first]}{'.' if rest else ''}{rest}" if first in self.imported else name

    @cached_property
    def strings(self) -> list[Text]:
        """All strings but docstrings and other bare ones."""
        if not self.is_python:
            return [Text.of([value], "other", line, 0) for value, line in self._light[1] if value]
        return [*self._plain_strings(), *self._formatted_strings()]

    def _plain_strings(self) -> Iterator[Text]:
        for node in self.all(ast.Constant):
            around = self.parent(node)
            if isinstance(node.value, str) and node.value and not isinstance(around, ast.Expr | ast.JoinedStr):
                yield self._string(node, [node.value])

    def _formatted_strings(self) -> Iterator[Text]:
        for node in self.all(ast.JoinedStr):
            if not isinstance(self.parent(node), ast.Expr):
                values = [part.value if isinstance(part, ast.Constant) else None for part in node.values]
                yield self._string(node, [value if isinstance(value, str) else None for value in values])

    def _string(self, node: ast.expr, parts: list[str | None]) -> Text:
        return Text.of(parts, self._use(node), node.lineno, node.col_offset)

    def _use(self, node: ast.AST) -> Use:
        """What the nearest call around a string does with the file that the string may name."""
        for around in self.ancestors(node):
            if isinstance(around, ast.Call):
                last = dotted(around.func).rpartition(".")[2]
                if last in ("Path", "join", "PurePath", "format", "str"):
                    continue
                if last == "open":
                    given = [*around.args[1:2], *(k.value for k in around.keywords if k.arg == "mode")]
                    modes = "".join(str(mode.value) for mode in given if isinstance(mode, ast.Constant))
                    return "read" if set(modes).isdisjoint("wax+") else "write"
                if last.startswith(WRITES):
                    return "write"
                return "read" if last in _READERS else "other"
            if isinstance(around, ast.stmt):
                return "other"
        return "other"

    # ---- other languages

    @cached_property
    def _light(self) -> tuple[str, list[tuple[str, int]]]:
        """The code without comments and strings, and the strings with their lines."""
        return _tokenize(self.text, _LINE_COMMENTS.get(self.suffix, "//"))

    @property
    def bare_code(self) -> str:
        """The code of another language without its comments and strings."""
        return self._light[0]

    @cached_property
    def calls_by_name(self) -> dict[str, int]:
        """The functions that code of another language calls, each with the line of its first call."""
        names: dict[str, int] = {}
        for match in _CALL.finditer(self.bare_code):
            if match[1] not in names:
                names[match[1]] = self.bare_line(match.start())
        return names

    @cached_property
    def _bare_ends(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self.bare_code)]

    def bare_line(self, offset: int) -> int:
        """The line (from 1) at an offset of `bare_code`."""
        return bisect_left(self._bare_ends, offset) + 1

    # ---- places

    def spot(self, node: ast.expr | ast.stmt | ast.excepthandler, what: str) -> Spot:
        """The place of `node`."""
        return self.spot_at(node.lineno, what, node.col_offset)

    def spot_at(self, line: int, what: str, column: int = 0) -> Spot:
        """The place at `line` (from 1) and `column` (bytes, as the parser counts)."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        at = min(column, len(text))
        if len(text) <= _MAX_EXACT:
            at = len(text.encode("utf-8", "replace")[:column].decode("utf-8", "ignore"))
        quote = text[max(0, at - 60) :][:MAX_QUOTE].strip() if len(text) > MAX_QUOTE else text.strip()
        following = line
        while len(quote) < _MIN_QUOTE and following < len(self.lines):
            quote = f"{quote}\n{self.lines[following].strip()}".strip()[:MAX_QUOTE]
            following += 1
        return Spot(self.path, line, what, quote)


def _tokenize(text: str, comment: str) -> tuple[str, list[tuple[str, int]]]:
    code: list[str] = []
    strings: list[tuple[str, int]] = []
    block = comment == "//"
    at, line = 0, 1
    while at < len(text):
        char = text[at]
        if text.startswith(comment, at):
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif block and text.startswith("/*", at):
            end = text.find("*/", at)
            end = len(text) if end < 0 else end + 2
            code.append("\n" * text.count("\n", at, end))
            line += text.count("\n", at, end)
            at = end
        elif char in "\"'`" and not (char == "'" and at and (text[at - 1].isalnum() or text[at - 1] in ")]._")):
            end = at + 1
            while end < len(text) and text[end] not in (char, "\n"):
                end += 2 if text[end] == "\\" else 1
            strings.append((text[at + 1 : end], line))
            code.append('""')
            at = min(end, len(text)) + (end < len(text) and text[end] == char)
        else:
            line += char == "\n"
            code.append(char)
            at += 1
    return "".join(code), strings
