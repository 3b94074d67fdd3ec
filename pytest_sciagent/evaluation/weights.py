"""What the votes of a panel weigh: counted from people's labels of recorded runs, and read where votes are counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TypeAlias

from ..digest import sha256_json
from ..documents import load_json
from ..errors import SciagentError
from ..judging.draws import Draws, Rule
from ..judging.panel import Poll
from ..judging.prompts import Templates
from ..judging.reliability import MAKE, Reliability
from ..models import JudgeIdentity, Label, Rubric, Verdict
from ..models.examples import first_of
from ..models.weights import WeightsFile
from .labels import DATASET, LEVELS_SCALE, raters_of

LEAST_LABELS = 20
"""Of a judge; with fewer the 95 % interval of a share of equal levels is wider than 0.4."""
LEAST_RUNS = 2
_LEVELS = (0.0, 0.5, 1.0)

Voted: TypeAlias = Mapping[tuple[str, str, str], Verdict]
"""What a panel said, by run, finding and criterion."""


def poll_of(draws: Draws, rule: Rule, weights: Path | None, rubrics: Sequence[Rubric], templates: Templates) -> Poll:
    """How votes are taken and counted, with the weights in the file `weights` where the rule takes any.

    Raises:
        SciagentError: see `Poll` and `read_weights`.
    """
    return Poll(draws, rule, None if weights is None else read_weights(weights, rubrics, templates))


def read_weights(path: Path, rubrics: Sequence[Rubric], templates: Templates) -> Reliability:
    """The weights in the file `path`.

    Raises:
        SciagentError: it is none, or what it was made under has changed since: the rubric, or the words that criteria
            are asked in. Whether it knows the judges is seen where these are known.
    """
    file = load_json(path, WeightsFile)
    for rubric in rubrics:
        judged = any(criterion.judge and criterion.scope == "finding" for criterion in rubric.criteria)
        if judged and rubric.digest != file.rubric_digest:
            same = f"{rubric.id} {rubric.version}" == file.rubric
            told = "has changed since" if same else f"is not {rubric.id} {rubric.version}, which judges runs here"
            raise SciagentError(f"these weights have expired: rubric {file.rubric} {told}. {MAKE}", path=path)
    if templates.digest("criterion") != file.templates:
        raise SciagentError(f"these weights have expired: the prompt templates have changed since. {MAKE}", path=path)
    return Reliability(file, path)


def count_votes(
    labels: Sequence[Label], voted: Voted, members: Sequence[JudgeIdentity], rubric: Rubric, templates: Templates
) -> WeightsFile:
    """Count how often each member said what people said. Each label counts, of whichever person.

    labels: of people, those of `usable_labels`. voted: what the panel of `members` said, each asked once.

    Raises:
        SciagentError: the labels are too few, of one run or of one level, or no member is better than chance.
    """
    dimension_of = {criterion.id: criterion.dimension for criterion in rubric.criteria}
    runs: dict[str, dict[str, list[list[list[int]]]]] = {}
    answered = dict.fromkeys((member.label for member in members), 0)
    for label in labels:
        dimensions = runs.setdefault(first_of(label.run), {})
        tables = dimensions.setdefault(dimension_of[label.criterion], [[[0] * 3 for _ in _LEVELS] for _ in members])
        said = {vote.judge: vote.level for vote in voted[label.run, label.finding or "", label.criterion].votes}
        for table, member in zip(tables, members, strict=True):
            level = said.get(member.label)
            if level is not None:
                table[_LEVELS.index(label.score)][_LEVELS.index(level)] += 1
                answered[member.label] += 1
    _check_enough(labels, runs, answered)
    found = WeightsFile.model_validate(
        {
            "plugin_version": version("pytest-sciagent"),
            "measured_on": datetime.now(UTC).date().isoformat(),
            "members": tuple(members),
            "templates": templates.digest("criterion"),
            "rubric": f"{rubric.id} {rubric.version}",
            "rubric_digest": rubric.digest,
            "raters": raters_of(labels, "human"),
            "labels_digest": sha256_json(sorted((label.as_json() for label in labels), key=str)),
            "runs": {run: dict(sorted(dimensions.items())) for run, dimensions in sorted(runs.items())},
        }
    )
    if not any(Reliability(found).overall().values()):
        raise SciagentError(
            f"by these {len(labels)} labels no judge agrees with people better than chance: no vote would count"
        )
    return found


def usable_labels(labels: Iterable[Label], voted: Voted) -> list[Label]:
    """Labels of what a panel has voted on.

    Raises:
        SciagentError: there is none, or one gives no level.
    """
    found = [
        label
        for label in labels
        if label.dataset == DATASET
        and label.scale == LEVELS_SCALE
        and (label.run, label.finding or "", label.criterion) in voted
    ]
    if not found:
        raise SciagentError("no label is of a criterion that these judges have voted on in these runs")
    for label in found:
        if label.score not in _LEVELS:
            raise SciagentError(f"{label.run} {label.criterion}: a label of {label.score:g} is no level (0, 0.5 or 1)")
    return found


def _check_enough(labels: Sequence[Label], runs: Mapping[str, object], answered: Mapping[str, int]) -> None:
    if len(runs) < LEAST_RUNS:
        raise SciagentError(
            f"all labels are of one run ({next(iter(runs))}): no run is weighed by its own labels, so label others too"
        )
    name, least = min(answered.items(), key=lambda entry: entry[1])
    if least < LEAST_LABELS:
        raise SciagentError(
            f"{name} has given a level to {least} of {len(labels)} labelled criteria: weights take {LEAST_LABELS} "
            "labels of each judge at least"
        )
    levels = {label.score for label in labels}
    if len(levels) == 1:
        raise SciagentError(
            f"all {len(labels)} labels are level {levels.pop():g}: whether a judge tells levels apart can't be seen"
        )
