"""Answers to AstaBench's samples: report, code, artifacts and trace of a solver, as a run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pydantic import Field, ValidationError

from ...errors import SciagentError
from ...models import System, Usage
from ...runs.files import UnsafeFile, check_relative
from ...runs.freeze import FreezeOptions
from ...text import one_line, safe_name, slug
from ..foreign import Folder, Foreign, fault
from ..gathering import Gathering, staged

ANSWER_END = "-results.json"


class _Code(Foreign):
    filename: str = ""
    code: str = ""


class _Artifact(Foreign):
    filename: str = ""
    artifact: Any = ""


class _Tokens(Foreign):
    model: str | None = None
    prompt_tokens: int = Field(0, ge=0)
    completion_tokens: int = Field(0, ge=0)


class _Results(Foreign):
    report: str = ""
    code: tuple[_Code, ...] = ()
    artifacts: tuple[_Artifact, ...] = ()
    trace: Any = None
    token_counts: tuple[_Tokens, ...] = ()


def import_answer(folder: Folder, name: str, system: str, into: Gathering) -> None:
    task_id = slug(name.removesuffix(ANSWER_END))
    notes: list[str] = []
    try:
        results = _results(folder.json(name))
    except SciagentError as error:
        results = None
        notes.append(f"the answer is not what the benchmark asks for ({error.message}): a failed run")
    files = list(_answer_files(results, notes)) if results is not None else []
    delivered = results is not None and results.report.strip() != ""
    if results is not None and not delivered:
        notes.append("the answer holds no report: a failed run")
    tokens = results.token_counts if results is not None else ()
    models = list(dict.fromkeys(t.model for t in tokens if t.model))
    options = FreezeOptions(
        task_id=task_id,
        system=System(name=system, model=", ".join(models) or None),
        status="completed" if delivered else "failed",
        usage=Usage(
            input_tokens=sum(t.prompt_tokens for t in tokens) if tokens else None,
            output_tokens=sum(t.completion_tokens for t in tokens) if tokens else None,
        ),
        report="output/report.md" if delivered else None,
        unit="report",
    )
    with staged(files) as workspace:
        into.freeze(workspace, options, *notes)


def _results(answer: Any) -> _Results:
    if isinstance(answer, str):  # the answer is one text of JSON
        try:
            answer = json.loads(answer)
        except (ValueError, RecursionError):
            raise SciagentError("its text is not JSON") from None
    if not isinstance(answer, dict) or not isinstance(answer.get("results"), dict):
        raise SciagentError("there are no results in it")
    try:
        return _Results.model_validate(answer["results"])
    except ValidationError as error:
        raise SciagentError(fault(error)) from None


def _answer_files(results: _Results, notes: list[str]) -> Iterator[tuple[str, bytes, float | None]]:
    taken: set[str] = set()
    if results.report.strip():
        yield "output/report.md", results.report.encode("utf-8", "replace"), None
    given = [("code", file.filename, file.code) for file in results.code]
    given += [("artifacts", file.filename, _as_text(file.artifact)) for file in results.artifacts]
    for number, (kind, name, text) in enumerate(given, 1):
        path = f"output/{kind}/{_safe_path(name, number)}"
        if path in taken:
            path = f"{path}.{number}"
        taken.add(path)
        if path != f"output/{kind}/{name}":
            notes.append(f"{kind} file {name[:60]!r} is kept as {path}")
        yield path, text.encode("utf-8", "replace"), None
    if results.trace is not None:
        yield (
            "logs/trace.json",
            json.dumps(results.trace, ensure_ascii=False, indent=1).encode("utf-8", "replace"),
            None,
        )


def _as_text(artifact: Any) -> str:
    return artifact if isinstance(artifact, str) else json.dumps(artifact, ensure_ascii=False, indent=1)


def _safe_path(name: str, number: int) -> str:
    """`name`, if it is a plain relative path; else a name made of it that stays inside."""
    try:
        path = check_relative(name)
        if all(len(part.encode()) < 200 and safe_name(part) == part for part in path.parts):
            return name
    except (UnsafeFile, UnicodeEncodeError):
        pass
    return safe_name(one_line(name, 60)) if name.strip("./ ") else f"unnamed-{number}"
