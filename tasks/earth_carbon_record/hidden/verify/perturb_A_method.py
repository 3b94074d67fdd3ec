"""Card A, method: two estimators that fit no parabola.

Growth: differences of the means of successive well-covered years (at least 40 valid weeks each), Theil-Sen line
through them; its slope is the second derivative, its value midway through the years compared is the growth.
Segments: a line plus two harmonics fitted to the earlier and to the later half of the record's span; the difference
of the two rates over the distance of the halves' centres is the second derivative.
Survives if both second derivatives and the growth in 1976 are positive and between half and twice the values of the
fitted parabola.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from scipy.stats import theilslopes

sys.dont_write_bytecode = True  # importing common must leave nothing on disk
import common  # noqa: E402


def growth(weeks: pd.DataFrame) -> tuple[float, float]:
    """Second derivative and rate in 1976.0 by the Theil-Sen line through the yearly growth."""
    means = common.well_covered(weeks).groupby("year")["co2"].mean()
    years = means.index.to_numpy(np.float64)
    successive = np.diff(years) == 1
    # the means stand for the middles of their years, so their difference stands for the turn between the two
    slope, intercept = theilslopes(np.diff(means.to_numpy())[successive], years[1:][successive] - common.EPOCH)[:2]
    return float(slope), float(intercept)


def segments(weeks: pd.DataFrame) -> float:
    """Second derivative by the rates of the earlier and the later half."""
    first, last = weeks["time"].min(), weeks["time"].max()
    middle = (first + last) / 2
    rates = []
    for half in (weeks[weeks["time"] < middle], weeks[weeks["time"] >= middle]):
        time = half["time"].to_numpy()
        design = np.hstack([common.powers(time, 1), common.harmonics(time, 2)])
        rates.append(float(common.least_squares(design, half["co2"].to_numpy())[1]))
    return (rates[1] - rates[0]) / float(middle - first)


def main() -> None:
    """Print whether the rise accelerates under both estimators."""
    weeks = common.load(common.data_directory())
    second_derivative, rate = common.rise(weeks)
    by_growth, growth_rate = growth(weeks)
    by_segments = segments(weeks)
    survive = common.each_holds([by_growth, by_segments], second_derivative, 1) and common.each_holds(
        [growth_rate], rate, 1
    )
    metrics = {
        "second_derivative_growth": by_growth,
        "second_derivative_segments": by_segments,
        "rate_1976_growth": growth_rate,
    }
    common.print_perturbation("A", "method", survive, metrics)


if __name__ == "__main__":
    main()
