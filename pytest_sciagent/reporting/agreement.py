"""How far the votes of a panel agree: draws of one judge with each other, and judges with each other.

Only first and second draws are counted: further ones may be asked for because these differ, and would count them twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from ..judging.panel import PANEL
from ..models import JudgeIdentity, Verdict
from ..scoring.interval import format_fraction
from ..text import counted


@dataclass(frozen=True, slots=True)
class Agreement:
    """Counts over questions; a vote without a level agrees with none and differs from none.

    votes: of all members, in all draws; without_level: those of them that failed, or that nobody has recorded.
    drawn_twice: how often one judge gave a level in its first and its second draw; flips: how often those two differ.
    pairs: how often two judges gave a level in their first draws; alike: how often those two are the same.
    """

    votes: int = 0
    without_level: int = 0
    drawn_twice: int = 0
    flips: int = 0
    pairs: int = 0
    alike: int = 0

    @property
    def flip_rate(self) -> Fraction | None:
        """Share of questions that a judge answers otherwise when it is asked again; None where none was."""
        return Fraction(self.flips, self.drawn_twice) if self.drawn_twice else None

    @property
    def agreement(self) -> Fraction | None:
        """Share of pairs of judges that give the same level; None where there are none."""
        return Fraction(self.alike, self.pairs) if self.pairs else None

    def __add__(self, other: Agreement) -> Agreement:
        return Agreement(
            self.votes + other.votes,
            self.without_level + other.without_level,
            self.drawn_twice + other.drawn_twice,
            self.flips + other.flips,
            self.pairs + other.pairs,
            self.alike + other.alike,
        )


def agreement_of(verdict: Verdict) -> Agreement:
    """How far the votes behind one verdict agree."""
    firsts, seconds = (
        {vote.judge: vote.level for vote in verdict.votes if vote.draw == draw and vote.level is not None}
        for draw in (1, 2)
    )
    twice = [(firsts[judge], seconds[judge]) for judge in firsts if judge in seconds]
    pairs = list(combinations(firsts.values(), 2))
    return Agreement(
        votes=len(verdict.votes),
        without_level=sum(vote.level is None for vote in verdict.votes),
        drawn_twice=len(twice),
        flips=sum(a != b for a, b in twice),
        pairs=len(pairs),
        alike=sum(a == b for a, b in pairs),
    )


def agreement_by_criterion(verdicts: Iterable[Verdict]) -> dict[str, Agreement]:
    """As `agreement_of`, added up for each criterion on which a panel has voted, by its id."""
    found: dict[str, Agreement] = {}
    for verdict in verdicts:
        if verdict.votes:
            found[verdict.criterion_id] = found.get(verdict.criterion_id, Agreement()) + agreement_of(verdict)
    return dict(sorted(found.items()))


def who_judged(judge: JudgeIdentity) -> str:
    """The judge by its name; a panel with its draws and its rule, and which weights that takes."""
    if judge.kind != PANEL:
        return judge.label
    how = judge.parameters
    by = f" by weights {str(how['weights'])[:8]}" if "weights" in how else ""
    return f"{judge.label} ({how.get('combine')} of votes{by}, draws {how.get('draws')})"


def agreement_line(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """One line on how far the votes of a panel agree; none where none has voted."""
    by_criterion = agreement_by_criterion(verdicts)
    found = sum(by_criterion.values(), start=Agreement())
    told = []
    if found.flip_rate is not None:
        told.append(f"{_percent(found.flip_rate)} of {counted(found.drawn_twice, 'answer')} flip in the second draw")
    if found.agreement is not None:
        told.append(f"judges agree in {_percent(found.agreement)} of {counted(found.pairs, 'pair')} of votes")
    if found.without_level:
        told.append(f"{found.without_level} of {counted(found.votes, 'vote')} without a level")
    if told:
        worst = min(by_criterion.items(), key=lambda entry: (_sameness(entry[1]), entry[0]))
        least = f"; least for {worst[0]}" if _sameness(worst[1]) < 1 else ""
        yield f"votes: {'; '.join(told)}{least}"


def _sameness(found: Agreement) -> Fraction:
    """The share of all compared pairs of votes, of draws or of judges, that are alike; 1 where there are none."""
    compared = found.drawn_twice + found.pairs
    return Fraction(found.drawn_twice - found.flips + found.alike, compared) if compared else Fraction(1)


def _percent(share: Fraction) -> str:
    return f"{format_fraction(share * 100, 0)} %"
