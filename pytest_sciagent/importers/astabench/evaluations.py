"""Evaluations of AstaBench's answers: its judge's verdicts as labels, and the score that they give, added up again."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

from pydantic import ValidationError

from ...models import Label, Rater, Rubric
from ...scoring import Interval
from ...text import counted, one_line, slug
from ..foreign import Folder, Foreign
from ..gathering import Gathering
from .samples import SOURCES

DATASET = "astabench-e2e"
EVALUATION_END = ".extracted.json"
_SOURCES = (("paper_evaluation", "report"), ("code_evaluation", "code"), ("artifacts_evaluation", "artifacts"))


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


def import_evaluation(
    folder: Folder, name: str, system: str, rubrics: dict[str, Rubric], into: Gathering
) -> list[Label]:
    """Take one evaluation: its account is written, its labels are given back."""
    evaluation = folder.document(name, _Evaluation)
    task_id = slug(name.removesuffix(EVALUATION_END))
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
    notes += [f"no information, by {counted(silent, 'verdict')}"] if silent else []
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
