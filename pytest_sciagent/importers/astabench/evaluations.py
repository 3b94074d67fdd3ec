"""Evaluations of AstaBench's answers: its judge's verdicts as labels, and the score that they give, added up again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
_WHOLE = ""
_SOURCES = (
    ("overall_evaluation", _WHOLE),
    ("paper_evaluation", "report"),
    ("code_evaluation", "code"),
    ("artifacts_evaluation", "artifacts"),
)
_FULL = Fraction(100)


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


@dataclass(frozen=True)
class _Verdict:
    """What was told of one criterion: by source, where it can be read ("" is the verdict as a whole)."""

    criterion: str
    required: bool
    met: dict[str, int]
    """1 met, 0 not met, -1 no information."""
    agree: int | None

    @property
    def scores(self) -> Iterator[tuple[str, int]]:
        """What counts as a label: its criterion and its score."""
        for source, met in self.met.items():
            if met >= 0:
                yield (f"{self.criterion}@{source}" if source else self.criterion), met
        if self.agree is not None:
            yield f"{self.criterion}@consistency", self.agree


@dataclass(frozen=True)
class _Again:
    """The required criteria added up again: how many there are, are met, and have no verdict that can be read."""

    count: int
    met: int
    open: int

    @property
    def score(self) -> Interval | None:
        """Of 100; None where nothing is required."""
        if not self.count:
            return None
        return Interval(Fraction(self.met, self.count), Fraction(self.met + self.open, self.count)).scaled(_FULL)


def import_evaluation(
    folder: Folder, name: str, system: str, rubrics: dict[str, Rubric], into: Gathering
) -> list[Label]:
    """Take one evaluation: its account is written, its labels are given back."""
    evaluation = folder.document(name, _Evaluation)
    task_id = slug(name.removesuffix(EVALUATION_END))
    run = f"{system}/{task_id}"
    whole = [c for c in rubrics[task_id].criteria if c.dimension != SOURCES] if task_id in rubrics else []
    ids = {c.title: c.id for c in whole}
    verdicts = [_verdict(element, ids) for element in evaluation.evaluated_rubric]
    again = _add_up(verdicts, sum(c.required for c in whole) if whole else None)
    published, score = evaluation.overall_score.average_required_overall, again.score
    account = {
        "run": run,
        "published": published,
        "again": None if score is None else {"low": float(score.low), "high": float(score.high)},
        "open": again.open,
    }
    notes = _notes(verdicts, again, published)
    into.write_json("result", run, ("results", system, f"{task_id}.json"), account, *notes)
    return [_label(run, criterion, score) for verdict in verdicts for criterion, score in verdict.scores]


def _verdict(element: _Evaluated, ids: Mapping[str | None, str]) -> _Verdict:
    parts = {source: _part(element.response, key, _Met) for key, source in _SOURCES}
    consistency = _part(element.response, "consistency_evaluation", _Consistency)
    return _Verdict(
        criterion=ids.get(one_line(element.criteria_name, 200), element.criteria_name),
        required=element.required_or_optional == "required",
        met={source: part.criteria_met for source, part in parts.items() if part is not None},
        agree=None if consistency is None else consistency.consistency_score,
    )


def _add_up(verdicts: Sequence[_Verdict], count: int | None) -> _Again:
    """`count`: how many criteria the rubric requires; without one, as many as the evaluation says."""
    required = [v for v in verdicts if v.required]
    answered = [v for v in required if _WHOLE in v.met]
    count = len(required) if count is None else count
    unanswered = max(count - len({v.criterion for v in answered}), 0)
    return _Again(count, sum(v.met[_WHOLE] == 1 for v in answered), unanswered)


def _notes(verdicts: Sequence[_Verdict], again: _Again, published: float | None) -> Iterator[str]:
    yield f"{len(verdicts)} criteria, {again.met} of {again.count} required ones met"
    score = again.score
    if score is not None and published is not None:
        same = not again.open and abs(float(score.low) / 100 - published) < 1e-9
        yield f"published {published:.4g}, {'the same' if same else score.show(2) + ' of 100'} from its verdicts"
    if failed := sum(_WHOLE not in v.met for v in verdicts):
        yield f"{failed} criteria have no readable verdict: each stays open, alone"
    if silent := sum(met < 0 for v in verdicts for met in v.met.values()):
        yield f"no information, by {counted(silent, 'verdict')}"
    if inconsistent := sum(v.agree == 0 for v in verdicts):
        yield f"{inconsistent} criteria with sources that disagree"


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
