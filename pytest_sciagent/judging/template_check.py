"""A user's own prompt templates, read and tried out before anybody is asked: each must say what its prompt is for."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ..documents import load_json, read_text
from ..errors import SciagentError
from ..models import Criterion, Finding, Levels, Section
from ..models.examples import ExamplesFile
from ..models.prior_art import Hit
from ..text import one_line
from .prompts import NAMES, Templates

EXAMPLES = "examples.json"
_SUFFIX = ".j2"
_NONCE = "0123456789abcdef"
_FENCED = re.compile(rf"<<<DATA {_NONCE}.*?\nDATA {_NONCE}>>>", re.DOTALL)


def read_templates(folder: Path) -> Templates:
    """The templates with those in `folder` in place of the package's: `criterion.j2` replaces that of this name; and
    the examples in `examples.json` (`sciagent examples` writes it), where there are some.

    Each is rendered once with made-up values. It must render, use no name that its prompt has not, show everything
    that is asked or judged by, and show what comes from a run within `fence` only.

    Raises:
        SciagentError: no template in `folder`, or one that does not do so, with its file and line.
    """
    paths = {path.name.removesuffix(_SUFFIX): path for path in sorted(folder.glob(f"*{_SUFFIX}"))}
    examples = load_json(folder / EXAMPLES, ExamplesFile) if (folder / EXAMPLES).is_file() else None
    if not paths and examples is None:
        raise SciagentError(f"no prompt template here; names are {', '.join(n + _SUFFIX for n in NAMES)}", path=folder)
    for name, path in paths.items():
        if name not in NAMES:
            near = difflib.get_close_matches(name, NAMES, n=1)
            hint = f"did you mean {near[0] + _SUFFIX!r}?" if near else f"names are {', '.join(NAMES)}"
            raise SciagentError(f"no prompt has a template of this name; {hint}", path=path)
    templates = Templates({name: read_text(path) for name, path in paths.items()}, examples)
    for name, path in paths.items():
        _check(templates, name, path)
    return templates


def _check(templates: Templates, name: str, path: Path) -> None:
    import jinja2
    from jinja2 import meta

    first, *further = _probes(name)
    try:
        tree = templates.environment.parse(templates.own[name])
        known = {"nonce", "fence", *first}
        if unknown := sorted(meta.find_undeclared_variables(tree) - known):
            raise SciagentError(f"no such name: {', '.join(unknown)}; known: {', '.join(sorted(known))}", path=path)
        if any(meta.find_referenced_templates(tree)):
            raise SciagentError("a prompt template can't include or extend another: write it whole", path=path)
        text = templates.render(name, _NONCE, **first)
        for values in further:
            templates.render(name, _NONCE, **values)
    except jinja2.TemplateSyntaxError as error:
        raise SciagentError(one_line(str(error.message), 300), path=path, line=error.lineno) from None
    except SciagentError:
        raise
    except Exception as error:  # whatever a template calls may raise anything
        raise SciagentError(f"it can't be rendered: {one_line(str(error), 300)}", path=path) from None
    _check_text(name, text, path)


def _check_text(name: str, text: str, path: Path) -> None:
    outside = _FENCED.sub("", text)
    for told, what in _must_show(name):
        if told not in text:
            raise SciagentError(f"it leaves out {what}: the judge would not know what it is asked", path=path)
    for material in _MATERIAL:
        if material in outside:
            raise SciagentError(
                "it shows material of the run or the task outside of fence(label, text): a judge could take it for "
                "instructions",
                path=path,
            )


# ---- made-up values. What starts with "given" stands for material that must be fenced.

_MATERIAL = ("given objective", "given guide", "given section", "given evidence", "given files", "given title")


def _finding() -> Finding:
    section = Section(title="given heading", start=1, end=2, text="given section")
    return Finding(id="finding_1", number=1, title="given heading", section=section)


def _criterion() -> Criterion:
    levels = Levels(full="level one holds", half="level half holds", zero="level zero holds")
    return Criterion(
        id="probe.criterion",
        dimension="probe",
        weight=1,
        question="is it asked",
        boundary="what it does not judge",
        levels=levels,
        judge=True,
    )


def _task() -> SimpleNamespace:
    manifest = SimpleNamespace(title="some task", analysis_unit="year", t0="2020-01-01")
    return SimpleNamespace(manifest=manifest, objective="given objective", data_guide="given guide")


def _probes(name: str) -> list[Mapping[str, Any]]:
    """The names that the template `name` may use, with made-up values: first all of them, then what may be lacking."""
    package = SimpleNamespace(
        pieces=[SimpleNamespace(label="output/a.txt", text="given evidence", cut=0)],
        inventory=["given files"],
        left_out=["given files left out"],
    )
    card = SimpleNamespace(
        object="card object",
        scope="card scope",
        direction="card direction",
        quantities=[SimpleNamespace(key="slope", unit="ppm", role="core")],
    )
    hits = [Hit(id="hit_1", title="given title", abstract="given abstract")]
    facts = f"<<<DATA {_NONCE} facts\n{{}}\nDATA {_NONCE}>>>"
    full: dict[str, dict[str, Any]] = {
        "system": {},
        "shared": {"task": _task(), "finding": _finding(), "package": package},
        "criterion": {"criterion": _criterion(), "extras": [("metrics", ["r"])], "facts": facts},
        "grouping": {"findings": [_finding()]},
        "target": {"card": card, "findings": [_finding()]},
        "plan": {"task": _task(), "finding": _finding(), "columns": {"series.csv": ["value_column"]}},
        "novelty": {"finding": _finding(), "hits": hits},
    }
    lacking: dict[str, dict[str, Any]] = {"shared": {"task": None}, "criterion": {"extras": [], "facts": ""}}
    return [full[name], full[name] | lacking.get(name, {})]


def _must_show(name: str) -> Iterator[tuple[str, str]]:
    """What the text of the template `name` has to hold, and what that is."""
    finding = [("given section", "the finding's own text")]
    shown: dict[str, list[tuple[str, str]]] = {
        "system": [(f"DATA {_NONCE}", "the mark of fenced material ({{ nonce }})")],
        "shared": [("given evidence", "the evidence (package.pieces)"), ("given objective", "the task's objective")],
        "criterion": [
            ("probe.criterion", "the criterion's id"),
            ("is it asked", "the criterion's question"),
            ("what it does not judge", "what the criterion does not judge (boundary)"),
            ("level one holds", "the condition of level 1"),
            ("level half holds", "the condition of level 0.5"),
            ("level zero holds", "the condition of level 0"),
            (f"<<<DATA {_NONCE} facts", "the facts that code computed"),
        ],
        "grouping": [("finding_1", "the findings' ids"), *finding],
        "target": [*((f"card {part}", f"the card's {part}") for part in ("object", "scope", "direction")), *finding],
        "plan": [("given guide", "the data guide"), ("value_column", "the columns"), *finding],
        "novelty": [("hit_1", "the publications' ids"), ("given title", "the publications' titles"), *finding],
    }
    yield from shown[name]
