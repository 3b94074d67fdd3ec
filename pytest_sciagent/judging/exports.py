"""What was handed out, and under which options: where an answer belongs that fits no question now.

A help for people only. Nothing rests on these files; they may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection
from pathlib import Path
from typing import Literal

from pydantic import Field

from ..digest import sha256_bytes
from ..documents import load_json
from ..errors import SciagentError
from ..ledger.store import write_atomically
from ..models import Model
from .requests import Asked

FOLDER = "exports"
KEPT = 20
"""How many exports are remembered."""


class ExportOptions(Model):
    """The options that say whom questions are put to, and in which form."""

    name: str
    layout: Literal["item", "finding"]
    draw: int = 1
    canary: bool = False
    rubrics: tuple[str, ...] = ()
    templates: str | None = None
    tasks: tuple[str, ...] = ()
    ledger: str | None = None

    def arguments(self) -> list[str]:
        """As they are written on the command line."""
        found = ["--as", self.name, "--layout", self.layout]
        found += ["--draw", str(self.draw)] if self.draw != 1 else []
        found += ["--canary"] if self.canary else []
        for option, values in (("--rubric", self.rubrics), ("--tasks", self.tasks)):
            found += [part for value in values for part in (option, value)]
        for option, value in (("--templates", self.templates), ("--ledger", self.ledger)):
            found += [option, value] if value is not None else []
        return found


class Exported(Asked):
    """One question that was handed out, and the label of its run."""

    run: str


class Export(Model):
    """One export."""

    schema_: Literal["sciagent-export/1"] = Field("sciagent-export/1", alias="schema")
    time: str
    options: ExportOptions
    questions: tuple[Exported, ...]


def remember(folder: Path, export: Export) -> None:
    """Keep `export` below `folder`, and the last `KEPT` ones in all; where that is not possible, it is not."""
    if not export.questions:
        return
    content = json.dumps(export.as_json(), ensure_ascii=True) + "\n"
    name = f"{export.time.replace(':', '')}-{sha256_bytes(content.encode())[:8]}.json"
    with contextlib.suppress(SciagentError, OSError):
        write_atomically(folder / name, content)
        for old in sorted(folder.glob("*.json"))[:-KEPT]:
            old.unlink()


def remembered(folder: Path, keys: Collection[str]) -> dict[str, tuple[Export, Exported]]:
    """Those of `keys` that were handed out: in which export (the latest), and as which question."""
    found: dict[str, tuple[Export, Exported]] = {}
    for path in sorted(folder.glob("*.json"), reverse=True) if keys else ():
        with contextlib.suppress(SciagentError):
            export = load_json(path, Export)
            for question in export.questions:
                if question.key in keys:
                    found.setdefault(question.key, (export, question))
    return found
