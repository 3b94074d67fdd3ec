"""The prompts: jinja2 templates, the shared prefix first, the single question last, all material fenced."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache, partial
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

_PARTS = {
    "criterion": ("system", "shared", "criterion"),
    "grouping": ("system", "grouping"),
    "target": ("system", "target"),
    "plan": ("system", "plan"),
    "novelty": ("system", "novelty"),
}
_NO_MARK = "[...]"
_EXTRAS = ("data_sources", "required_analysis", "metrics", "comparisons", "expected_artifacts")


def _source(name: str) -> str:
    return resources.files(__package__).joinpath("templates", f"{name}.j2").read_text(encoding="utf-8")


@cache
def _environment() -> jinja2.Environment:
    import jinja2

    # Prompts are plain text, so nothing is escaped: material is cleaned and fenced instead.
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(_source),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        keep_trailing_newline=False,
        trim_blocks=True,
    )


def _fence(nonce: str, label: str, text: str) -> str:
    # A random mark, new for each finding and session, can't be closed by text that was written before. Were it in there
    # all the same, it is replaced, not cut out: what stood around it could join to a new one.
    head, body = (part.replace(nonce, _NO_MARK) for part in (one_line(label, 200), clean(text)))
    return f"<<<DATA {nonce} {head}\n{body}\nDATA {nonce}>>>"


def _render(name: str, nonce: str, **values: Any) -> str:
    fence = partial(_fence, nonce)
    return _environment().get_template(name).render(nonce=nonce, fence=fence, **values).strip() + "\n"


@cache
def template_digest(kind: str) -> str:
    """The digest of everything fixed in the prompts of one kind: the templates and the form of the answer."""
    sources = {name: sha256_bytes(_source(name).encode()) for name in _PARTS[kind]}
    return sha256_json({"templates": sources, "answer": answer_schema(kind)})


def system_text(nonce: str) -> str:
    return _render("system", nonce)


def shared_text(nonce: str, task: Task | None, finding: Finding, package: EvidencePackage) -> str:
    """The prefix that all criteria of one finding share."""
    return _render("shared", nonce, task=task, finding=finding, package=package)


def criterion_text(nonce: str, criterion: Criterion, facts: Mapping[str, Any] | None) -> str:
    """The last part: one criterion, with the facts that code computed for it.

    Facts name columns, keys, files and quotes of the run, so they are fenced as its material is.
    """
    extras = [(name.replace("_", " "), getattr(criterion, name)) for name in _EXTRAS if getattr(criterion, name)]
    shown = json.dumps(facts, indent=1, sort_keys=True, ensure_ascii=False) if facts else ""
    fenced = _fence(nonce, "facts computed by program code", shown) if facts else ""
    return _render("criterion", nonce, criterion=criterion, extras=extras, facts=fenced)


def figure_text(nonce: str, number: int, count: int, figure: Figure) -> str:
    """The words before an image: which it is, and its file and caption, fenced."""
    return _render("figure", nonce, number=number, count=count, figure=figure)


@cache
def figure_digest() -> str:
    """The digest of what is fixed in those words."""
    return sha256_bytes(_source("figure").encode())


def grouping_text(nonce: str, findings: Sequence[Finding]) -> str:
    return _render("grouping", nonce, findings=findings)


def target_text(nonce: str, card: Card, findings: Sequence[Finding]) -> str:
    return _render("target", nonce, card=card, findings=findings)


def plan_text(nonce: str, task: Task, finding: Finding) -> str:
    columns = {name: list(variables) for name, variables in task.manifest.variables.items()}
    return _render("plan", nonce, task=task, finding=finding, columns=columns)


def novelty_text(nonce: str, finding: Finding, hits: Sequence[Hit]) -> str:
    return _render("novelty", nonce, finding=finding, hits=hits)


def answer_schema(kind: str) -> dict[str, Any]:
    """The JSON schema of the answer to a prompt of this kind."""
    if kind == "criterion":
        return CRITERION_ANSWER_SCHEMA
    return strict_schema(RUN_ANSWERS[kind])
