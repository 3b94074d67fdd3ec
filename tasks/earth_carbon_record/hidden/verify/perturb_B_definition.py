"""Card B, definition: other definitions of the range, and another cut-off for a well-covered year.

On the detrended weeks of a year: 95th minus 5th percentile; highest minus lowest monthly mean; highest minus lowest
value of a curve of two harmonics; the annual sinusoid in years with at least 50 valid weeks only.
Survives if every trend is positive and between half and twice the trend under the card's definition.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd

sys.dont_write_bytecode = True  # importing common must leave nothing on disk
import common  # noqa: E402


def percentile_range(rows: pd.DataFrame) -> float:
    """95th minus 5th percentile of one year's detrended weeks."""
    return float(rows["anomaly"].quantile(0.95) - rows["anomaly"].quantile(0.05))


def monthly_range(rows: pd.DataFrame) -> float:
    """Highest minus lowest monthly mean of one year's detrended weeks."""
    return float(np.ptp(rows.groupby("month")["anomaly"].mean().to_numpy()))


def two_harmonic_range(rows: pd.DataFrame) -> float:
    """Highest minus lowest value, over the whole year, of two harmonics fitted to one year's detrended weeks."""
    time = rows["time"].to_numpy()
    design = np.hstack([np.ones((len(rows), 1)), common.harmonics(time, 2)])
    coefficients = common.least_squares(design, rows["anomaly"].to_numpy())
    return float(np.ptp(common.harmonics(np.linspace(0, 1, 731), 2) @ coefficients[1:]))


def main() -> None:
    """Print whether the seasonal range grows under the other definitions."""
    weeks = common.load(common.data_directory())
    years = common.well_covered(weeks.assign(anomaly=common.detrended(weeks))).groupby("year")
    definitions = {
        "percentiles_5_to_95": percentile_range,
        "monthly_means": monthly_range,
        "two_harmonics": two_harmonic_range,
    }
    metrics = {
        f"range_trend_{name}": common.slope_per_decade(pd.Series({year: measure(rows) for year, rows in years}))
        for name, measure in definitions.items()
    }
    metrics["range_trend_50_valid_weeks"] = common.slope_per_decade(common.sinusoid_ranges(weeks, least=50))
    baseline = common.slope_per_decade(common.sinusoid_ranges(weeks))
    common.print_perturbation("B", "definition", common.each_holds(metrics.values(), baseline, 1), metrics)


if __name__ == "__main__":
    main()
