"""Labelled examples for a judge: chosen from the labels of some runs, so that the others are left for measuring."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, zip_longest

from ..digest import sha256_json
from ..errors import SciagentError
from ..evidence.injection import find_instructions
from ..models import Finding, Label, Rubric
from ..models.examples import Example, ExamplesFile, first_of
from ..text import one_line
from .labels import DATASET, LEVELS_SCALE, raters_of

MOST_CHARS = 2_000
MOST_REASON = 400
SHOWN_SHARE = 1 / 3


def choose_examples(
    labels: Sequence[Label], rubric: Rubric, findings: Mapping[tuple[str, str], Finding], shots: int, seed: int
) -> ExamplesFile:
    """Up to `shots` examples for each criterion, from the labels of a third of the runs; the rest is held out.

    labels: of people. findings: of the labelled runs, by run and id. Repeats of a run stay on one side. Levels take
    turns. What people judged differently, or whose text speaks to a judge, is no example.

    Raises:
        SciagentError: no label is of these findings and this rubric, or there are not two runs to split.
    """
    criteria = {criterion.id for criterion in rubric.criteria if criterion.judge and criterion.scope == "finding"}
    usable = [
        label
        for label in labels
        if label.dataset == DATASET
        and label.scale == LEVELS_SCALE
        and label.criterion in criteria
        and (label.run, label.finding) in findings
    ]
    if not usable:
        raise SciagentError(f"no label is of a finding of these runs and a judged criterion of rubric {rubric.id}")
    shown, held_out = _split({label.run for label in usable}, seed)
    chosen = []
    for criterion in sorted(criteria):
        mine = [label for label in usable if label.criterion == criterion and label.run in shown]
        chosen += list(_turns(_examples(mine, findings), shots, seed))
    if not chosen:
        raise SciagentError(
            f"the runs that would be shown ({', '.join(sorted(shown))}) have no usable label: try another --seed"
        )
    return ExamplesFile(
        shots=shots,
        seed=seed,
        rubric=f"{rubric.id} {rubric.version}",
        rubric_digest=rubric.digest,
        raters=tuple(raters_of(usable, "human")),
        labels_digest=sha256_json(sorted((label.as_json() for label in usable), key=str)),
        shown=tuple(sorted(shown)),
        held_out=tuple(sorted(held_out)),
        examples=tuple(chosen),
    )


def _split(runs: set[str], seed: int) -> tuple[set[str], set[str]]:
    """The runs that are shown and those that are held out; repeats go with their first."""
    groups: dict[str, set[str]] = defaultdict(set)
    for run in runs:
        groups[first_of(run)].add(run)
    if len(groups) < 2:
        raise SciagentError("examples need labels of two runs at least: those that are shown are not measured on")
    order = sorted(groups, key=lambda name: sha256_json([seed, name]))
    many = max(1, round(SHOWN_SHARE * len(order)))
    shown = {run for name in order[:many] for run in groups[name]}
    return shown, runs - shown


def _examples(labels: Sequence[Label], findings: Mapping[tuple[str, str], Finding]) -> Iterator[Example]:
    by_thing: dict[tuple[str, str], list[Label]] = defaultdict(list)
    for label in labels:
        by_thing[label.run, label.finding or ""].append(label)
    for (run, id), mine in sorted(by_thing.items()):
        text = findings[run, id].section.text[:MOST_CHARS]
        reasons = [one_line(label.text, MOST_REASON) for label in mine if label.text]
        if len({label.score for label in mine}) > 1 or find_instructions(id, "\n".join([text, *reasons])):
            continue
        yield Example.model_validate(
            {
                "criterion": mine[0].criterion,
                "run": run,
                "finding": id,
                "text": text,
                "level": mine[0].score,
                "reason": reasons[0] if reasons else None,
            }
        )


def _turns(examples: Iterator[Example], shots: int, seed: int) -> Iterator[Example]:
    """Up to `shots` of them, the levels in turn, each finding once."""
    by_level: dict[float, list[Example]] = defaultdict(list)
    for one in sorted(examples, key=lambda one: sha256_json([seed, one.criterion, one.run, one.finding])):
        by_level[one.level].append(one)
    turns = [by_level[level] for level in sorted(by_level, reverse=True)]
    rounds = (one for row in zip_longest(*turns) for one in row if one is not None)
    yield from islice(rounds, shots)
