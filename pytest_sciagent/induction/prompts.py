"""The prompts of an induction. Each shows only what its stage may know; all material is fenced."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..judging.run_answers import strict_schema
from ..judging.template_set import TemplateSet
from ..models import QuestionKind
from .answers import ANSWERS
from .states import digest_of


class InductionTemplates(TemplateSet):
    """The words of all prompts about a task whose rubric is made."""

    package = __package__
    parts = {kind: ("system", kind) for kind in ANSWERS}

    def answer_schema(self, kind: str) -> dict[str, Any]:
        return strict_schema({str(name): model for name, model in ANSWERS.items()}[kind])


INDUCTION = InductionTemplates()
"""The package's own templates."""


def inputs_of(kinds: Iterable[QuestionKind], *shown: object) -> str:
    """The digest of what a stage makes its state from: the words of the prompts of `kinds`, and what they show."""
    return digest_of({kind: INDUCTION.digest(kind) for kind in kinds}, *shown)
