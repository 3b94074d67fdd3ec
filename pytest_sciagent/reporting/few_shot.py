"""What labelled examples change: kappa with people before and after, on labels of runs that no example is of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from ..errors import SciagentError
from ..models import Label
from ..models.calibration import FewShot, KappaChange, Measure
from ..models.examples import ExamplesFile
from ..text import counted
from .columns import NOTHING, columns, number, paragraph

Things = Mapping[tuple[str, str, str, str], float]


def held_out(labels: Sequence[Label], examples: ExamplesFile) -> list[Label]:
    """The labels of runs that no example is taken from.

    Raises:
        SciagentError: there is none.
    """
    found = [label for label in labels if examples.holds_out(label.run)]
    if not found:
        raise SciagentError(
            f"all labels are of runs that the examples come from ({', '.join(examples.shown)}): measure on others"
        )
    return found


def few_shot(
    labels: Sequence[Label], before: Sequence[Label], after: Sequence[Label], examples: ExamplesFile, seed: int
) -> FewShot:
    """Compare a judge without examples with the same judge shown them, on `labels` that both have scored."""
    from ..statistics import kappa_gain

    without, shown = ({label.thing: label.score for label in said} for said in (before, after))
    both = [label for label in labels if label.thing in without and label.thing in shown]

    def change(part: Sequence[Label]) -> KappaChange:
        triples = [(label.thing[:2], label.score, without[label.thing], shown[label.thing]) for label in part]
        return KappaChange.model_validate(asdict(kappa_gain(triples, seed=seed)))

    criteria = sorted({label.criterion for label in both})
    return FewShot(
        digest=examples.digest,
        shots=examples.shots,
        seed=examples.seed,
        examples=len(examples.examples),
        shown=examples.shown,
        whole=change(both),
        criteria={id: change([label for label in both if label.criterion == id]) for id in criteria},
    )


def few_shot_lines(found: FewShot) -> Iterator[str]:
    """The table: kappa without examples, with them, and the difference."""
    yield ""
    yield "EXAMPLES: weighted kappa without and with them, and the paired difference"
    yield from paragraph(
        f"{counted(found.examples, 'example')}, {found.shots} a criterion at most, from "
        f"{counted(len(found.shown), 'run')}; measured on the labels of the others"
    )
    rows = [(name, *_row(change)) for name, change in (*found.criteria.items(), ("ALL", found.whole))]
    yield from columns(("", "n", "runs", "without", "", "with", "", "difference", ""), rows)
    if found.whole.n == 0:
        yield from paragraph("no label has a level both without and with examples: ask the judge without them too")
    elif found.whole.gain.low is not None and found.whole.gain.high is not None:
        yield from paragraph(_said(found.whole.gain.low, found.whole.gain.high))


def _row(change: KappaChange) -> tuple[str, ...]:
    told = [text for m in (change.before, change.after, change.gain) for text in (number(m.value, 2), _interval(m))]
    return (str(change.n), str(change.runs), *told)


def _said(low: float, high: float) -> str:
    if low > 0:
        return "the examples make this judge agree better"
    return "the examples make this judge agree worse" if high < 0 else "whether the examples help is not shown"


def _interval(measure: Measure) -> str:
    return NOTHING if measure.low is None or measure.high is None else f"{measure.low:.2f}..{measure.high:.2f}"
