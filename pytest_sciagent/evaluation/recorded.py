"""An evaluation from what is recorded, without a session: which rubric, which judge, and all verdicts."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from ..checks import find_check
from ..errors import SciagentError
from ..judging.judge import Judge, RecordedJudge
from ..judging.panel import ASKED_ONCE, Poll, convene, identities_of
from ..ledger import Ledger
from ..models import JudgeIdentity, LedgerEntry, Model, Rubric, Verdict
from ..rubrics import load_rubric, with_profile
from .case import Case


def read_rubric(name: str, profile: str | None, profiles: Collection[str], folder: Path) -> Rubric:
    """The rubric called `name`, looked up from `folder`, added up by `profile` (None: its own).

    Raises:
        SciagentError: an unknown or invalid rubric, a profile that is none of `profiles` or can't add it up, an unknown
            check, or a question about a whole run for a judge.
    """
    rubric = load_rubric(name, folder, folder)
    chosen = profile or rubric.profile
    if chosen not in profiles:
        known = ", ".join(profiles)
        raise SciagentError(f"rubric {rubric.id!r}: profile {chosen!r} is not available; choose from {known}")
    if chosen != rubric.profile:
        rubric = with_profile(rubric, chosen)
    for criterion in rubric.criteria:
        if criterion.check is not None:
            find_check(criterion.check)
        if criterion.scope == "run" and criterion.judge:
            raise SciagentError(f"rubric {rubric.id!r}: criterion {criterion.id!r} of scope 'run' needs a check alone")
    return rubric


def recorded_judges(ledgers: Iterable[Ledger]) -> list[JudgeIdentity]:
    """The judges that have answered anything in `ledgers`, in the order of their names."""
    found: dict[str, JudgeIdentity] = {}
    for ledger in ledgers:
        found |= ledger.judges()
    return [found[key] for key in sorted(found)]


def only_recorded(recorded: Sequence[JudgeIdentity], option: str) -> JudgeIdentity | None:
    """The judge whose answers are read where none is named: the only one recorded, else none.

    `option` is how the user names one.

    Raises:
        SciagentError: several are recorded.
    """
    if len(recorded) > 1:
        raise SciagentError(
            f"verdicts of several judges are recorded ({_names(recorded)}), which are never mixed: choose one with "
            f"{option}; several with commas between them are a panel"
        )
    return recorded[0] if recorded else None


def recorded_as(named: JudgeIdentity, recorded: Sequence[JudgeIdentity], hint: str = "") -> JudgeIdentity:
    """The recorded judge that `named` stands for: without parameters, the only one of that name.

    Raises:
        SciagentError: nothing is recorded under the name; `hint` ends the message.
    """
    if named in recorded:
        return named
    same = [judge for judge in recorded if (judge.kind, judge.model) == (named.kind, named.model)]
    if len(same) == 1 and not named.parameters:
        return same[0]
    told = f"recorded: {_names(recorded)}" if recorded else "no verdict of any judge is recorded"
    raise SciagentError(f"nothing is recorded under the judge {judge_name(named)}; {told}{hint}")


def recorded_judge(
    ledgers: Iterable[Ledger],
    named: Sequence[JudgeIdentity],
    option: str,
    poll: Poll = ASKED_ONCE,
) -> Judge:
    """The judge or panel whose answers are read: those `named`, else the only one recorded, else none.

    Raises:
        SciagentError: see `only_recorded`, `recorded_as` and `convene`.
    """
    recorded = recorded_judges(ledgers)
    members = [RecordedJudge(recorded_as(one, recorded)) for one in named]
    return convene(members or [RecordedJudge(only_recorded(recorded, option))], poll)


def judge_name(judge: JudgeIdentity) -> str:
    """`kind:model`, with the parameters as JSON where there are any."""
    return f"{judge.label} {json.dumps(judge.parameters, sort_keys=True)}" if judge.parameters else judge.label


def _names(judges: Iterable[JudgeIdentity]) -> str:
    return ", ".join(map(judge_name, judges))


def all_verdicts(case: Case, rubric: Rubric, judge: Judge) -> dict[tuple[str, str | None], Verdict]:
    """The verdict of every criterion of `rubric`, by criterion and finding (None for a criterion of the run)."""
    verdicts = {}
    for criterion in rubric.criteria:
        for finding in [None] if criterion.scope == "run" else case.findings:
            verdicts[criterion.id, finding] = case.verdict(criterion, finding, judge)
    return verdicts


def answers_behind(case: Case, verdicts: Iterable[Verdict], judge: Judge) -> tuple[LedgerEntry, ...]:
    """The recorded answers that a run was judged by, those about the whole run included."""
    verdicts = list(verdicts)
    keys = {verdict.key for verdict in verdicts if verdict.key is not None}
    keys |= {vote.key for verdict in verdicts for vote in verdict.votes if vote.key is not None}
    members = identities_of(judge)
    keys |= {request.key(lead) for lead in members[:1] for request in case.questions.about_run()}
    if case.canary:
        canaries = [case.questions.canary(finding) for finding in case.report.findings]
        keys |= {canary.key(member) for member in members for canary in canaries}
    return tuple(entry for key in sorted(keys) if (entry := case.ledger.get(key)) is not None)


class Replayed(Model):
    """What recorded answers took when they were given.

    costs: of each answer in US dollars, null where it was not recorded. without_tokens: how many answers the sums of
    tokens leave out, wholly or in part.
    """

    costs: tuple[float | None, ...] = ()
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    without_tokens: int = 0

    @classmethod
    def of(cls, entries: Iterable[LedgerEntry]) -> Replayed:
        entries = tuple(entries)
        usages = [entry.usage for entry in entries]
        return cls(
            costs=tuple(entry.cost_usd for entry in entries),
            input_tokens=sum(u.input_tokens or 0 for u in usages),
            cached_tokens=sum(u.cached_tokens or 0 for u in usages),
            output_tokens=sum(u.output_tokens or 0 for u in usages),
            without_tokens=sum(u.input_tokens is None or u.output_tokens is None for u in usages),
        )
