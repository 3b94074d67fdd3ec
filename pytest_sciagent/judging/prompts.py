"""The prompts: jinja2 templates, the shared prefix first, the single question last, all material fenced."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache, cached_property, partial
from importlib import resources
from typing import TYPE_CHECKING, Any

from ..digest import sha256_bytes, sha256_json
from ..text import clean, one_line
from .answers import CRITERION_ANSWER_SCHEMA
from .run_answers import RUN_ANSWERS, strict_schema

if TYPE_CHECKING:
    import jinja2

    from ..evidence import EvidencePackage, Figure
    from ..models import Card, Criterion, Finding
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
_NO_MARK = "[...]"
_EXTRAS = ("data_sources", "required_analysis", "metrics", "comparisons", "expected_artifacts")


@cache
def packaged_source(name: str) -> str:
    """The source of the template `name` that the package carries."""
    return resources.files(__package__).joinpath("templates", f"{name}.j2").read_text(encoding="utf-8")


def _fence(nonce: str, label: str, text: str) -> str:
    # A random mark, new for each finding and session, can't be closed by text that was written before. Were it in there
    # all the same, it is replaced, not cut out: what stood around it could join to a new one.
    head, body = (part.replace(nonce, _NO_MARK) for part in (one_line(label, 200), clean(text)))
    return f"<<<DATA {nonce} {head}\n{body}\nDATA {nonce}>>>"


class Templates:
    """The words of all prompts: the package's templates, each replaced by the user's own where there is one.

    own: sources by name (`criterion`); see `template_check.read_templates` for what is asked of them.
    """

    def __init__(self, own: Mapping[str, str] | None = None) -> None:
        self.own = dict(own or {})
        self._digests: dict[str, str] = {}

    def source(self, name: str) -> str:
        """The source of the template `name`."""
        return self.own[name] if name in self.own else packaged_source(name)

    def digest(self, kind: str) -> str:
        """The digest of everything fixed in the prompts of one kind: the templates and the form of the answer."""
        if kind not in self._digests:
            sources = {name: sha256_bytes(self.source(name).encode()) for name in PARTS[kind]}
            self._digests[kind] = sha256_json({"templates": sources, "answer": answer_schema(kind)})
        return self._digests[kind]

    @cached_property
    def environment(self) -> jinja2.Environment:
        """What renders the templates. Unknown names are errors; a user's templates reach no Python through it."""
        import jinja2
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        make = ImmutableSandboxedEnvironment if self.own else jinja2.Environment
        # Prompts are plain text, so nothing is escaped: material is cleaned and fenced instead.
        return make(
            loader=jinja2.FunctionLoader(self.source),
            undefined=jinja2.StrictUndefined,
            autoescape=False,
            keep_trailing_newline=False,
            trim_blocks=True,
        )

    def render(self, name: str, nonce: str, **values: Any) -> str:
        """The text of one template."""
        template = self.environment.get_template(name)
        return template.render(nonce=nonce, fence=partial(_fence, nonce), **values).strip() + "\n"

    def system(self, nonce: str) -> str:
        return self.render("system", nonce)

    def shared(self, nonce: str, task: Task | None, finding: Finding, package: EvidencePackage) -> str:
        """The prefix that all criteria of one finding share."""
        return self.render("shared", nonce, task=task, finding=finding, package=package)

    def criterion(self, nonce: str, criterion: Criterion, facts: Mapping[str, Any] | None) -> str:
        """The last part: one criterion, with the facts that code computed for it.

        Facts name columns, keys, files and quotes of the run, so they are fenced as its material is.
        """
        extras = [(name.replace("_", " "), getattr(criterion, name)) for name in _EXTRAS if getattr(criterion, name)]
        shown = json.dumps(facts, indent=1, sort_keys=True, ensure_ascii=False) if facts else ""
        fenced = _fence(nonce, "facts computed by program code", shown) if facts else ""
        return self.render("criterion", nonce, criterion=criterion, extras=extras, facts=fenced)

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
