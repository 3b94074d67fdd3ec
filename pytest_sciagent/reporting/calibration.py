"""How far a judge agrees with labels, slice by slice: each criterion, each dimension, and all of one scale."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import permutations
from typing import Literal

from ..digest import sha256_json
from ..errors import SciagentError
from ..models import Label, Rater
from ..models.calibration import AgreementMeasured, Bound, Calibration, Slice
from ..statistics import krippendorff_alpha, prevalence, rater_agreement
from ..statistics.agreement import Pair
from .validity import PEOPLE

Kind = Literal["criterion", "dimension", "all"]
Thing = tuple[str, str, str, str]
Scale = tuple[float, float]
MOST_LEVELS = 200
MOST_CELLS = 40_000_000
"""Of all runs' tables together; eight bytes each."""
COIN = "coin"
"""The name of a judge that draws among the scores that were given, all equally likely: the floor of every measure."""


@dataclass
class _Thing:
    """What was said of one thing: by those who are believed, each with its name, and by the judge."""

    given: list[tuple[str, float]] = field(default_factory=list)
    judged: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The labels that count, and the scores of the judge beside them."""

    labels: Sequence[Label]
    judged: Sequence[Label]
    against: str = PEOPLE


def people(labels: Sequence[Label]) -> list[Label]:
    """The labels that people gave.

    Raises:
        SciagentError: there is none.
    """
    found = [label for label in labels if label.rater.kind == "human"]
    if not found:
        raise SciagentError("no label is a person's: to compare two judges, name the other one with --against")
    return found


def labels_by(labels: Sequence[Label], judge: str, option: str) -> list[Label]:
    """The labels that the judge of this name gave.

    Raises:
        SciagentError: there is none; the judges that there are, are told.
    """
    found = [label for label in labels if label.rater.kind == "judge" and label.rater.name == judge]
    if not found:
        known = sorted({label.rater.name for label in labels if label.rater.kind == "judge"})
        told = f"judges in these files: {', '.join(known)}" if known else "no judge is in these files"
        raise SciagentError(
            f"{option} {judge}: {told}. For a judge whose verdicts are recorded, name the runs with --runs; "
            f"{COIN!r} is a judge that draws by chance"
        )
    return found


def coin_labels(labels: Sequence[Label], seed: int) -> list[Label]:
    """What a judge says that draws, for each thing that is labelled, one of the scores that were given on its scale."""
    scores: dict[Scale, set[float]] = {}
    for label in labels:
        scores.setdefault(label.scale, set()).add(label.score)
    draw = random.Random(seed)  # noqa: S311 - a coin, no secret
    things = {label.thing: label for label in labels}
    rater = Rater(kind="judge", name=COIN)
    return [
        label.model_copy(update={"rater": rater, "score": draw.choice(sorted(scores[label.scale])), "text": None})
        for _, label in sorted(things.items())
    ]


def calibrate(
    compared: Comparison,
    bound: Bound,
    dimensions: Mapping[str, str] | None = None,
    *,
    seed: int = 0,
) -> Calibration:
    """Compare a judge with labels. Each label is paired with each score of the judge on the same thing.

    dimensions: the dimension of each criterion, where there are dimensions.

    Raises:
        SciagentError: the two have nothing in common, or score one thing on two scales.
    """
    things = _things(compared)
    _check_size(things)
    slices = []
    for kind, name, scale, holds in _slices(compared.labels, dimensions or {}):
        chosen = {thing: said for thing, said in things.items() if holds(thing, scale)}
        if any(said.judged for said in chosen.values()):
            slices.append(_slice(kind, name, scale, chosen, seed))
    if not slices:
        raise SciagentError(f"{bound.judge} and {compared.against} have judged nothing in common")
    again, other = _said_again(things)
    return Calibration(
        plugin_version=version("pytest-sciagent"),
        measured_on=datetime.now(UTC).date().isoformat(),
        bound=bound,
        against=compared.against,
        raters=tuple(sorted({label.rater.name for label in compared.labels})),
        labels_digest=sha256_json(sorted((label.as_json() for label in compared.labels), key=str)),
        slices=tuple(slices),
        again=again,
        otherwise=other,
    )


def _things(compared: Comparison) -> dict[tuple[Thing, Scale], _Thing]:
    found: dict[tuple[Thing, Scale], _Thing] = {}
    scales: dict[Thing, Scale] = {}
    for label in compared.labels:
        _same_scale(label, scales.setdefault(label.thing, label.scale))
        found.setdefault((label.thing, label.scale), _Thing()).given.append((label.rater.name, label.score))
    for label in compared.judged:
        if label.thing in scales:
            _same_scale(label, scales[label.thing])
            found[label.thing, label.scale].judged.append(label.score)
    return found


def _said_again(things: Mapping[tuple[Thing, Scale], _Thing]) -> tuple[int, int]:
    """How often one person labelled one thing once more, and how often with another score than first."""
    again = other = 0
    for said in things.values():
        first: dict[str, float] = {}
        for name, score in said.given:
            again += name in first
            other += first.setdefault(name, score) != score
    return again, other


def _check_size(things: Mapping[tuple[Thing, Scale], _Thing]) -> None:
    """Every measure is made of tables of counts, a row and a column for each score that was given."""
    levels = {
        round(score, 6) for said in things.values() for score in (*(score for _, score in said.given), *said.judged)
    }
    runs = len({key[0][:2] for key in things})
    if len(levels) > MOST_LEVELS or runs * len(levels) ** 2 > MOST_CELLS:
        raise SciagentError(
            f"the labels hold {len(levels):,} different scores of {runs:,} runs, too many for tables of counts "
            f"(at most {MOST_LEVELS} scores): round them to the steps of a scale"
        )


def _same_scale(label: Label, scale: Scale) -> None:
    if label.scale != scale:
        (low, high), (other_low, other_high) = scale, label.scale
        raise SciagentError(
            f"{label.run} {label.criterion} is scored on two scales: {low:g}..{high:g}, and by {label.rater.name} "
            f"{other_low:g}..{other_high:g}"
        )


_Holds = Callable[[tuple[Thing, Scale], Scale], bool]


def _slices(labels: Sequence[Label], dimensions: Mapping[str, str]) -> Iterator[tuple[Kind, str, Scale, _Holds]]:
    """Kind, name and scale of each slice, and what belongs to it."""
    scales = sorted({label.scale for label in labels})
    for criterion, scale in sorted({(label.criterion, label.scale) for label in labels}):
        yield "criterion", criterion, scale, _of({criterion})
    for dimension in sorted({dimensions[label.criterion] for label in labels if label.criterion in dimensions}):
        of_it = {criterion for criterion, its in dimensions.items() if its == dimension}
        for scale in scales:
            yield "dimension", dimension, scale, _of(of_it)
    for scale in scales:
        name = "all" if len(scales) == 1 else f"all ({scale[0]:g}..{scale[1]:g})"
        yield "all", name, scale, _of({label.criterion for label in labels})


def _of(criteria: set[str]) -> _Holds:
    return lambda key, scale: key[0][3] in criteria and key[1] == scale


def _slice(kind: Kind, name: str, scale: Scale, things: Mapping[tuple[Thing, Scale], _Thing], seed: int) -> Slice:
    run_of = {key: key[0][:2] for key in things}
    both = {key: said for key, said in things.items() if said.judged}
    pairs = [(run_of[k], given, judged) for k, s in both.items() for _, given in s.given for judged in s.judged]
    units = [(run_of[k], [*(score for _, score in s.given), *s.judged]) for k, s in both.items()]
    among = [
        (run_of[k], one, other)
        for k, s in things.items()
        for (name_one, one), (name_other, other) in permutations(s.given, 2)
        if name_one != name_other
    ]
    ceiling = None
    if among:
        only = [(run_of[k], [score for _, score in s.given]) for k, s in things.items()]
        ceiling = _measured(among, only, seed)
        ceiling = ceiling.model_copy(update={"n": ceiling.n // 2})
    return Slice(
        kind=kind,
        name=name,
        scale=scale,
        agreement=_measured(pairs, units, seed),
        labels=_shares([score for said in both.values() for _, score in said.given]),
        judge=_shares([score for said in both.values() for score in said.judged]),
        unanswered=sum(len(said.given) for said in things.values() if not said.judged),
        ceiling=ceiling,
    )


def _shares(scores: Sequence[float]) -> dict[str, float]:
    return {f"{score:g}": share for score, share in prevalence(scores).items()}


def _measured(
    pairs: Sequence[Pair],
    units: Sequence[tuple[Hashable, Sequence[float]]],
    seed: int,
) -> AgreementMeasured:
    found = rater_agreement(pairs, seed=seed)
    alpha = krippendorff_alpha(units, seed=seed)
    plain = asdict(found)
    return AgreementMeasured.model_validate(plain | {"alpha": asdict(alpha)})
