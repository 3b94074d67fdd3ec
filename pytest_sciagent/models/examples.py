"""Labelled examples that are shown with a criterion (schema sciagent-examples/1), and how they were chosen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Literal

from pydantic import Field

from ..digest import sha256_json
from .base import Model, Name, NonEmpty, Sha256, Size
from .verdict import Level

_REPEAT = re.compile(r"\.r[0-9]+$")


def first_of(run: str) -> str:
    """The name of a run without the number of its repeat."""
    return _REPEAT.sub("", run)


class Example(Model):
    """What people said of one criterion of a finding: its text (cut), the level, and why where they told.

    run and finding tell where it comes from; they are not shown.
    """

    criterion: Name
    run: NonEmpty
    finding: NonEmpty
    text: NonEmpty
    level: Level
    reason: str | None = None


class ExamplesFile(Model):
    """Examples, and the split that they come from: labels of `shown` runs only; `held_out` ones are for measuring.

    shots: at most so many for each criterion. seed: of the split and the choice. labels_digest: of all labels of both.
    """

    schema_: Literal["sciagent-examples/1"] = Field("sciagent-examples/1", alias="schema")
    shots: Size
    seed: Size
    rubric: NonEmpty
    rubric_digest: Sha256
    raters: tuple[str, ...]
    labels_digest: Sha256
    shown: tuple[str, ...]
    held_out: tuple[str, ...]
    examples: tuple[Example, ...] = Field(min_length=1)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of what judges are shown, and of nothing else."""
        return sha256_json([[one.criterion, one.text, one.level, one.reason] for one in self.examples])

    def holds_out(self, run: str) -> bool:
        """Whether no example is of this run, or of a repeat of it."""
        return first_of(run) not in {first_of(one) for one in self.shown}

    def of(self, criterion: str, text: str) -> Iterator[Example]:
        """Those of a criterion; never that of the finding with this `text`: it would hand out the answer."""
        for one in self.examples:
            if one.criterion == criterion and not text.startswith(one.text):
                yield one
