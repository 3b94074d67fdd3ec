"""How a verified run stands: which criteria hold, which fail, and what changed from one round to the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ..models import GAPS, Criterion, Rubric
from ..models.results import CriterionResult, FindingScored, RunScored
from ..models.revision import ClaimChange, FileChanges, LevelChange, Standing
from ..runs import Run
from ..text import one_line

SATISFIED = 1.0
"""The level at which a criterion holds. A half is a failure with something to build on."""
OF_THE_RUN = "run"
BEST_FINDING = "best-finding"
"""The profile under which a criterion holds as soon as it holds for one finding."""
Place = tuple[str, str]
"""Finding (or `run`) and criterion."""


def is_open(result: CriterionResult) -> bool:
    """Whether nothing is known: nobody has answered, or judging failed. That is never taken for a level."""
    return result.level is None and (result.status not in GAPS or result.status == "unrecorded")


def _best(results: Sequence[tuple[int, CriterionResult]]) -> CriterionResult:
    """What is known of a criterion any finding may meet: one that holds decides, else an open one leaves it open."""
    number, best = max(results, key=lambda one: -1.0 if one[1].level is None else one[1].level)
    if best.level != SATISFIED:
        number, best = next(((n, r) for n, r in results if is_open(r)), (number, best))
    return best.model_copy(update={"reason": f"best so far in finding {number}: {best.reason}"})


@dataclass(frozen=True)
class Verification:
    """One run as a session scored it, under the rubric that gives its score. validity: how far its judge may be
    believed, as the session said it."""

    scored: RunScored
    rubric: Rubric
    validity: str

    @cached_property
    def results(self) -> dict[Place, CriterionResult]:
        """Every criterion of the rubric by its place; what other rubrics or the user's own code ask is left out.

        Where findings share the work (profile `best-finding`), a criterion has one place: that of the run.
        """
        found = {(OF_THE_RUN, result.criterion_id): result for result in self.scored.criteria}
        shared: dict[str, list[tuple[int, CriterionResult]]] = {}
        profile: str = self.rubric.profile
        for finding in self.scored.findings:
            if profile == BEST_FINDING:
                for result in finding.criteria:
                    shared.setdefault(result.criterion_id, []).append((finding.number, result))
            else:
                found |= {(finding.id, result.criterion_id): result for result in finding.criteria}
        found |= {(OF_THE_RUN, name): _best(results) for name, results in shared.items()}
        return {place: result for place, result in found.items() if place[1] in self.rubric.by_id}

    @cached_property
    def findings(self) -> dict[str, FindingScored]:
        return {finding.id: finding for finding in self.scored.findings}

    def holds(self, place: Place) -> bool:
        """Whether the criterion there is satisfied."""
        result = self.results.get(place)
        return result is not None and result.level == SATISFIED

    @property
    def failed(self) -> list[tuple[Place, Criterion, CriterionResult]]:
        """What was assessed and does not hold, in the rubric's order, finding by finding."""
        return [
            (place, self.rubric.by_id[place[1]], result)
            for place, result in self.results.items()
            if result.level is not None and result.level < SATISFIED
        ]

    @property
    def unrecorded(self) -> list[Place]:
        """Criteria that nobody has been asked about."""
        return [place for place, result in self.results.items() if result.status == "unrecorded"]

    @property
    def open(self) -> list[Place]:
        """Criteria without a verdict: not asked about, or judging failed."""
        return [place for place, result in self.results.items() if is_open(result)]

    @property
    def standing(self) -> Standing:
        results = self.results.values()
        levels = [result.level for result in results if result.level is not None]
        return Standing(
            satisfied=sum(level == SATISFIED for level in levels),
            failed=sum(level < SATISFIED for level in levels),
            not_assessed=len(self.results) - len(levels) - len(self.open),
            open=len(self.open),
            score=self.scored.score,
        )

    def is_unsupported(self, finding: str) -> bool:
        """Whether less than half of the points that were assessed for a finding hold."""
        assessed = [(self.rubric.by_id[c].weight, r) for (f, c), r in self.results.items() if f == finding]
        known = [(weight, r.level) for weight, r in assessed if r.level is not None and weight > 0]
        held = sum(weight for weight, level in known if level == SATISFIED)
        return bool(known) and 2 * held < sum(weight for weight, _ in known)


@dataclass(frozen=True)
class Difference:
    """What a round changed of verdicts and claims, and what that means.

    lost: criteria that held and do not any more, or of a finding that was withdrawn although it was supported.
    gained: criteria that were raised; `withdrawn` are the unsupported findings that are gone, which is an action, too.
    unsure: criteria that held and have no verdict now, because judging failed or nobody has answered.
    """

    lost: tuple[Place, ...]
    gained: tuple[Place, ...]
    unsure: tuple[Place, ...]
    levels: tuple[LevelChange, ...]
    claims: tuple[ClaimChange, ...]
    withdrawn: tuple[str, ...] = field(default=())

    @property
    def is_progress(self) -> bool:
        return bool(self.gained or self.withdrawn)


def difference(before: Verification, after: Verification) -> Difference:
    """What became of each criterion and each finding of `before`."""
    became = _became(before, after)
    withdrawn = [f for f in before.findings if f not in became]
    unsupported = [f for f in withdrawn if after.findings and before.is_unsupported(f)]
    lost, gained, unsure, levels = [], [], [], []
    for place, old in before.results.items():
        now = (became.get(place[0], place[0]) if place[0] != OF_THE_RUN else OF_THE_RUN, place[1])
        new = after.results.get(now) if place[0] == OF_THE_RUN or place[0] in became else None
        held = before.holds(place)
        if new is not None and is_open(new):
            unsure += [place] if held else []
            continue
        level = new.level if new is not None else None
        if level != old.level:
            levels.append(LevelChange(finding=place[0], criterion_id=place[1], before=old.level, after=level))
        if held and level != SATISFIED and place[0] not in unsupported:
            lost.append(place)
        if old.level is not None and level is not None and level > old.level:
            gained.append(place)
    claims = list(_claims(before, after, became, unsupported))
    return Difference(tuple(lost), tuple(gained), tuple(unsure), tuple(levels), tuple(claims), tuple(unsupported))


def _became(before: Verification, after: Verification) -> dict[str, str]:
    """Which finding of the later round each of the earlier is: the one of its title, else the one of its number."""
    titles = {_folded(f.title): f.id for f in after.findings.values()}
    found = {f.id: titles[_folded(f.title)] for f in before.findings.values() if _folded(f.title) in titles}
    taken = set(found.values())
    for finding in before.findings:
        if finding not in found and finding in after.findings and finding not in taken:
            found[finding] = finding
    return found


def _folded(title: str) -> str:
    return " ".join(title.casefold().split())


def _claims(
    before: Verification, after: Verification, became: dict[str, str], unsupported: list[str]
) -> Iterator[ClaimChange]:
    for finding in before.findings.values():
        old = one_line(finding.title, 300)
        if finding.id not in became:
            gone = finding.id in unsupported
            yield ClaimChange(kind="withdrawn", finding=finding.id, before=old, unsupported=gone)
            continue
        new = one_line(after.findings[became[finding.id]].title, 300)
        if _folded(new) != _folded(old):
            yield ClaimChange(kind="reworded", finding=finding.id, before=old, after=new)
    for finding in after.findings.values():
        if finding.id not in became.values():
            yield ClaimChange(kind="added", finding=finding.id, after=one_line(finding.title, 300))


def file_changes(before: Run, after: Run) -> FileChanges:
    """Which files of `output/` differ."""
    old, new = ({p: f.sha256 for p, f in run.files.items() if p.startswith("output/")} for run in (before, after))
    return FileChanges(
        added=tuple(sorted(new.keys() - old.keys())),
        changed=tuple(sorted(path for path in new.keys() & old.keys() if new[path] != old[path])),
        removed=tuple(sorted(old.keys() - new.keys())),
    )
