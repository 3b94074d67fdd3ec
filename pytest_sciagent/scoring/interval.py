"""Exact intervals: what a score can be, given what is not known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Interval:
    """All values from `low` to `high`, both included; a point where they are equal."""

    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError(f"an interval runs upwards, not from {self.low} to {self.high}")

    @classmethod
    def point(cls, value: Fraction | int) -> Interval:
        return cls(Fraction(value), Fraction(value))

    @property
    def is_point(self) -> bool:
        return self.low == self.high

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Interval) -> Interval:
        return Interval(self.low - other.high, self.high - other.low)

    def scaled(self, factor: Fraction) -> Interval:
        """This interval times a factor of 0 or more."""
        return Interval(self.low * factor, self.high * factor)

    def clamped(self, low: int, high: int) -> Interval:
        return Interval(
            min(max(self.low, Fraction(low)), Fraction(high)), min(max(self.high, Fraction(low)), Fraction(high))
        )

    def show(self, digits: int = 1) -> str:
        """For people: `55.6`, or `48.2..58.2` where it is open. Rounded to the nearest, halves to even."""
        low = format_fraction(self.low, digits)
        return low if self.is_point else f"{low}..{format_fraction(self.high, digits)}"


def format_fraction(value: Fraction, digits: int) -> str:
    """`value` with `digits` decimals, rounded exactly (halves to even)."""
    scaled = round(value * 10**digits)
    sign = "-" if scaled < 0 else ""
    whole, part = divmod(abs(scaled), 10**digits)
    return f"{sign}{whole}.{part:0{digits}d}" if digits else f"{sign}{whole}"


def mean(intervals: Sequence[Interval]) -> Interval:
    """The mean of at least one interval.

    Raises:
        ValueError: of none.
    """
    if not intervals:
        raise ValueError("the mean of no scores")
    total = sum(intervals[1:], start=intervals[0])
    return total.scaled(Fraction(1, len(intervals)))
