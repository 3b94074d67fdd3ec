"""The prompts of an induction. Each shows only what its stage may know; all material is fenced."""

from __future__ import annotations

from typing import Any

from ..judging.run_answers import strict_schema
from ..judging.template_set import TemplateSet
from .answers import ANSWERS


class InductionTemplates(TemplateSet):
    """The words of all prompts about a task whose rubric is made."""

    package = __package__
    parts = {kind: ("system", kind) for kind in ANSWERS}

    def answer_schema(self, kind: str) -> dict[str, Any]:
        return strict_schema({str(name): model for name, model in ANSWERS.items()}[kind])


INDUCTION = InductionTemplates()
"""The package's own templates."""
