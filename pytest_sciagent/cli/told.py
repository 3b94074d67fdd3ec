"""What a command prints: lines for people as they come, or with --json one document for programs at its end."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

STANDARD_OUTPUT = Path("-")


class Told:
    """What a command has found out. `as_json`: whether lines are left out, and the document is printed."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.document: dict[str, Any] = {}

    def say(self, line: str, **facts: Any) -> None:
        """A line for people; `facts` stand in the document by their names."""
        self.document |= facts
        if not self.as_json:
            click.echo(line)

    def each(self, name: str, fact: Any, *lines: str) -> None:
        """One more `fact` in the document's list `name`; `lines` are what people read of it."""
        self.document.setdefault(name, []).append(fact)
        if not self.as_json:
            for line in lines:
                click.echo(line)


def show(text: str, document: Any, target: Path | None, notes: Iterable[str] = ()) -> None:
    """Print `text`, and write `document` to the file `target`, if any; where that is -, print the document alone.

    notes: what belongs before the one and into the other, an object.

    Raises:
        SciagentError: the file can't be written to.
    """
    from ..ledger.store import write_atomically

    told = tuple(notes)
    text = "".join(f"note: {note}\n" for note in told) + text
    document = document | {"notes": list(told)} if told else document
    plain = json.dumps(document, indent=1, ensure_ascii=target == STANDARD_OUTPUT, allow_nan=False) + "\n"
    click.echo(plain if target == STANDARD_OUTPUT else text, nl=False)
    if target is not None and target != STANDARD_OUTPUT:
        write_atomically(target, plain)


def tells(name: str, *lists: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the option --json, and a `Told` as its first argument.

    Args:
        name: the document's schema is `sciagent-NAME/1`.
        lists: lists that it has even where nothing is in them.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
        @functools.wraps(command)
        def telling(*args: Any, as_json: bool, **given: Any) -> Any:
            told = Told(as_json)
            told.document |= {"schema": f"sciagent-{name}/1", **{one: [] for one in lists}}
            code = command(told, *args, **given)
            if as_json:
                click.echo(json.dumps(told.document, indent=1, allow_nan=False))
            return code

        return telling

    return decorate
