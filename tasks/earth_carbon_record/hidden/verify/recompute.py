"""Recompute the quantities of the reference cards from the weekly record.

second_derivative_ppm_per_year2 and rate_1976_ppm_per_year: one ordinary least-squares fit to all valid weeks of a
parabola in time (decimal year minus 1976.0) plus the first two harmonics of the year, which take the season out;
twice the quadratic coefficient, and the linear coefficient.
range_trend_ppm_per_decade: that parabola is subtracted (the season stays); in each calendar year with at least 40
valid weeks a constant and an annual sinusoid are fitted to the weeks, and twice its amplitude is the peak-to-trough
range; least-squares slope of the yearly ranges on the year. The annual sinusoid alone is chosen because a range read
off single weeks grows with their noise; ranges read off weeks, months or two harmonics are in perturb_B_definition.
"""

from __future__ import annotations

import sys

sys.dont_write_bytecode = True  # importing common must leave nothing on disk
import common  # noqa: E402


def main() -> None:
    """Print every quantity of every card."""
    weeks = common.load(common.data_directory())
    second_derivative, rate = common.rise(weeks)
    common.print_values(
        {
            "second_derivative_ppm_per_year2": second_derivative,
            "rate_1976_ppm_per_year": rate,
            "range_trend_ppm_per_decade": common.slope_per_decade(common.sinusoid_ranges(weeks)),
        }
    )


if __name__ == "__main__":
    main()
