"""Panels: several judges, or several draws of one, answer the same question, and their votes become one verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..models import JudgeIdentity, LedgerEntry, Verdict, Vote
from .clients import Prompt, Reply
from .draws import DEFAULT_RULE, ONCE, Draws, Rule
from .judge import Judge, RecordedJudge
from .requests import AnswerContext, Request

PANEL = "panel"
"""The kind of a panel's identity."""


class Panel(Judge):
    """Several judges, or one that is asked several times. All of them answer the criteria; the lead alone (the first
    one, unless another is given) answers what is asked about a run, so that all are shown the same facts.

    Its identity names all members, draws and the rule: it tells how something was scored, and is in no ledger key.
    """

    def __init__(
        self, members: Sequence[Judge], draws: Draws = ONCE, rule: Rule = DEFAULT_RULE, lead: Judge | None = None
    ) -> None:
        self.members = tuple(members)
        self.lead = lead if lead is not None else self.members[0]
        self.draws = draws
        self.rule: Rule = rule
        self.identity = _identity(self.members, draws, rule)

    def ask(self, prompt: Prompt) -> str | dict[str, Any] | Reply | None:
        """Let the lead answer."""
        return self.lead.ask(prompt)

    def answer(self, request: Request, context: AnswerContext) -> LedgerEntry | None:
        """The lead's answer."""
        return self.lead.answer(request, context)


def _identity(members: Sequence[Judge], draws: Draws, rule: Rule) -> JudgeIdentity | None:
    known = [member.identity for member in members if member.identity is not None]
    if len(known) == 1 and draws == ONCE:
        return known[0]
    if not known:
        return None
    names = ",".join(identity.label for identity in known)
    about = {"members": [identity.as_json() for identity in known], "draws": str(draws), "combine": rule}
    return JudgeIdentity(kind=PANEL, model=names, parameters=about)


def convene(members: Sequence[Judge], draws: Draws, rule: Rule) -> Judge:
    """The judge that `members` are together: the only one itself, where it is asked once."""
    if len(members) == 1 and (draws == ONCE or members[0].identity is None):
        return members[0]
    return Panel(members, draws, rule)


def panel_of(judge: Judge) -> Panel:
    """Any judge as a panel: one of a single vote, unless it is one already."""
    return judge if isinstance(judge, Panel) else Panel([judge])


def as_recorded(judge: Judge) -> Judge:
    """The same judge, or panel, by what is recorded alone: nobody is asked."""
    if isinstance(judge, Panel):
        return Panel([RecordedJudge(member.identity) for member in judge.members], judge.draws, judge.rule)
    return RecordedJudge(judge.identity)


def identities_of(judge: Judge) -> tuple[JudgeIdentity, ...]:
    """Under which identities answers of a judge, or of the members of a panel, are recorded."""
    return tuple(m.identity for m in panel_of(judge).members if m.identity is not None)


@dataclass(frozen=True, slots=True)
class Ballot:
    """One vote with all that stands behind it: who, in which draw, and the verdict it gave."""

    judge: str
    draw: int
    verdict: Verdict

    def as_vote(self) -> Vote:
        """The vote as it stands beside the combined verdict."""
        verdict = self.verdict
        return Vote(
            judge=self.judge,
            draw=self.draw,
            status=verdict.status,
            level=verdict.level,
            reason=verdict.reason,
            key=verdict.key,
        )


def combine(ballots: Sequence[Ballot], rule: Rule) -> Verdict:
    """One verdict out of at least one vote; a single one is taken as it is.

    majority: the level that most votes gave; of equally many the lowest. median: the lower median. strict: the lowest.
    mean: the mean, cut down to the next level. A judge that abstains (not assessed) has no say. A vote that failed, or
    that nobody has recorded, is none: where half of the others or more have no level, there is none, and the verdict is
    the first failure, else the first gap.

    The verdict keeps reason and citations of the first vote with its level. Where nobody gave that level (rule `mean`),
    they are those of the first vote above it, and it has no anchors.
    """
    if len(ballots) == 1:
        return ballots[0].verdict
    votes = tuple(ballot.as_vote() for ballot in ballots)
    verdicts = [ballot.verdict for ballot in ballots]
    levels = [Fraction(str(v.level)) for v in verdicts if v.level is not None]
    if 2 * len(levels) <= sum(v.status != "not_assessed" for v in verdicts):
        without = [v for v in verdicts if v.level is None]
        failed = next((v for v in without if v.is_error), without[0])
        return failed.model_copy(update={"votes": votes})
    level = float(_combined(sorted(levels), rule))
    same = next((v for v in verdicts if v.level == level), None)
    if same is not None:
        return same.model_copy(update={"votes": votes})
    above = next(v for v in verdicts if v.level is not None and v.level > level)
    reason = f"the mean of {len(levels)} votes, cut down to a level; one above it says: {above.reason}"
    changed = {"level": level, "anchors": None, "reason": reason, "reason_code": "mean_of_votes", "votes": votes}
    return above.model_copy(update=changed)


def _combined(levels: Sequence[Fraction], rule: Rule) -> Fraction:
    """The combined level of sorted `levels`."""
    if rule == "strict":
        return levels[0]
    if rule == "median":
        return levels[(len(levels) - 1) // 2]
    if rule == "mean":
        mean = sum(levels, start=Fraction(0)) / len(levels)
        return max(step for step in (Fraction(0), Fraction(1, 2), Fraction(1)) if step <= mean)
    counts = Counter(levels)
    return min(counts, key=lambda level: (-counts[level], level))
