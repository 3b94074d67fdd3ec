"""Card B, definition: minima and peaks are taken from other curves.

Unsmoothed: extremes of the yearly values themselves, minima at least 7 years apart (yearly noise makes small dips).
Running mean: extremes of the plain three-year mean instead of the weights 1/4, 1/2, 1/4.
Survives if under both definitions the correlation of amplitude and rise time is negative, the mean fall minus rise
positive, and each is between half and twice its value under the card's definition.
"""

from __future__ import annotations

import sys

sys.dont_write_bytecode = True  # importing common must leave nothing on disk
import common  # noqa: E402


def main() -> None:
    """Print whether both relations hold under the other definitions of minimum and peak."""
    year, level = common.load(common.data_directory())
    correlation, difference = common.asymmetry(common.cycles(year, level, common.smooth(level)))
    plain = common.asymmetry(common.cycles(year, level, level, distance=7))
    running = common.asymmetry(common.cycles(year, level, common.smooth(level, side=1 / 3)))
    survive = common.each_holds([plain[0], running[0]], correlation, -1) and common.each_holds(
        [plain[1], running[1]], difference, 1
    )
    metrics = {
        "correlation_unsmoothed": plain[0],
        "correlation_running_mean": running[0],
        "fall_minus_rise_unsmoothed_years": plain[1],
        "fall_minus_rise_running_mean_years": running[1],
    }
    common.print_perturbation("B", "definition", survive, metrics)


if __name__ == "__main__":
    main()
