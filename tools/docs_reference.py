"""The reference pages of the docs site, made from the code: options, commands, fixtures, hooks, exit codes, formats."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

import pytest_sciagent
from pytest_sciagent import api, hookspecs
from pytest_sciagent.cli import EXIT_CODES, cli
from pytest_sciagent.collection import fixtures, options
from pytest_sciagent.schemas import schemas


def pages() -> dict[str, str]:
    """Every page by its place."""
    found = {
        "reference/options.md": options_page(),
        "reference/commands.md": commands_page(),
        "reference/fixtures.md": fixtures_page(),
        "reference/exit-codes.md": exit_codes_page(),
        "reference/python.md": python_page(),
        "reference/formats.md": formats_page(),
        "reference/modules.md": modules_page(),
    }
    return found | {f"reference/formats/{name}.md": schema_page(name, schema) for name, schema in named_schemas()}


def _plain(text: str) -> str:
    """Text in which nothing is markup but code spans."""
    parts = text.split("`")
    for n in range(0, len(parts), 2):
        parts[n] = re.sub(r"([<*_\[\]])", r"\\\1", parts[n])
    return "`".join(parts)


def _cell(text: str) -> str:
    """The same in the cell of a table."""
    return _plain(" ".join(str(text).split())).replace("|", "\\|")


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def _code(text: str) -> str:
    return f"`{text}`"


# ---- pytest


class Recorder:
    """Takes the options down that the plugin declares to pytest, by groups, and their twins in configuration files."""

    def __init__(self) -> None:
        self.groups: dict[str, dict[str, dict[str, Any]]] = {}
        self.twins: dict[str, str] = {}

    def getgroup(self, name: str, description: str = "") -> Recorder:
        self.groups[description] = {}
        return self

    def addoption(self, name: str, **how: Any) -> None:
        next(reversed(self.groups.values()))[name] = how

    def addini(self, name: str, text: str, type: str = "string", default: Any = None) -> None:
        self.twins[name] = type


def recorded_options() -> Recorder:
    """The options and settings of a session."""
    recorder = Recorder()
    options.add_options(recorder)  # type: ignore[arg-type]
    return recorder


TWINS = {"string": "one value", "args": "words, white space between them", "bool": "`true` or `false`"}
"""What a setting of each of pytest's types holds."""


def options_page() -> str:
    recorder = recorded_options()
    text = (
        "# Options and settings of a session\n\nOptions of `pytest`; `pytest --help` says the same. Most have a twin, "
        "a setting under `[pytest]` in `pytest.ini`, or `[tool.pytest.ini_options]` in `pyproject.toml`. An option on "
        "the command line wins.\n"
    )
    for title, group in recorder.groups.items():
        text += f"\n## {title.removeprefix('sciagent: ').capitalize()}\n"
        for name, how in group.items():
            text += f"\n### {_code(_spelled(name, how))} {{: #{name.removeprefix('--sciagent-')} }}\n\n"
            text += f"{_plain(how['help'].replace('%%', '%'))}\n\n"
            if "choices" in how:
                text += f"One of {', '.join(map(_code, how['choices']))}.\n\n"
            twin = name.removeprefix("--").replace("-", "_")
            told = f"{_code(twin)}, {TWINS[recorder.twins[twin]]}" if twin in recorder.twins else "none"
            text += f"Setting: {told}.\n"
    return text


def _spelled(name: str, how: dict[str, Any]) -> str:
    return f"{name}={how['metavar']}" if how.get("metavar") else name


def fixtures_page() -> str:
    text = "# Fixtures and hooks\n\n## Fixtures\n\nFor criteria of your own ([how](../rubrics.md)).\n\n"
    found = [(name, value) for name, value in vars(fixtures).items() if isinstance(value, _fixture_type())]
    text += _table(
        ("fixture", "what it is"), [(_code(name), _cell(inspect.getdoc(value) or "")) for name, value in found]
    )
    text += "\n## Hooks\n\nFor a `conftest.py` or a plugin.\n"
    for name, value in vars(hookspecs).items():
        if name.startswith("pytest_sciagent_"):
            signature = str(inspect.signature(value)).replace("'", "")
            text += f"\n### `{name}`\n\n```python\ndef {name}{signature}: ...\n```\n\n{inspect.getdoc(value)}\n"
    return text


def _fixture_type() -> type:
    return type(fixtures.run)


def exit_codes_page() -> str:
    heads = ("exit code", "meaning")
    session, command = (
        [(str(code), _cell(meaning)) for code, meaning in codes.items()] for codes in (options.EXIT_CODES, EXIT_CODES)
    )
    return (
        "# Exit codes\n\n[Gates](../gates.md#exit-codes) tells how gates and failing criteria make them.\n\n"
        f"## Of a session (`pytest`)\n\n{_table(heads, session)}\n"
        "## Of a command (`sciagent`)\n\nA command whose help names codes of its own has those instead.\n\n"
        f"{_table(heads, command)}"
    )


# ---- commands


def commands(
    command: click.Command = cli, path: tuple[str, ...] = ("sciagent",)
) -> Iterator[tuple[str, click.Command]]:
    """Every command by its full name, groups before their commands."""
    yield " ".join(path), command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from commands(inner, (*path, name))


def commands_page() -> str:
    text = "# Commands\n\n`sciagent COMMAND --help` shows the same.\n"
    for name, command in commands():
        context = click.Context(command, info_name=name, max_content_width=110, terminal_width=110)
        told = command.get_help(context).rstrip()
        text += f"\n## {name}\n\n```text\n{told}\n```\n"
    return text


# ---- Python


def python_page() -> str:
    text = (
        "# Python\n\nThe same numbers without pytest: in a notebook "
        "([examples/notebook.ipynb](../repository/examples/notebook.ipynb)) or a program of your own. "
        "Everything here is imported from `pytest_sciagent`.\n"
    )
    for name in ("load_run", "score", "judge", "compare"):
        text += f"\n::: pytest_sciagent.api.calls.{name}\n"
    for name in ("Scores", "Compared"):
        assert hasattr(api, name)
        text += f"\n::: pytest_sciagent.api.scores.{name}\n"
    text += "\n## For criteria and judges of your own\n"
    for place in ("judging.judge.Judge", "judging.clients.Prompt", "checks.base.CheckResult", "runs.run.Run"):
        text += f"\n::: pytest_sciagent.{place}\n"
    return text


# ---- the house


def modules_page() -> str:
    """Every module by its package, with the first paragraph of what it says of itself."""
    package = Path(pytest_sciagent.__file__).parent
    text = "# Modules\n\nWhat each module is for, in its own words. [The house](../architecture.md) has the whole.\n"
    for folder in [package, *sorted({path.parent for path in package.rglob("__init__.py")} - {package})]:
        name = ".".join(folder.relative_to(package.parent).parts)
        files = sorted(folder.glob("*.py"), key=lambda path: (path.stem != "__init__", path.stem))
        rows = [("" if path.stem == "__init__" else _code(path.stem), _said(path)) for path in files]
        text += f"\n## {_code(name)}\n\n{_table(('module', 'what it is for'), rows)}"
    return text


def _said(path: Path) -> str:
    told = ast.get_docstring(ast.parse(path.read_text("utf-8")))
    return _cell(_first_line(told or ""))


# ---- formats


def named_schemas() -> list[tuple[str, dict[str, Any]]]:
    """Each schema by its short name."""
    return [
        (file.removeprefix("sciagent-").removesuffix("-1.schema.json"), json.loads(text))
        for file, text in schemas().items()
    ]


def formats_page() -> str:
    rows = [
        (f"[sciagent-{name}/1](formats/{name}.md)", _cell(_first_line(schema.get("description", ""))))
        for name, schema in named_schemas()
    ]
    return (
        "# Formats\n\nEvery file that the program reads or writes, made from the models that read it. "
        "`sciagent schema FOLDER` writes the JSON Schemas.\n\n" + _table(("schema", "what it is"), rows)
    )


def _first_line(text: str) -> str:
    return text.strip().split("\n\n")[0]


def schema_page(name: str, schema: dict[str, Any]) -> str:
    """One format: its keys, and those of its parts."""
    text = f"# sciagent-{name}/1\n\n{_prose(schema)}{_keys(schema)}"
    for part, inner in sorted(schema.get("$defs", {}).items()):
        text += f"\n## {part}\n\n{_prose(inner)}{_keys(inner)}"
    return text


def _prose(schema: dict[str, Any]) -> str:
    told = "\n".join(line.strip() for line in schema.get("description", "").splitlines())
    return _plain(told) + "\n\n" if told else ""


def _keys(schema: dict[str, Any]) -> str:
    if "properties" not in schema:
        return f"{_type(schema)}\n"
    must = set(schema.get("required", ()))
    rows: list[tuple[str, ...]] = [
        (
            _code(key),
            _type(inner),
            "yes" if key in must else _default(inner),
            _cell(inner.get("description", "")),
        )
        for key, inner in schema["properties"].items()
    ]
    if not any(row[3] for row in rows):
        return _table(("key", "type", "required"), [row[:3] for row in rows])
    return _table(("key", "type", "required", "what it is"), rows)


def _default(schema: dict[str, Any]) -> str:
    return f"no: {_code(json.dumps(schema['default']))}" if "default" in schema else "no"


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        part = schema["$ref"].rsplit("/", 1)[-1]
        return f"[{part}](#{part.lower()})"
    if "const" in schema:
        return _code(json.dumps(schema["const"]))
    if "enum" in schema:
        return ", ".join(_code(json.dumps(value)) for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_type(inner) for inner in schema["anyOf"])
    kind = schema.get("type", "any")
    if kind == "array":
        if "prefixItems" in schema:
            return "list of " + ", ".join(_type(inner) for inner in schema["prefixItems"])
        return f"list of {_type(schema.get('items', {}))}"
    if kind == "object":
        inner = schema.get("additionalProperties")
        return f"mapping to {_type(inner)}" if isinstance(inner, dict) else "mapping"
    return str(kind) if "pattern" not in schema else f"{kind} {_code(schema['pattern'])}"
