"""The hand-off for people: open prompts as one Markdown form that is filled in by hand, and its answers read back.

Whatever comes from a run stands indented: no line of it begins at the margin, where the form's own marks do. So it can
neither end its block nor forge a section or an answer, in a Markdown viewer or here. Each section carries the digest of
what it shows and of the keys of its answers: a question that was edited, or an answer moved below another question, is
refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import JsonValue, RootModel

from ..digest import sha256_json
from ..documents import parse_yaml, read_text
from ..errors import SciagentError
from ..evidence.citations import QUOTE_RULE
from ..models.handoff import PromptLine
from ..text import clean
from .handoff import Answer, Answers

MARK = "<!-- sciagent-form/1 -->"
_SECTION = re.compile(r"<!-- sciagent-question ([0-9a-f]{64}) -->\s*$")
_ANSWER = re.compile(r"```yaml ([0-9a-f]{64})\s*$")
_END = "```"
_MARGIN = "    "
_LEVELS = ("zero", "full", "half")
_HEAD = f"""{MARK}
# Questions to answer

Write below each *Your answer*, between its two lines of ```. Leave blank what you don't answer, change nothing else.
Text goes on the lines below `|-`, indented as it stands there; a condition is `true` or `false`. For another citation
write `- file` and `quote` once more.

A level above 0 needs a quote that counts: {QUOTE_RULE}.

What stands indented is the material of a question. It may come from the run that is judged: it is nothing to obey.
"""
_CRITERION = """Say whether the condition of each level holds, as it is written: `zero` for level 0, `full` for level 1,
`half` for level 0.5. `rationale` is what the evidence shows, `citations` are the passages that the judgement rests on,
`file` as the evidence names it.
"""


class _Filled(RootModel[dict[str, JsonValue]]):
    """An answer as it was filled in."""


def form_of(lines: Iterable[str], names: Mapping[str, str]) -> str:
    """The exported `lines` (JSON, see `handoff.export_lines`) as one form, a section a prompt. names: how criteria are
    named to people, by their ids."""
    sections = [_section(n, PromptLine.model_validate_json(line), names) for n, line in enumerate(lines, start=1)]
    return "\n".join([_HEAD, *sections])


def _section(number: int, line: PromptLine, names: Mapping[str, str]) -> str:
    asked = ", ".join(names.get(id, id) for id in line.asks.criteria)
    keys = {"": line.id} if line.keys is None else dict(line.keys)
    told = {"task": line.asks.task, "run": line.asks.run, "finding": line.asks.finding, "title": line.asks.title}
    about = [f"{name}: {value}" for name, value in told.items() if value is not None]
    shown = _indented([*about, "", line.system, "", line.user])
    parts = [
        f"<!-- sciagent-question {_digest(shown, keys.values())} -->",
        f"## Question {number}: {asked}\n",
        "### What is asked\n",
        *shown,
        "\n### What the answer has to look like\n",
        *([_CRITERION] if line.kind in ("criterion", "criteria") else [*_schema(line.answer_schema), ""]),
    ]
    for name, key in keys.items():
        schema = line.answer_schema if line.keys is None else _part(line.answer_schema, name)
        parts += [
            f"### Your answer{name and f': {names.get(name, name)}'}\n",
            f"```yaml {key}",
            *_blank(schema),
            f"{_END}\n",
        ]
    return "\n".join(parts)


def _part(schema: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part: Mapping[str, Any] = schema["properties"][name]
    return part


def _indented(texts: Iterable[str]) -> list[str]:
    """`texts` as lines of an indented block, as an editor leaves them that drops blanks at the ends of lines."""
    lines = clean("\n".join(texts).replace("\r\n", "\n").replace("\r", "\n")).split("\n")
    return [(_MARGIN + line).rstrip() for line in lines]


def _schema(schema: Mapping[str, Any]) -> list[str]:
    return ["The form is that of this JSON schema:\n", *_indented([json.dumps(schema, indent=1, ensure_ascii=False)])]


def _blank(schema: Mapping[str, Any]) -> Iterator[str]:
    """An answer with nothing filled in yet."""
    for name, value in schema["properties"].items():
        if name == "citations":
            yield from ("citations:", "- file:", "  quote: |-", "    ")
        elif value.get("type") == "string":
            yield from (f"{name}: |-", "  ")
        else:
            yield f"{name}: []" if value.get("type") == "array" else f"{name}:"


def _digest(shown: Iterable[str], keys: Iterable[str]) -> str:
    """Of what a section shows, without lines that are blank (editors add and drop them), and of its answers' keys."""
    return sha256_json([[line for line in shown if line], sorted(keys)])


def read_form(path: Path) -> Answers | None:
    """The answers in the form `path`; None where the file is no form. What is left blank is no answer.

    Raises:
        SciagentError: the file can't be read.
    """
    text = read_text(path).removeprefix("\ufeff")
    if not text.startswith(MARK):
        return None
    lines = text.replace("\r\n", "\n").split("\n")
    starts = [n for n, line in enumerate(lines) if line.startswith("<!-- sciagent-question")]
    given: list[Answer] = []
    refused: list[SciagentError] = []
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        try:
            blocks = _blocks(lines, start, end, path)
            _check_section(lines, start, end, [key for key, _, _ in blocks], path)
        except SciagentError as error:
            refused.append(error)
            continue
        for key, at, body in blocks:
            try:
                answer = _filled(body, at, path)
            except SciagentError as error:
                refused.append(error)
            else:
                if answer is not None:
                    given.append(Answer(key, json.dumps(answer, ensure_ascii=False), None, at + 1))
    return Answers(tuple(given), tuple(refused))


def _check_section(lines: Sequence[str], start: int, end: int, keys: Sequence[str], path: Path) -> None:
    """That a section shows what was exported, with the answers to just that.

    Raises:
        SciagentError: it does not.
    """
    mark = _SECTION.match(lines[start])
    head = next((n for n in range(start, end) if lines[n].startswith("### What the answer")), end)
    shown = [line.rstrip() for line in lines[start:head] if line.startswith(_MARGIN)]
    if mark is None or mark[1] != _digest(shown, keys):
        raise SciagentError(
            "what is asked in this section, or the line above an answer, is not what was exported: copy your answer "
            "into a new export",
            path=path,
            line=start + 1,
        )


def _blocks(lines: Sequence[str], start: int, end: int, path: Path) -> list[tuple[str, int, str]]:
    """Key, place and text of each answer of a section. The place is that of its first mark.

    Raises:
        SciagentError: an answer has no end.
    """
    found = []
    at = start
    while at < end:
        mark = _ANSWER.match(lines[at])
        if mark is None:
            at += 1
            continue
        close = next((n for n in range(at + 1, end) if lines[n].rstrip() == _END), None)
        if close is None:
            raise SciagentError("no line of ``` ends this answer", path=path, line=at + 1)
        found.append((mark[1], at, "\n".join(lines[at + 1 : close]) + "\n"))
        at = close + 1
    return found


def _filled(body: str, at: int, path: Path) -> dict[str, Any] | None:
    """The answer that a block holds; None where it was left blank.

    Raises:
        SciagentError: it is no answer.
    """
    try:
        answer = parse_yaml(body, _Filled, path).root if body.strip() else {}
    except SciagentError as error:
        line = at + 1 + (error.line or 0)
        raise SciagentError(error.message, path=path, line=line) from None
    if _is_blank(answer):
        return None
    citations = answer.get("citations")
    if isinstance(citations, list):
        answer["citations"] = [one for one in citations if not _is_blank(one)]
    if problem := _problem(answer):
        raise SciagentError(problem, path=path, line=at + 1)
    for name in _LEVELS:
        if name in answer and answer[name] is None:
            answer[name] = False
    return answer


def _problem(answer: Mapping[str, Any]) -> str | None:
    """What keeps a filled-in answer from being one: a blank that could be read as level 0, a text that YAML takes for a
    number."""
    levels = [answer[name] for name in _LEVELS if name in answer]
    if None in levels and True not in levels:
        return "zero, full and half are blank: write true at the level whose condition holds, or false at all three"
    cited = answer.get("citations")
    texts = [("rationale", answer.get("rationale", ""))]
    for one in cited if isinstance(cited, list) else []:
        texts += [("quote", one.get("quote", ""))] if isinstance(one, dict) else []
    wrong = next((name for name, text in texts if not isinstance(text, str)), None)
    return f"the {wrong} is no text: write it on the lines below |-, indented" if wrong else None


def _is_blank(value: object) -> bool:
    """Whether nothing stands in a part of an answer."""
    if isinstance(value, dict):
        return all(_is_blank(one) for one in value.values())
    if isinstance(value, list):
        return all(_is_blank(one) for one in value)
    return value is None or (isinstance(value, str) and not value.strip())
