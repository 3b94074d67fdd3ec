"""Card A, definition: other definitions of a cycle and of the periods that compete.

A cycle runs from maximum to maximum, or from one upward crossing of the median to the next (both of the series
smoothed with weights 1/4, 1/2, 1/4). The spectrum is searched from 3 to 60 years instead of from 5 to 30.
Survives if both mean lengths and the strongest period are within a tenth of 11 years (9.9 <= number <= 12.1) and
the periods of 9 to 13 years hold more than half of the power between 3 and 60 years (one dominant period).
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.signal import find_peaks

sys.dont_write_bytecode = True  # importing common must leave nothing on disk
import common  # noqa: E402


def main() -> None:
    """Print whether the period near 11 years holds under the other definitions."""
    year, level = common.load(common.data_directory())
    curve = common.smooth(level)
    maxima = year[find_peaks(curve)[0]]
    above = curve >= np.median(curve)
    crossings = year[1:][above[1:] & ~above[:-1]]
    period, power = common.spectrum(level)
    share = power[(period >= 9) & (period <= 13)].sum() / power[(period >= 3) & (period <= 60)].sum()
    periods = {
        "maximum_to_maximum_years": float(np.diff(maxima).mean()),
        "crossing_to_crossing_years": float(np.diff(crossings).mean()),
        "strongest_period_3_to_60_years": common.strongest(period, power, 3.0, 60.0),
    }
    survive = common.near_eleven(periods.values()) and float(share) > 0.5
    common.print_perturbation("A", "definition", survive, {**periods, "power_share_9_to_13_years": float(share)})


if __name__ == "__main__":
    main()
