"""The prompts: jinja2 templates, the shared prefix first, the single question last, all material fenced."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from ..digest import sha256_bytes
from .answers import CRITERION_ANSWER_SCHEMA
from .run_answers import RUN_ANSWERS, strict_schema
from .template_set import TemplateSet, fence, template_source

if TYPE_CHECKING:
    from ..evidence import EvidencePackage, Figure
    from ..models import Card, Criterion, Finding
    from ..models.examples import ExamplesFile
    from ..models.prior_art import Hit
    from ..tasks import Task

PARTS = {
    "criterion": ("system", "shared", "criterion"),
    "grouping": ("system", "grouping"),
    "target": ("system", "target"),
    "plan": ("system", "plan"),
    "novelty": ("system", "novelty"),
}
"""The templates that a prompt of each kind is made of."""
NAMES = tuple(dict.fromkeys(name for names in PARTS.values() for name in names))
_EXTRAS = ("data_sources", "required_analysis", "metrics", "comparisons", "expected_artifacts")


def packaged_source(name: str) -> str:
    """The source of the template `name` that the package carries."""
    return template_source(__package__, name)


class Templates(TemplateSet):
    """The words of all prompts about runs; see `template_check.read_templates` for what is asked of a user's own.

    examples: how people judged other findings, shown with the criteria; part of the digest of their words.
    """

    package = __package__
    parts = PARTS

    def __init__(self, own: Mapping[str, str] | None = None, examples: ExamplesFile | None = None) -> None:
        super().__init__(own)
        self.examples = examples

    def without_examples(self) -> Templates:
        """The same words, no examples."""
        return self if self.examples is None else Templates(self.own)

    def fixed(self, kind: str) -> dict[str, Any]:
        fixed = super().fixed(kind)
        if kind != "criterion" or self.examples is None:
            return fixed
        return {**fixed, "examples": [sha256_bytes(packaged_source("examples").encode()), self.examples.digest]}

    def answer_schema(self, kind: str) -> dict[str, Any]:
        return answer_schema(kind)

    def shared(self, nonce: str, task: Task | None, finding: Finding, package: EvidencePackage) -> str:
        """The prefix that all criteria of one finding share."""
        return self.render("shared", nonce, task=task, finding=finding, package=package)

    def criterion(self, nonce: str, criterion: Criterion, facts: Mapping[str, Any] | None, finding: Finding) -> str:
        """The last part: one criterion, with the facts that code computed for it.

        Facts name columns, keys, files and quotes of the run, so they are fenced as its material is. Examples follow
        where there are some; never one of this very `finding`.
        """
        extras = [(name.replace("_", " "), getattr(criterion, name)) for name in _EXTRAS if getattr(criterion, name)]
        shown = json.dumps(facts, indent=1, sort_keys=True, ensure_ascii=False) if facts else ""
        fenced = fence(nonce, "facts computed by program code", shown) if facts else ""
        asked = self.render("criterion", nonce, criterion=criterion, extras=extras, facts=fenced)
        shots = [] if self.examples is None else list(self.examples.of(criterion.id, finding.section.text))
        return asked + ("\n" + self.render("examples", nonce, examples=shots) if shots else "")

    def grouping(self, nonce: str, findings: Sequence[Finding]) -> str:
        return self.render("grouping", nonce, findings=findings)

    def target(self, nonce: str, card: Card, findings: Sequence[Finding]) -> str:
        return self.render("target", nonce, card=card, findings=findings)

    def plan(self, nonce: str, task: Task, finding: Finding) -> str:
        columns = {name: list(variables) for name, variables in task.manifest.variables.items()}
        return self.render("plan", nonce, task=task, finding=finding, columns=columns)

    def novelty(self, nonce: str, finding: Finding, hits: Sequence[Hit]) -> str:
        return self.render("novelty", nonce, finding=finding, hits=hits)

    def figure(self, nonce: str, number: int, count: int, figure: Figure) -> str:
        """The words before an image, always the package's own: which it is, and its file and caption, fenced."""
        return self.render("figure", nonce, number=number, count=count, figure=figure)


PACKAGED = Templates()
"""The package's own templates."""


@cache
def figure_digest() -> str:
    """The digest of what is fixed in the words before an image."""
    return sha256_bytes(packaged_source("figure").encode())


def answer_schema(kind: str) -> dict[str, Any]:
    """The JSON schema of the answer to a prompt of this kind."""
    if kind == "criterion":
        return CRITERION_ANSWER_SCHEMA
    return strict_schema(RUN_ANSWERS[kind])
