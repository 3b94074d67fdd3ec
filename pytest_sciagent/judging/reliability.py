"""How much the vote of each member of a panel weighs, by how often it said what people said: a sum of logarithms.

Of independent voters, each right with a probability p that does not depend on what is true, the best rule adds up
log(p (K - 1) / (1 - p)) for each of K choices (Nitzan and Paroush 1982 for two; with one error rate a voter this is the
model of Dawid and Skene 1979). Here K = 3 levels. p is not the plain share of equal levels, since a judge that always
says what is said most often would have a high one and knows nothing: it is (1 + 2 q) / 3, where q is the share that is
equal beyond chance (Cohen's kappa, chance taken for each dimension by itself). Where all levels are equally frequent,
p is the plain share.

q is drawn towards 0 as by three labels more that agree by chance only (so without a label a vote weighs nothing), and
in a dimension towards that over all of them, as by fifteen. A member no better than chance has weight 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from operator import add, sub
from pathlib import Path

from ..errors import SciagentError
from ..models import JudgeIdentity
from ..models.examples import first_of
from ..models.weights import Confusion, WeightsFile
from ..text import one_line

PULL_TO_CHANCE = Fraction(2)
PULL_TO_ALL = Fraction(10)
"""In labels' worth beyond chance: with three equally frequent levels a label is worth 2/3 of one."""
DIGITS = 6
MAKE = "Make them anew with sciagent ensemble"
Counts = tuple[int, ...]
"""Nine: of people's level 0, 0.5 and 1 in turn, how often the judge gave 0, 0.5 and 1."""
_NONE: Counts = (0,) * 9


@dataclass(frozen=True, slots=True)
class Weighing:
    """What votes on a criterion weigh, by the label of their judge, and the run whose own labels were left out."""

    weights: Mapping[str, float]
    without: str | None


class Reliability:
    """The weights that a file of counts comes to; `path` is where it lies. What belongs to a run is worked out once."""

    def __init__(self, file: WeightsFile, path: Path | None = None) -> None:
        self.file = file
        self.path = path
        self._all = [_sum(file.runs.values(), n) for n in range(len(file.members))]
        self._known: dict[tuple[str | None, str], Weighing] = {}

    @property
    def digest(self) -> str:
        """What tells these weights from others."""
        return self.file.digest

    def check_member(self, judge: JudgeIdentity | None) -> None:
        """See that a judge's votes can be weighed.

        Raises:
            SciagentError: nothing is known about it, or only about one with other parameters.
        """
        if judge is None or judge not in self.file.members:
            label = "a judge that nobody knows" if judge is None else judge.label
            known = [member.label for member in self.file.members]
            told = (
                f"the parameters of {label} have changed since"
                if judge is not None and label in known
                else f"{label} is not a member; members: {', '.join(known)}"
            )
            raise SciagentError(f"these weights do not hold: {told}. {MAKE}", path=self.path)

    def of(self, run: str, dimension: str) -> Weighing:
        """The weights on a criterion of `dimension` in `run`, learnt without the labels of this run and its repeats."""
        return self._weighing(first_of(run) if first_of(run) in self.file.runs else None, dimension)

    def all_labels(self, dimension: str) -> Mapping[str, float]:
        """The weights on a criterion of `dimension` in a run that nobody has labelled."""
        return self._weighing(None, dimension).weights

    def _weighing(self, without: str | None, dimension: str) -> Weighing:
        if (without, dimension) not in self._known:
            weights = {member.label: self._weight(n, without, dimension) for n, member in enumerate(self.file.members)}
            self._known[without, dimension] = Weighing(weights, without)
        return self._known[without, dimension]

    def told(self, runs: Iterable[str]) -> str:
        """What to tell of a session that tests `runs`."""
        mine = sum(first_of(run) in self.file.runs for run in runs)
        without = f"; {mine} of them tested here, without their own labels" if mine else ""
        name = one_line(self.path.name, 80) if self.path is not None else "what was counted"
        return f"votes are weighed by {name}: people's labels of {len(self.file.runs)} runs{without}"

    def overall(self) -> dict[str, float]:
        """Each member's weight by all labels of all dimensions."""
        return {m.label: weight_of(_share(self._all[n].values())) for n, m in enumerate(self.file.members)}

    def _weight(self, member: int, without: str | None, dimension: str) -> float:
        tables = self._all[member]
        if without is not None:
            own = self.file.runs[without]
            tables = {
                name: tuple(map(sub, table, _flat(own[name][member]))) if name in own else table
                for name, table in tables.items()
            }
        mine = [tables[dimension]] if dimension in tables else []
        return weight_of(_share(mine, PULL_TO_ALL, _share(tables.values())))


def weight_of(share: Fraction) -> float:
    """The logarithm of the odds of one right level of three against a wrong one, for a `share` beyond chance."""
    if share <= 0:
        return 0.0
    return round(math.log((1 + 2 * share) / (1 - share)), DIGITS)


def beyond_chance(table: Counts) -> tuple[Fraction, Fraction]:
    """How many levels of people and judge are equal beyond what chance gives, and how many could be.

    Chance is the share of equal levels among pairs of a label and the judge's level for another label: so its
    expectation is right for few labels, too. With fewer than two labels there is nothing to tell.
    """
    n = sum(table)
    if n < 2:
        return Fraction(0), Fraction(0)
    same = sum(table[::4])
    crossed = sum(sum(table[3 * level : 3 * level + 3]) * sum(table[level::3]) for level in range(3))
    expected = Fraction(crossed - same, n - 1)
    return same - expected, n - expected


def _share(tables: Iterable[Counts], pull: Fraction = PULL_TO_CHANCE, towards: Fraction = Fraction(0)) -> Fraction:
    """The share of equal levels beyond chance, dimension by dimension, drawn `towards` another; below 1."""
    counted = [beyond_chance(table) for table in tables]
    above = sum((num for num, _ in counted), start=pull * towards)
    return above / sum((den for _, den in counted), start=pull)


def _sum(runs: Iterable[Mapping[str, tuple[Confusion, ...]]], member: int) -> dict[str, Counts]:
    found: dict[str, Counts] = {}
    for dimensions in runs:
        for name, tables in dimensions.items():
            found[name] = tuple(map(add, found.get(name, _NONE), _flat(tables[member])))
    return found


def _flat(table: Confusion) -> Counts:
    return tuple(count for row in table for count in row)
