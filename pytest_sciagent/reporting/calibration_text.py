"""A calibration as text: one line a slice, the ceiling below, and details of each slice where wanted."""

from __future__ import annotations

from collections.abc import Iterator

from ..models.calibration import AgreementMeasured, Calibration, Measure, Slice
from ..text import counted, one_line
from .columns import NOTHING, columns, number, paragraph, percent
from .few_shot import few_shot_lines

_NAME = 26
_MOST_LEVELS = 12


def calibration_text(found: Calibration, *, details: bool = False) -> str:
    """All of it, ready to be printed."""
    head = f"{found.bound.judge} against {found.against} ({counted(len(found.raters), 'rater')})"
    lines = [one_line(head, 100), "", "agreement; 95 % intervals by a bootstrap over runs"]
    lines += agreement_table(found.slices)
    ceilings = [part for part in found.slices if part.ceiling is not None]
    if ceilings:
        lines += ["", f"ceiling: how far {found.against} agree with each other", *_ceilings(ceilings)]
    lines += few_shot_lines(found.few_shot) if found.few_shot is not None else []
    lines += [line for part in found.slices if details for line in _details(part)]
    open_ = sum(part.unanswered for part in found.slices if part.kind == "all")
    if open_:
        lines += [
            "",
            f"{counted(open_, 'label')} without a level of {found.bound.judge}: left out, not counted as wrong",
        ]
    if found.again:
        told = f"{counted(found.again, 'label')} of what the same rater had labelled before"
        lines += ["", *paragraph(f"{told}, {found.otherwise} with another score: all count")]
    reasons = sorted({part.agreement.reason for part in found.slices if part.agreement.reason is not None})
    lines += ["", *reasons] if reasons else []
    return "\n".join(lines) + "\n"


def agreement_words(found: Calibration) -> str:
    """How far the judge agrees, in a few words."""
    part = found.whole
    ceiling = "" if part.ceiling is None else f"; {found.against} among themselves {_value(part.ceiling.kappa)}"
    return (
        f"weighted kappa {_value(part.agreement.kappa)} with {found.against}, "
        f"{counted(part.agreement.n, 'label')} of {counted(part.agreement.runs, 'run')}{ceiling}"
    )


def agreement_table(slices: tuple[Slice, ...]) -> list[str]:
    """A line for each slice: equal levels, kappa, alpha and rank correlation with intervals, bias."""
    head = ("", "n", "same %", "kappa", "", "alpha", "spearman", "", "bias")
    rows = []
    for part in slices:
        found = part.agreement
        rows.append(
            (
                _called(part),
                str(found.n),
                percent(found.exact.value, found.exact.value),
                number(found.kappa.value, 2),
                _interval(found.kappa),
                number(found.alpha.value, 2),
                number(found.spearman.value, 2),
                _interval(found.spearman),
                number(found.bias.value, 2),
            )
        )
    return columns(head, rows)


def _ceilings(slices: list[Slice]) -> list[str]:
    head = ("", "n", "runs", "same %", "kappa", "", "alpha", "spearman", "pearson", "judge's")
    rows = []
    for part in slices:
        found = part.ceiling
        assert found is not None  # only those are given
        rows.append(
            (
                _called(part),
                str(found.n),
                str(found.runs),
                percent(found.exact.value, found.exact.value),
                number(found.kappa.value, 2),
                _interval(found.kappa),
                number(found.alpha.value, 2),
                number(found.spearman.value, 2),
                number(found.pearson.value, 2),
                number(part.agreement.pearson.value, 2),
            )
        )
    return columns(head, rows)


def _details(part: Slice) -> Iterator[str]:
    found = part.agreement
    yield ""
    yield f"{_called(part)}, scale {part.scale[0]:g}..{part.scale[1]:g}"
    for name in ("exact", "kappa", "alpha", "pearson", "spearman", "kendall", "bias"):
        yield f"  {name:<10} {_value(getattr(found, name))}"
    yield f"  {'runs':<10} {found.runs}"
    yield f"  {'mae':<10} {number(found.mae, 2)}"
    yield f"  {'macro F1':<10} {number(found.macro_f1, 2)}"
    yield f"  prevalence, labels: {_shares(part.labels)}"
    yield f"  prevalence, judge:  {_shares(part.judge)}"
    if len(found.levels) <= _MOST_LEVELS:
        yield from (f"  {line}" for line in _confusion(found))


def _confusion(found: AgreementMeasured) -> list[str]:
    head = ("label \\ judge", *(f"{level:g}" for level in found.levels))
    rows = [(f"{level:g}", *map(str, row)) for level, row in zip(found.levels, found.confusion, strict=True)]
    return columns(head, rows)


def _called(part: Slice) -> str:
    name = {"criterion": part.name, "dimension": f"[{part.name}]", "all": part.name.upper()}[part.kind]
    return one_line(name, _NAME)


def _shares(shares: dict[str, float]) -> str:
    shown = [f"{level} {percent(share, share)} %" for level, share in shares.items()]
    more = len(shown) - _MOST_LEVELS
    return ", ".join(shown[:_MOST_LEVELS]) + (f" and {more} more" if more > 0 else "")


def _interval(measure: Measure) -> str:
    if measure.low is None or measure.high is None:
        return NOTHING
    return f"{measure.low:.2f}..{measure.high:.2f}"


def _value(measure: Measure) -> str:
    if measure.value is None:
        return "unknown"
    interval = "" if measure.low is None else f" ({_interval(measure)})"
    return f"{measure.value:.2f}{interval}"
