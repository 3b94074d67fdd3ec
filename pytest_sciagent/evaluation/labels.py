"""Labels as they are read, and the verdicts of a recorded judge as labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..documents import parse_json, read_text
from ..errors import SciagentError
from ..models import Label, Rater, Verdict

LEVELS_SCALE = (0.0, 1.0)
DATASET = "sciagent"
"""The data set of labels of frozen runs of ours."""


def read_labels(paths: Iterable[Path]) -> list[Label]:
    """The labels in files of JSON lines, in their order. What an earlier file has word for word is left out of a later.

    Raises:
        SciagentError: with file and line, for what is no label; or no label at all.
    """
    given = list(paths)
    found: list[Label] = []
    known: set[str] = set()
    for path in given:
        told = [(label.model_dump_json(), label) for label in _read(path)]
        found += [label for text, label in told if text not in known]
        known.update(text for text, _ in told)
    if not found:
        raise SciagentError(f"there is no label in {', '.join(map(str, given))}")
    return found


def _read(path: Path) -> Iterator[Label]:
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            try:
                yield parse_json(line, Label, path)
            except SciagentError as error:
                raise SciagentError(error.message, path=path, line=number) from None


def verdict_label(run: str, verdict: Verdict, rater: Rater) -> Label | None:
    """A verdict on a criterion of the run called `run` as a label; None where it has no level."""
    if verdict.level is None:
        return None
    return Label(
        dataset=DATASET,
        run=run,
        finding=verdict.finding,
        criterion=verdict.criterion_id,
        rater=rater,
        score=verdict.level,
        scale=LEVELS_SCALE,
        text=verdict.reason or None,
    )


def labels_of_judge(verdicts: Iterable[tuple[str, Verdict]], name: str) -> list[Label]:
    """What the judge called `name` said, run by run; what code alone decided is not its word."""
    rater = Rater(kind="judge", name=name)
    found = (verdict_label(run, verdict, rater) for run, verdict in verdicts if verdict.judge is not None)
    return [label for label in found if label is not None]


def raters_of(labels: Sequence[Label], kind: str) -> list[str]:
    """The names of all raters of a kind, sorted."""
    return sorted({label.rater.name for label in labels if label.rater.kind == kind})
