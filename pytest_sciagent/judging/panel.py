"""Panels: several judges, or several draws of one, answer the same question, and their votes become one verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pydantic import JsonValue

from ..errors import SciagentError
from ..models import JudgeIdentity, LedgerEntry, Verdict, Vote
from .clients import Prompt, Reply
from .draws import DEFAULT_RULE, ONCE, WEIGHTED, Draws, Rule
from .judge import Judge, RecordedJudge
from .reliability import Reliability
from .requests import AnswerContext, Request

PANEL = "panel"
"""The kind of a panel's identity."""


@dataclass(frozen=True, slots=True)
class Poll:
    """How votes are taken and counted: how often each judge is asked, the rule, and under `weighted` what votes weigh.

    Raises:
        SciagentError: the rule `weighted` without weights, or weights without it.
    """

    draws: Draws = ONCE
    rule: Rule = DEFAULT_RULE
    weights: Reliability | None = None

    def __post_init__(self) -> None:
        if self.rule == WEIGHTED and self.weights is None:
            raise SciagentError(
                f"the rule {WEIGHTED} needs a file of weights (--sciagent-weights; --weights of a command): "
                "sciagent ensemble makes it of people's labels"
            )
        if self.rule != WEIGHTED and self.weights is not None:
            raise SciagentError(f"weights count under the rule {WEIGHTED} only, and the rule is {self.rule}")


ASKED_ONCE = Poll()


class Panel(Judge):
    """Several judges, or one that is asked several times. All of them answer the criteria; the lead alone (the first
    one, unless another is given) answers what is asked about a run, so that all are shown the same facts.

    Its identity names all members, draws, the rule and the weights: it tells how something was scored, and is in no
    ledger key.
    """

    def __init__(self, members: Sequence[Judge], poll: Poll = ASKED_ONCE, lead: Judge | None = None) -> None:
        self.members = tuple(members)
        self.lead = lead if lead is not None else self.members[0]
        self.poll = poll
        self.identity = _identity(self.members, poll)

    def ask(self, prompt: Prompt) -> str | dict[str, Any] | Reply | None:
        """Let the lead answer."""
        return self.lead.ask(prompt)

    def answer(self, request: Request, context: AnswerContext) -> LedgerEntry | None:
        """The lead's answer."""
        return self.lead.answer(request, context)


def _identity(members: Sequence[Judge], poll: Poll) -> JudgeIdentity | None:
    known = [member.identity for member in members if member.identity is not None]
    if len(known) == 1 and poll.draws == ONCE:
        return known[0]
    if not known:
        return None
    names = ",".join(identity.label for identity in known)
    about: dict[str, JsonValue] = {
        "members": [identity.as_json() for identity in known],
        "draws": str(poll.draws),
        "combine": poll.rule,
    }
    if poll.weights is not None:
        about["weights"] = poll.weights.digest
    return JudgeIdentity(kind=PANEL, model=names, parameters=about)


def convene(members: Sequence[Judge], poll: Poll) -> Judge:
    """The judge that `members` are together: the only one itself, where it is asked once.

    Raises:
        SciagentError: the vote of one can't be weighed by the weights given.
    """
    if poll.weights is not None:
        for member in members:
            poll.weights.check_member(member.identity)
    if len(members) == 1 and (poll.draws == ONCE or members[0].identity is None):
        return members[0]
    return Panel(members, poll)


def panel_of(judge: Judge) -> Panel:
    """Any judge as a panel: one of a single vote, unless it is one already."""
    return judge if isinstance(judge, Panel) else Panel([judge])


def as_recorded(judge: Judge) -> Judge:
    """The same judge, or panel, by what is recorded alone: nobody is asked."""
    if isinstance(judge, Panel):
        return Panel([RecordedJudge(member.identity) for member in judge.members], judge.poll)
    return RecordedJudge(judge.identity)


def identities_of(judge: Judge) -> tuple[JudgeIdentity, ...]:
    """Under which identities answers of a judge, or of the members of a panel, are recorded."""
    return tuple(m.identity for m in panel_of(judge).members if m.identity is not None)


@dataclass(frozen=True, slots=True)
class Ballot:
    """One vote with all that stands behind it: who, in which draw, and the verdict it gave.

    weight, without: of the judge, where votes are weighed, and the run whose labels it was learnt without.
    """

    judge: str
    draw: int
    verdict: Verdict
    weight: float | None = None
    without: str | None = None

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
            weight=self.weight,
            without=self.without,
        )


def combine(ballots: Sequence[Ballot], rule: Rule) -> Verdict:
    """One verdict out of at least one vote; a single one is taken as it is.

    Which level, and whether there is one, is told by `level_of`. The verdict keeps reason and citations of the first
    vote with its level; of votes that are weighed, of the first of the heaviest. Where nobody gave that level (rule
    `mean`), they are those of the first vote above it, and it has no anchors. Without a level the verdict is the first
    failure, else the first gap.
    """
    if len(ballots) == 1:
        return ballots[0].verdict
    votes = tuple(ballot.as_vote() for ballot in ballots)
    verdicts = [ballot.verdict for ballot in ballots]
    level = level_of(votes, rule)
    if level is None:
        without = [v for v in verdicts if v.level is None]
        failed = next((v for v in without if v.is_error), without[0])
        return failed.model_copy(update={"votes": votes})
    same = [ballot for ballot in ballots if ballot.verdict.level == level]
    if same:
        heaviest = max(same, key=lambda ballot: ballot.weight or 0)
        return heaviest.verdict.model_copy(update={"votes": votes})
    above = next(v for v in verdicts if v.level is not None and v.level > level)
    given = sum(v.level is not None for v in verdicts)
    reason = f"the mean of {given} votes, cut down to a level; one above it says: {above.reason}"
    changed = {"level": level, "anchors": None, "reason": reason, "reason_code": "mean_of_votes", "votes": votes}
    return above.model_copy(update=changed)


def level_of(votes: Sequence[Vote], rule: Rule) -> float | None:
    """The level that votes come to; None where too many have none.

    majority: the level that most votes gave; of equally many the lowest. median: the lower median. strict: the lowest.
    mean: the mean, cut down to the next level. weighted: the level with the most weight, of equally much the lowest; a
    judge has its weight once, in equal shares for its draws. A judge that abstains (not assessed) has no say. A vote
    that failed, or that nobody has recorded, is none: where half of the others or more have no level, there is none;
    nor where half of the weight or more has none.
    """
    counted = [vote for vote in votes if vote.status != "not_assessed"]
    given = [(Fraction(str(vote.level)), vote) for vote in counted if vote.level is not None]
    if 2 * len(given) <= len(counted):
        return None
    if rule != WEIGHTED:
        return float(_combined(sorted(level for level, _ in given), rule))
    draws = Counter(vote.judge for vote in counted)
    shares: dict[Fraction, Fraction] = {}
    for level, vote in given:
        shares[level] = shares.get(level, Fraction(0)) + _share_of(vote, draws)
    total = sum((_share_of(vote, draws) for vote in counted), start=Fraction(0))
    if total and 2 * sum(shares.values()) <= total:
        return None
    return float(_most(shares))


def _share_of(vote: Vote, draws: Counter[str]) -> Fraction:
    return Fraction(str(vote.weight or 0)) / draws[vote.judge]


def _combined(levels: Sequence[Fraction], rule: Rule) -> Fraction:
    """The combined level of sorted `levels`."""
    if rule == "strict":
        return levels[0]
    if rule == "median":
        return levels[(len(levels) - 1) // 2]
    if rule == "mean":
        mean = sum(levels, start=Fraction(0)) / len(levels)
        return max(step for step in (Fraction(0), Fraction(1, 2), Fraction(1)) if step <= mean)
    return _most(Counter(levels))


def _most(counts: Mapping[Fraction, int | Fraction]) -> Fraction:
    """What counts most; of equals the lowest."""
    return min(counts, key=lambda level: (-counts[level], level))
