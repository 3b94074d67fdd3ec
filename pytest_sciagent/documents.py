"""YAML and JSON documents read into models, with errors that name the file, the line and the nearest known key."""

from __future__ import annotations

import difflib
import json
import re
import stat
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError
from yaml.reader import ReaderError

from .errors import SciagentError
from .text import one_line

M = TypeVar("M", bound=BaseModel)
MAX_BYTES = 50_000_000
_MAX_DIGITS = 1_000
MAX_DEPTH = 60


class _Loader(yaml.SafeLoader):
    """YAML 1.2 core scalars only: dates and words such as `no` stay text. Aliases and duplicate keys are refused."""

    yaml_implicit_resolvers: dict[str, Any] = {}

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(
                problem="aliases (*name) are not read here: write it out", problem_mark=event.start_mark
            )
        self._depth = getattr(self, "_depth", 0) + 1
        if self._depth > MAX_DEPTH:
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem=f"nested deeper than {MAX_DEPTH}", problem_mark=mark)
        node: yaml.Node | None = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str | int | float | bool | None):
                raise yaml.MarkedYAMLError(problem="a key must be text or a number", problem_mark=key_node.start_mark)
            if key in seen:
                raise yaml.MarkedYAMLError(problem=f"duplicate key {key!r}", problem_mark=key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


_SCALARS = (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("int", r"^[-+]?[0-9]+$", "-+0123456789"),
    ("float", r"^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.inf|\.nan)$", "-+0123456789."),
)
for _tag, _pattern, _first in _SCALARS:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), list(_first))


def is_there(path: Path) -> bool:
    """Whether `path` is a file.

    Raises:
        SciagentError: nobody can tell, since a folder on the way may not be looked into.
    """
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a name that no file can have
        return False
    except OSError as error:
        raise SciagentError(f"can't be looked for: {error.strerror}", path=path) from None


def read_text(path: Path) -> str:
    """The text of a UTF-8 document of at most 50 MB.

    Raises:
        SciagentError: missing, too large, not UTF-8.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise SciagentError(f"larger than {MAX_BYTES:,} bytes", path=path)
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SciagentError("no such file", path=path) from None
    except UnicodeDecodeError as error:
        raise SciagentError(f"not UTF-8 (byte {error.start})", path=path) from None
    except OSError as error:
        raise SciagentError(f"can't be read: {error.strerror}", path=path) from None


def load_yaml(path: Path, model: type[M]) -> M:
    """Read the YAML file `path` into `model`.

    Raises:
        SciagentError: with file and line, for a syntax error, an unknown or duplicate key, or a bad value.
    """
    return parse_yaml(read_text(path), model, path)


def parse_yaml(text: str, model: type[M], path: Path | str) -> M:
    """As `load_yaml`, for `text` that came from `path`."""
    try:
        node, data = _composed(text)
    except ReaderError as error:
        message = f"the character U+{error.character:04X} may not stand in YAML"
        line = text.count("\n", 0, error.position) + 1
        raise SciagentError(f"not readable as YAML: {message}", path=path, line=line) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        message = error.problem or str(error)
        raise SciagentError(
            f"not readable as YAML: {message}", path=path, line=mark.line + 1 if mark else None
        ) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SciagentError(f"not readable as YAML: {one_line(str(error), 200)}", path=path) from None
    if node is None:
        raise SciagentError("the document is empty", path=path)
    return _validated(data, model, path, node)


def line_of(path: Path, *steps: int | str) -> int | None:
    """The line of a value in the YAML file `path`, such as `line_of(path, "tasks", 1)`; None where it can't be told.

    Raises:
        SciagentError: the file can't be read.
    """
    return _line(_compose(read_text(path)), steps)


def _composed(text: str) -> tuple[yaml.Node | None, Any]:
    """The one document in `text`, as nodes, which know their lines, and as plain data; no node where it is empty."""
    loader = _Loader(text)  # looks at the first characters already
    try:
        node = loader.get_single_node()
        return node, None if node is None else loader.construct_document(node)
    finally:
        loader.dispose()


def load_json(path: Path, model: type[M]) -> M:
    """Read the JSON file `path` into `model`; NaN, duplicate keys and unknown keys are refused.

    Raises:
        SciagentError: with file and, where it can be told, line.
    """
    return parse_json(read_text(path), model, path)


def parse_json(text: str, model: type[M], path: Path | str) -> M:
    """As `load_json`, for `text` that came from `path`."""
    data = plain_json(text, path)
    try:
        return model.model_validate(data)
    except ValidationError:
        return _validated(data, model, path, _compose(text))


def json_text(value: Any) -> str:
    """A JSON document as files of ours hold it: indented, letters as they are, a line end; NaN is an error."""
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def plain_json(text: str, path: Path | str) -> Any:
    """`text` as plain data; NaN, infinities and duplicate keys are refused.

    Raises:
        SciagentError: with file and line.
    """

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(items)
        if len(result) < len(items):
            seen: set[str] = set()
            twice = next(k for k, _ in items if k in seen or seen.add(k))  # type: ignore[func-returns-value]
            raise ValueError(f"duplicate key {twice!r}")
        return result

    def constant(name: str) -> None:
        raise ValueError(f"{name} is not a JSON number")

    def integer(digits: str) -> int:
        if len(digits) > _MAX_DIGITS:
            raise ValueError(f"a whole number of {len(digits):,} digits, more than {_MAX_DIGITS:,}")
        return int(digits)

    try:
        return json.loads(text, object_pairs_hook=pairs, parse_constant=constant, parse_int=integer)
    except json.JSONDecodeError as error:
        raise SciagentError(f"not readable as JSON: {error.msg}", path=path, line=error.lineno) from None
    except ValueError as error:
        raise SciagentError(f"not readable as JSON: {one_line(str(error), 200)}", path=path) from None
    except RecursionError:
        raise SciagentError("not readable as JSON: nested too deeply", path=path) from None


def _compose(text: str) -> yaml.Node | None:
    """JSON is close enough to YAML to find the line of a value; where it is not, there is no line."""
    try:
        node: yaml.Node | None = yaml.compose(text, Loader=_Loader)
    except (yaml.YAMLError, RecursionError):
        return None
    return node


def _validated(data: Any, model: type[M], path: Path | str, node: yaml.Node | None) -> M:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        # A key written wrongly is missing under its right name, too: its own error says more.
        first = next((e for e in errors if e["type"] == "extra_forbidden"), errors[0])
        more = error.error_count() - 1
        message = _explain(first, model, data)
        if more:
            message += f" (and {more} more problem{'s' if more > 1 else ''})"
        raise SciagentError(message, path=path, line=_line(node, first["loc"])) from None


def _explain(error: Any, model: type[BaseModel], data: Any) -> str:
    loc = error["loc"]
    where = _where(loc, data)
    if error["type"] == "extra_forbidden":
        known = _known_keys(model, loc[:-1])
        near = difflib.get_close_matches(str(loc[-1]), known, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else f"; known keys: {', '.join(known)}"
        inside = f" in {_where(loc[:-1], data)}" if len(loc) > 1 else ""
        return f"unknown key {str(loc[-1])!r}{inside}{hint}"
    if error["type"] == "missing":
        inside = f" in {_where(loc[:-1], data)}" if len(loc) > 1 else ""
        return f"missing key {str(loc[-1])!r}{inside}"
    if error["type"] == "value_error":
        text = str(error["ctx"]["error"])
        return f"{where}: {text}" if loc else text
    if error["type"] == "model_type" and not loc:
        return "the document should be a mapping of keys to values"
    given = f" (got {one_line(repr(error['input']), 60)})" if error.get("input") is not None else ""
    return f"{where or 'document'}: {error['msg'][0].lower()}{error['msg'][1:]}{given}"


def _where(loc: tuple[int | str, ...], data: Any) -> str:
    """`loc` for people: list entries by their id where they have one."""
    parts: list[str] = []
    for step in loc:
        inner = data[step] if isinstance(data, list) and isinstance(step, int) and step < len(data) else None
        if inner is not None:
            name = inner.get("id") or inner.get("key") or inner.get("path") if isinstance(inner, dict) else None
            parts.append(f"[{one_line(str(name), 60)}]" if name else f"[{step}]")
            data = inner
        else:
            parts.append(f".{step}" if parts else str(step))
            data = data.get(step) if isinstance(data, dict) else None
    return "".join(parts)


def _known_keys(model: type[BaseModel], loc: tuple[int | str, ...]) -> list[str]:
    """The keys allowed at `loc`, walking down the model's fields."""
    current: Any = model
    for step in loc:
        # A list index, or a key of a plain mapping, stays within the model found so far.
        fields = {(f.alias or name): f.annotation for name, f in current.model_fields.items()} if current else {}
        if step in fields:
            current = _inner_model(fields[step])
    return sorted(f.alias or name for name, f in current.model_fields.items()) if current else []


def _inner_model(annotation: Any) -> Any:
    """The model inside a list, tuple, dict or optional annotation."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in get_args(annotation):
        found = _inner_model(argument)
        if found is not None:
            return found
    return None


def _line(node: yaml.Node | None, loc: tuple[int | str, ...]) -> int | None:
    """The line (from 1) of the innermost part of `loc` that exists in the document."""
    if node is None:
        return None
    line = node.start_mark.line + 1
    for step in loc:
        if isinstance(node, yaml.MappingNode):
            pair = next(((k, v) for k, v in node.value if getattr(k, "value", None) == str(step)), None)
            if pair is None:
                return line
            line, node = pair[0].start_mark.line + 1, pair[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            line = node.start_mark.line + 1
        else:
            return line
    return line


def shipped_folder(kind: str) -> Path:
    """Where the package's own `rubrics` or `tasks` lie: inside the wheel, or beside the package in a checkout."""
    here = Path(__file__).parent
    inside = here / "_shipped" / kind
    return inside if inside.is_dir() else here.parent / kind
