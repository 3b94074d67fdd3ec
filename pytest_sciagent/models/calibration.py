"""What `sciagent calibrate` writes (schema sciagent-calibration/1): how far a judge agrees with labels, and of what."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from .base import Model, NonEmpty, Sha256, Size
from .verdict import JudgeIdentity

SCHEMA = "sciagent-calibration/1"
Number = Annotated[float, Field(allow_inf_nan=False)]

Day = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]


class Measure(Model):
    """A measure with its 95 % interval (a bootstrap over runs); null where the labels leave it open."""

    value: Number | None
    low: Number | None = None
    high: Number | None = None


class AgreementMeasured(Model):
    """Agreement of a second rater with a first: see `statistics.RaterAgreement`, and ordinal alpha over all raters.

    bias and mae are in units of the scale. confusion: counts, a row for each of `levels` that the first gave.
    """

    n: Size
    runs: Size
    exact: Measure
    kappa: Measure
    alpha: Measure
    pearson: Measure
    spearman: Measure
    kendall: Measure
    bias: Measure
    mae: Number | None
    macro_f1: Number | None
    levels: tuple[Number, ...]
    confusion: tuple[tuple[int, ...], ...]
    reason: str | None = None


class Slice(Model):
    """The labels of one criterion, of one dimension, or all of one scale.

    labels: the scores of the labels that could be compared; judge: those of the judge. Shares by score.
    ceiling: how far people agree with each other on the same things; null where no two of them judged one thing.
    unanswered: labels on which the judge gave no level: its failures and gaps are no score, and count nowhere else.
    """

    kind: Literal["criterion", "dimension", "all"]
    name: NonEmpty
    scale: tuple[Number, Number]
    agreement: AgreementMeasured
    labels: dict[str, Number]
    judge: dict[str, Number]
    unanswered: Size
    ceiling: AgreementMeasured | None


class KappaChange(Model):
    """Weighted kappa before and after a change, on the same `n` labels in `runs` runs; gain: after less before, with
    the interval of the paired difference (a bootstrap over runs)."""

    n: Size
    runs: Size
    before: Measure
    after: Measure
    gain: Measure
    reason: str | None = None


class FewShot(Model):
    """What labelled examples changed, on labels of runs that no example is of: over all, and for each criterion.

    examples: how many are shown, at most `shots` a criterion, chosen by `seed` from labels of the runs `shown`. digest:
    of what judges are shown.
    """

    digest: Sha256
    shots: Size
    seed: Size
    examples: Size
    shown: tuple[str, ...]
    whole: KappaChange
    criteria: dict[str, KappaChange]


class Bound(Model):
    """What a calibration holds for: it expires when one of these changes.

    templates: the digest of the words that criteria are asked in. It and the rubric are null where the judge is known
    by labels only.
    """

    judge: NonEmpty
    identity: JudgeIdentity | None
    templates: Sha256 | None
    rubric: NonEmpty | None
    rubric_digest: Sha256 | None


class Calibration(Model):
    """How far one judge agrees with people (or with `against`, another judge), as measured once.

    measured_on: the day (UTC), as 2020-01-31. few_shot: there where the judge was shown examples; then all slices are
    of held-out labels. again: labels of things that the same rater had labelled before; otherwise: those of them with
    another score. All count.
    """

    schema_: Literal["sciagent-calibration/1"] = Field("sciagent-calibration/1", alias="schema")
    plugin_version: str
    measured_on: Day | None = None
    bound: Bound
    against: NonEmpty
    raters: tuple[str, ...]
    labels_digest: Sha256
    slices: tuple[Slice, ...]
    few_shot: FewShot | None = None
    again: Size = 0
    otherwise: Size = 0

    @model_validator(mode="after")
    def _has_a_whole(self) -> Calibration:
        if not any(part.kind == "all" for part in self.slices):
            raise ValueError("no slice is of kind 'all'")
        return self

    @property
    def whole(self) -> Slice:
        """All labels of one scale; of several scales that with the most pairs."""
        return max((part for part in self.slices if part.kind == "all"), key=lambda part: part.agreement.n)
