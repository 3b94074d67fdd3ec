"""Card B, method: two other estimators of the growth of the range.

Theil-Sen instead of least-squares slope through the yearly ranges. One joint fit to all valid weeks of a parabola, an
annual sinusoid and that sinusoid times the years since 1976, so that no yearly ranges are formed at all: range at the
end of the record minus range at its beginning, per ten years.
Survives if both trends are positive and between half and twice the least-squares slope.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from scipy.stats import theilslopes

sys.dont_write_bytecode = True  # importing common must leave nothing on disk
import common  # noqa: E402


def joint_fit(weeks: pd.DataFrame) -> float:
    """Growth of the annual sinusoid's range in ppm per decade, from one fit to all weeks."""
    time = weeks["time"].to_numpy()
    season = common.harmonics(time, 1)
    design = np.hstack([common.powers(time, 2), season, season * (time - common.EPOCH)[:, None]])
    coefficients = common.least_squares(design, weeks["co2"].to_numpy())
    ends = np.array([time.min(), time.max()])
    amplitudes = coefficients[3:5] + np.outer(ends - common.EPOCH, coefficients[5:7])
    first, last = 2 * np.hypot(amplitudes[:, 0], amplitudes[:, 1])
    return 10 * float((last - first) / (ends[1] - ends[0]))


def main() -> None:
    """Print whether the seasonal range grows under both estimators."""
    weeks = common.load(common.data_directory())
    ranges = common.sinusoid_ranges(weeks)
    robust = 10 * float(theilslopes(ranges.to_numpy(), ranges.index.to_numpy(np.float64))[0])
    joint = joint_fit(weeks)
    survive = common.each_holds([robust, joint], common.slope_per_decade(ranges), 1)
    common.print_perturbation("B", "method", survive, {"theil_sen": robust, "joint_fit": joint})


if __name__ == "__main__":
    main()
