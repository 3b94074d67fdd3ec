"""What weighing votes by people's labels is worth: members, plain majority and weighted vote, out of fold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..judging.draws import DEFAULT_RULE, WEIGHTED, Rule
from ..judging.panel import level_of
from ..judging.reliability import Reliability, Weighing
from ..models import Label, Vote
from ..models.examples import first_of
from ..models.weights import WeightsFile
from ..statistics import RaterAgreement, kappa_gain, rater_agreement
from ..statistics.agreement import Estimate, KappaGain
from ..text import counted
from .columns import NOTHING, columns, number, paragraph


@dataclass(frozen=True, slots=True)
class Ensemble:
    """How far members, majority and weighted vote agree with people; in the latter each run is weighed without its own
    labels. gain: what its kappa is above the majority's, on the same labels."""

    reliability: Reliability
    members: dict[str, RaterAgreement]
    majority: RaterAgreement
    weighted: RaterAgreement
    gain: KappaGain


def measure_ensemble(
    labels: Sequence[Label],
    votes: Sequence[Sequence[Vote]],
    reliability: Reliability,
    dimensions: Mapping[str, str],
    seed: int,
) -> Ensemble:
    """Compare with people, label by label. votes: those on what each label is about. dimensions: of each criterion."""
    weighings = [reliability.of(label.run, dimensions[label.criterion]) for label in labels]
    weighed = [_weighed(mine, weighing) for mine, weighing in zip(votes, weighings, strict=True)]

    def scored(rule: Rule) -> list[float | None]:
        return [level_of(mine, rule) for mine in weighed]

    def agreement(given: Iterable[float | None]) -> RaterAgreement:
        pairs = [(first_of(label.run), label.score, x) for label, x in zip(labels, given, strict=True) if x is not None]
        return rater_agreement(pairs, seed=seed)

    majority, weighted = scored(DEFAULT_RULE), scored(WEIGHTED)
    both = [
        (first_of(label.run), label.score, before, after)
        for label, before, after in zip(labels, majority, weighted, strict=True)
        if before is not None and after is not None
    ]
    names = [member.label for member in reliability.file.members]
    said = {name: [next(v.level for v in mine if v.judge == name) for mine in weighed] for name in names}
    return Ensemble(
        reliability,
        {name: agreement(levels) for name, levels in said.items()},
        agreement(majority),
        agreement(weighted),
        kappa_gain(both, seed=seed),
    )


def _weighed(votes: Sequence[Vote], weighing: Weighing) -> list[Vote]:
    return [vote.model_copy(update={"weight": weighing.weights[vote.judge]}) for vote in votes]


def ensemble_text(found: Ensemble) -> str:
    """The tables: what each vote weighs, and how far members, majority and weighted vote agree with people."""
    return "\n".join(_lines(found)) + "\n"


def ensemble_json(found: Ensemble) -> dict[str, Any]:
    """The same as plain data: the weights of each dimension by judge, and every measure of agreement."""
    file = found.reliability.file
    return {
        "schema": "sciagent-ensemble/1",
        "rubric": file.rubric,
        "people": list(file.raters),
        "runs": len(file.runs),
        "weights": {name: dict(found.reliability.all_labels(name)) for name in _dimensions(file)},
        "members": {name: asdict(one) for name, one in found.members.items()},
        "majority": asdict(found.majority),
        "weighted": asdict(found.weighted),
        "gain": asdict(found.gain),
    }


def _dimensions(file: WeightsFile) -> list[str]:
    return sorted({name for run in file.runs.values() for name in run})


def _lines(found: Ensemble) -> Iterator[str]:
    file = found.reliability.file
    labels = max(one.n for one in found.members.values())
    people = ", ".join(file.raters)
    many = f"{counted(labels, 'label')} of {counted(len(file.runs), 'run')}"
    yield f"ENSEMBLE of {counted(len(file.members), 'judge')}, {many}"
    yield from paragraph(f"rubric {file.rubric}; people: {people}")
    yield ""
    yield "WEIGHTS, by dimension; a vote of weight 0 counts for nothing"
    dimensions = _dimensions(file)
    by_dimension = [found.reliability.all_labels(dimension) for dimension in dimensions]
    rows = [(name, *(number(weights[name], 2) for weights in by_dimension)) for name in found.members]
    yield from columns(("", *dimensions), rows)
    yield ""
    yield "AGREEMENT with people; the weighted vote by weights learnt without the run's own labels"
    table = [*found.members.items(), ("majority", found.majority), ("weighted", found.weighted)]
    yield from columns(("", "n", "runs", "same %", "", "kappa", ""), [(name, *_row(one)) for name, one in table])
    yield from paragraph(_said(found))


def _row(one: RaterAgreement) -> tuple[str, ...]:
    same = Estimate(*(None if value is None else 100 * value for value in _parts(one.exact)))
    shown = [text for of, digits in ((same, 1), (one.kappa, 2)) for text in _shown(of, digits)]
    return (str(one.n), str(one.runs), *shown)


def _parts(one: Estimate) -> tuple[float | None, float | None, float | None]:
    return one.value, one.low, one.high


def _shown(one: Estimate, digits: int) -> tuple[str, str]:
    if one.low is None or one.high is None:
        return number(one.value, digits), NOTHING
    return number(one.value, digits), f"{number(one.low, digits)}..{number(one.high, digits)}"


def _said(found: Ensemble) -> str:
    gain = found.gain.gain
    value, interval = _shown(gain, 2)
    over = counted(found.gain.n, "label")
    told = f"kappa of the weighted vote less that of the majority, over {over}: {value}"
    if gain.low is None or gain.high is None:
        return f"{told}; {found.gain.reason or 'whether weights help is open'}"
    told = f"{told} ({interval})"
    if gain.low > 0:
        return f"{told}: weights help"
    return f"{told}: weights harm" if gain.high < 0 else f"{told}: that weights help is not shown"
