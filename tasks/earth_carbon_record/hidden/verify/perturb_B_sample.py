"""Card B, sample: each block of six successive years is left out in turn, before trend and season are fitted.

Survives if every trend of the seasonal range is positive and their median is between half and twice the trend of
the whole record.
"""

from __future__ import annotations

import sys

import numpy as np

sys.dont_write_bytecode = True  # importing common must leave nothing on disk
import common  # noqa: E402


def main() -> None:
    """Print whether the seasonal range grows without each block of years."""
    weeks = common.load(common.data_directory())
    samples = [weeks[~weeks["year"].isin(block)] for block in common.six_year_blocks(weeks)]
    trends = [common.slope_per_decade(common.sinusoid_ranges(sample)) for sample in samples]
    baseline = common.slope_per_decade(common.sinusoid_ranges(weeks))
    metrics = {
        "range_trend_lowest": min(trends),
        "range_trend_median": float(np.median(trends)),
        "range_trend_highest": max(trends),
    }
    common.print_perturbation("B", "sample", common.left_out_holds(trends, baseline, 1), metrics)


if __name__ == "__main__":
    main()
