"""AstaBench End-to-End Discovery: samples with their rubric, answers as runs, and its evaluations as labels."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from ..errors import SciagentError
from ..models import Criterion, Dimension, Label, Levels, Rater, Rubric, System, TaskManifest, Usage
from ..models.rubric import EvidenceHints, Provenance
from ..models.run import Role
from ..runs.files import UnsafeFile, check_relative
from ..runs.freeze import FreezeOptions
from ..scoring import Interval
from ..text import one_line, safe_name, slug
from .foreign import Folder, Foreign
from .gathering import Gathering, as_yaml, staged

DATASET = "astabench-e2e"
_ANSWER_END, _EVALUATION_END = "-results.json", ".extracted.json"
_SAMPLE_MARKS = (b'"evaluation_rubric"', b'"problem_description"')
_HEAD = 1_000_000
_SOURCES = (("paper_evaluation", "report"), ("code_evaluation", "code"), ("artifacts_evaluation", "artifacts"))
_LEVELS = Levels(
    full="Met: the report says so, the code does it and the artifacts show it, each of the three wherever it should; "
    "none contradicts another.",
    half="The report says so, and a source that should show it as well, code or artifacts, holds nothing about it; no "
    "source contradicts another.",
    zero="Not met, not mentioned, or contradicted by the code or the artifacts.",
)


SOURCES = "sources"
_ROLES: tuple[Role, ...] = ("report", "analysis_source", "notebook", "result", "other")


def _alone(source: str) -> Levels:
    return Levels(
        full=f"Met, by {source} alone.",
        half=f"No information: {source} says nothing about it.",
        zero=f"Not met: {source} speaks of it, and shows that it is not so.",
    )


_APART: dict[str, tuple[str, Levels, tuple[Role, ...]]] = {
    "report": ("the report", _alone("the report"), ("report",)),
    "code": ("the code", _alone("the code"), ("analysis_source", "notebook")),
    "artifacts": ("the artifacts", _alone("the artifacts"), ("result", "figure", "log", "other")),
    "consistency": (
        "whether the sources agree",
        Levels(
            full="At least two of report, code and artifacts speak of it, and none contradicts another.",
            half="At most one of report, code and artifacts speaks of it, so there is nothing to compare.",
            zero="One of report, code and artifacts contradicts another.",
        ),
        _ROLES,
    ),
}
"""What is asked of each source apart: what it is called, the levels, and the files that hold it."""


class _Element(Foreign):
    criteria_name: str = Field(min_length=1)
    criteria_met_question: str = Field(min_length=1)
    required_or_optional: Literal["required", "optional"] = "required"


class _Sample(Foreign):
    id: str = Field(min_length=1)
    problem_description: str = Field(min_length=1)
    evaluation_rubric: tuple[_Element, ...] = Field(min_length=1)


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


class _Met(Foreign):
    criteria_met: Literal[-1, 0, 1]


class _Consistency(Foreign):
    consistency_score: Literal[0, 1]


class _Evaluated(Foreign):
    criteria_name: str
    required_or_optional: Literal["required", "optional"] = "required"
    response: Any = None


class _Overall(Foreign):
    average_required_overall: float | None = None


class _Evaluation(Foreign):
    evaluated_rubric: tuple[_Evaluated, ...] = ()
    overall_score: _Overall = _Overall()


_SAMPLES = TypeAdapter(tuple[_Sample, ...])


def recognises(folders: Sequence[Folder]) -> bool:
    """Whether anything of this format is among `folders`."""
    return any(_answers(f) or _evaluations(f) or any(_is_sample_file(f, name) for name in f.files) for f in folders)


def bring_in(folders: Sequence[Folder], into: Gathering) -> None:
    """Import every sample, answer and evaluation among `folders`."""
    rubrics: dict[str, Rubric] = {}
    for folder in folders:
        for name in folder.files:
            if _is_sample_file(folder, name):
                with into.attempt("task", name, folder.path / name):
                    rubrics |= _import_samples(folder, name, into)
    for folder in folders:
        system = slug(into.system or _system_of(folder))
        for name in _answers(folder):
            with into.attempt("run", name, folder.path / name):
                _import_answer(folder, name, system, into)
        labels: list[Label] = []
        for name in _evaluations(folder):
            with into.attempt("result", name, folder.path / name):
                labels += _import_evaluation(folder, name, system, rubrics, into)
        if labels:
            with into.attempt("labels", system, folder.path):
                into.write_labels(DATASET, labels, name=f"{DATASET}-{system}")


def _is_sample_file(folder: Folder, name: str) -> bool:
    if not name.endswith(".json") or name.endswith((_ANSWER_END, _EVALUATION_END)):
        return False
    try:
        with (folder.path / name).open("rb") as handle:
            head = handle.read(_HEAD)
    except OSError:
        return False
    return head.lstrip()[:1] == b"[" and all(mark in head for mark in _SAMPLE_MARKS)


def _answers(folder: Folder) -> list[str]:
    return [name for name in folder.files if name.endswith(_ANSWER_END)]


def _evaluations(folder: Folder) -> list[str]:
    return [name for name in folder.files if name.endswith(_EVALUATION_END)]


def _system_of(folder: Folder) -> str:
    """The solver's name: that of the folder above `reports/` or `evaluations_json/`, and above a dated one."""
    parts = [p for p in folder.path.parts if p not in ("reports", "evaluations_json", "/")]
    named = [part for part in parts if not any(character.isdigit() for character in part)]
    return (named or parts or ["unnamed"])[-1]


# ---- samples


def _import_samples(folder: Folder, name: str, into: Gathering) -> dict[str, Rubric]:
    try:
        samples = _SAMPLES.validate_python(folder.json(name))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise SciagentError(f"entry {where}: {first['msg']}", path=folder.path / name) from None
    found = {}
    for sample in samples:
        with into.attempt("task", sample.id, folder.path / name):
            id = slug(sample.id)
            rubric = _rubric(id, sample)
            found[id] = rubric
            with into.attempt("rubric", rubric.id, folder.path / name):
                into.write_rubric(rubric)
            into.write_task(id, _task_files(id, sample))
    return found


def _task_files(id: str, sample: _Sample) -> dict[str, bytes]:
    manifest = TaskManifest(
        schema_="sciagent-task/1",
        id=id,
        title=sample.id,
        domain="machine_learning",
        analysis_unit="not stated",
        licence="not stated",
    )
    return {
        "task.yaml": as_yaml(manifest).encode(),
        "objective.md": (sample.problem_description.strip() + "\n").encode("utf-8", "replace"),
        "DATA_GUIDE.md": b"The task brings no data of its own.\n",
    }


def _rubric(task_id: str, sample: _Sample) -> Rubric:
    criteria = [
        criterion
        for number, element in enumerate(sample.evaluation_rubric, 1)
        for criterion in _criteria(f"{task_id}.c{number}", number, element)
    ]
    kinds = list(dict.fromkeys(criterion.dimension for criterion in criteria))
    counts = {kind: sum(criterion.dimension == kind for criterion in criteria) for kind in kinds}
    return Rubric(
        schema_="sciagent-rubric/1",
        id=f"astabench.{task_id}",
        version="1",
        title=f"AstaBench rubric of {sample.id}",
        kind="curated",
        task_id=task_id,
        profile="required",
        dimensions=tuple(Dimension(id=kind, weight=counts[kind]) for kind in kinds),
        criteria=tuple(criteria),
    )


def _criteria(id: str, number: int, element: _Element) -> Iterator[Criterion]:
    """The criterion itself; then what each source alone says, and whether they agree, which do not count."""
    yield Criterion(
        id=id,
        number=str(number),
        title=one_line(element.criteria_name, 200),
        dimension=element.required_or_optional,
        weight=1,
        question=element.criteria_met_question,
        boundary="Judge the report, the code and the artifacts each by itself first, then whether they agree.",
        levels=_LEVELS,
        judge=True,
        required=element.required_or_optional == "required",
        evidence=EvidenceHints(roles=_ROLES),
        provenance=Provenance(sources=("evaluation_rubric",)),
    )
    for source, (title, levels, roles) in _APART.items():
        yield Criterion(
            id=f"{id}.{source}",
            number=f"{number}.{source}",
            title=one_line(f"{element.criteria_name}: {title}", 200),
            dimension=SOURCES,
            weight=1,
            question=f"{element.criteria_met_question} Judge {title} only.",
            levels=levels,
            judge=True,
            required=False,
            evidence=EvidenceHints(roles=roles),
            provenance=Provenance(sources=("evaluation_rubric",)),
        )


# ---- answers


def _import_answer(folder: Folder, name: str, system: str, into: Gathering) -> None:
    task_id = slug(name.removesuffix(_ANSWER_END))
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
        first = error.errors(include_url=False)[0]
        raise SciagentError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


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


# ---- evaluations


def _import_evaluation(
    folder: Folder, name: str, system: str, rubrics: dict[str, Rubric], into: Gathering
) -> list[Label]:
    """Take one evaluation: its account is written, its labels are given back."""
    evaluation = folder.document(name, _Evaluation)
    task_id = slug(name.removesuffix(_EVALUATION_END))
    whole = [c for c in rubrics[task_id].criteria if c.dimension != SOURCES] if task_id in rubrics else []
    ids = {c.title: c.id for c in whole}
    required = [c for c in whole if c.required] if whole else None
    labels: list[Label] = []
    met = failed = silent = inconsistent = 0
    answered: set[str] = set()
    for element in evaluation.evaluated_rubric:
        criterion = ids.get(one_line(element.criteria_name, 200), element.criteria_name)
        overall = _part(element.response, "overall_evaluation", _Met)
        if overall is None:
            failed += 1
        elif element.required_or_optional == "required":
            answered.add(criterion)
            met += overall.criteria_met == 1
        sources: list[tuple[str, int]] = []
        for key, source in (("overall_evaluation", ""), *_SOURCES):
            part = _part(element.response, key, _Met)
            if part is not None and part.criteria_met >= 0:
                sources.append((f"@{source}" if source else "", part.criteria_met))
            silent += part is not None and part.criteria_met < 0
        consistency = _part(element.response, "consistency_evaluation", _Consistency)
        if consistency is not None:
            sources.append(("@consistency", consistency.consistency_score))
            inconsistent += consistency.consistency_score == 0
        labels += [_label(f"{system}/{task_id}", criterion + suffix, score) for suffix, score in sources]
    count = (
        len(required)
        if required is not None
        else sum(e.required_or_optional == "required" for e in evaluation.evaluated_rubric)
    )
    open_ones = max(count - len(answered), 0)
    score = Interval(Fraction(met, count), Fraction(met + open_ones, count)).scaled(Fraction(100)) if count else None
    told = evaluation.overall_score.average_required_overall
    notes = [f"{len(evaluation.evaluated_rubric)} criteria, {met} of {count} required ones met"]
    if score is not None and told is not None:
        same = not open_ones and abs(float(score.low) / 100 - told) < 1e-9
        notes.append(f"published {told:.4g}, {'the same' if same else score.show(2) + ' of 100'} from its verdicts")
    notes += [f"{failed} criteria have no readable verdict: each stays open, alone"] if failed else []
    notes += [f"{silent} verdicts say no information"] if silent else []
    notes += [f"{inconsistent} criteria with sources that disagree"] if inconsistent else []
    account = {
        "run": f"{system}/{task_id}",
        "published": told,
        "again": None if score is None else {"low": float(score.low), "high": float(score.high)},
        "open": open_ones,
    }
    into.write_json("result", f"{system}/{task_id}", ("results", system, f"{task_id}.json"), account, *notes)
    return labels


def _part(response: Any, key: str, model: type[Any]) -> Any:
    """One part of a reply, or None where it is missing or broken."""
    part = response.get(key) if isinstance(response, dict) else None
    try:
        return model.model_validate(part)
    except ValidationError:
        return None


def _label(run: str, criterion: str, score: float) -> Label:
    rater = Rater(kind="judge", name="AstaBench")
    return Label(dataset=DATASET, run=run, criterion=criterion, rater=rater, score=score, scale=(0, 1))
