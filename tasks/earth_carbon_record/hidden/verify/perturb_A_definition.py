"""Card A, definition: other definitions of "season removed" and another cut-off of the record.

Yearly means: the season is averaged out, a parabola is fitted to the means of the years with at least 40 valid weeks.
One season: only the weeks of January to March, or of July to September, are fitted, so that no season is modelled.
Cut-off: the gappy years before 1965 are left away.
Survives if every second derivative and every rate in 1976 is positive and between half and twice the value of the
card's definition.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd

sys.dont_write_bytecode = True  # importing common must leave nothing on disk
import common  # noqa: E402


def parabola(time: common.Floats, co2: common.Floats) -> tuple[float, float]:
    """Second derivative and rate in 1976.0 of a parabola fitted without any season."""
    _, rate, half = common.least_squares(common.powers(time, 2), co2)
    return 2 * float(half), float(rate)


def one_season(weeks: pd.DataFrame, months: list[int]) -> tuple[float, float]:
    """The parabola through the weeks of the months given."""
    rows = weeks[weeks["month"].isin(months)]
    return parabola(rows["time"].to_numpy(), rows["co2"].to_numpy())


def main() -> None:
    """Print whether the rise accelerates under the other definitions."""
    weeks = common.load(common.data_directory())
    second_derivative, rate = common.rise(weeks)
    means = common.well_covered(weeks).groupby("year")["co2"].mean()
    fits = {
        "yearly_means": parabola(means.index.to_numpy(np.float64) + 0.5, means.to_numpy()),
        "january_to_march": one_season(weeks, [1, 2, 3]),
        "july_to_september": one_season(weeks, [7, 8, 9]),
        "from_1965": common.rise(weeks[weeks["year"] >= 1965]),
    }
    survive = common.each_holds([fit[0] for fit in fits.values()], second_derivative, 1) and common.each_holds(
        [fit[1] for fit in fits.values()], rate, 1
    )
    metrics = {f"second_derivative_{name}": fit[0] for name, fit in fits.items()}
    metrics |= {f"rate_1976_{name}": fit[1] for name, fit in fits.items()}
    common.print_perturbation("A", "definition", survive, metrics)


if __name__ == "__main__":
    main()
