"""Card B, method: estimators that do not lean on single extreme cycles.

Spearman instead of Pearson correlation; Theil-Sen instead of least-squares slope of rise time on amplitude; median
instead of mean of fall minus rise.
Survives if Spearman's correlation and Theil-Sen's slope are negative, the median difference is positive, and each is
between half and twice its counterpart (Pearson correlation, least-squares slope, mean).
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.stats import spearmanr, theilslopes

sys.dont_write_bytecode = True  # importing common must leave nothing on disk
import common  # noqa: E402


def main() -> None:
    """Print whether both relations hold under the robust estimators."""
    year, level = common.load(common.data_directory())
    table = common.cycles(year, level, common.smooth(level))
    amplitude, rise = table["amplitude"].to_numpy(), table["rise"].to_numpy()
    correlation, difference = common.asymmetry(table)
    rank_correlation = float(spearmanr(amplitude, rise).statistic)
    robust_slope = float(theilslopes(rise, amplitude)[0])
    slope = float(np.polyfit(amplitude, rise, 1)[0])
    median_difference = float((table["fall"] - table["rise"]).median())
    survive = (
        common.each_holds([rank_correlation], correlation, -1)
        and common.each_holds([robust_slope], slope, -1)
        and common.each_holds([median_difference], difference, 1)
    )
    metrics = {
        "spearman_correlation": rank_correlation,
        "theil_sen_slope_years_per_unit": robust_slope,
        "least_squares_slope_years_per_unit": slope,
        "median_fall_minus_rise_years": median_difference,
    }
    common.print_perturbation("B", "method", survive, metrics)


if __name__ == "__main__":
    main()
