"""Recompute the quantities of the reference cards from the yearly record.

Cycles: the series is smoothed with weights 1/4, 1/2, 1/4; local minima of the smoothed series bound the cycles, its
highest year between two minima is the peak. Only cycles between two minima found inside the record are complete.
mean_cycle_length_years: mean distance of successive minima.
spectral_period_years: greatest power between 5 and 30 years in the periodogram of the unsmoothed, mean-free series
(no taper, zero-padded to 16384 values so that the peak is not bound to whole fractions of the record).
amplitude_rise_time_correlation: Pearson correlation, over cycles, of the unsmoothed value in the peak year and the
years from minimum to peak.
mean_fall_minus_rise_years: mean over cycles of (peak to next minimum) minus (minimum to peak).
"""

from __future__ import annotations

import sys

sys.dont_write_bytecode = True  # importing common must leave nothing on disk
import common  # noqa: E402


def main() -> None:
    """Print every quantity of every card."""
    year, level = common.load(common.data_directory())
    table = common.cycles(year, level, common.smooth(level))
    correlation, difference = common.asymmetry(table)
    common.print_values(
        {
            "mean_cycle_length_years": common.mean_length(table),
            "spectral_period_years": common.strongest(*common.spectrum(level), 5.0, 30.0),
            "amplitude_rise_time_correlation": correlation,
            "mean_fall_minus_rise_years": difference,
        }
    )


if __name__ == "__main__":
    main()
