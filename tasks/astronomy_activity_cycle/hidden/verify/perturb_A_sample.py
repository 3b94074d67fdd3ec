"""Card A, sample: each of seven equal blocks of years (40 of 280) is left out in turn.

Period: Lomb-Scargle periodogram of the years that remain, greatest power between 5 and 30 years.
Cycle length: mean over the complete cycles that do not overlap the block.
Survives if every one of these 14 numbers is within a tenth of 11 years (9.9 <= number <= 12.1).
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.signal import lombscargle

sys.dont_write_bytecode = True  # importing common must leave nothing on disk
import common  # noqa: E402


def main() -> None:
    """Print whether the period near 11 years is there without each block of years."""
    year, level = common.load(common.data_directory())
    table = common.cycles(year, level, common.smooth(level))
    frequency = np.linspace(1 / 30, 1 / 5, 2000)
    periods, lengths = [], []
    for block in np.array_split(year, 7):
        kept = ~np.isin(year, block)
        power = lombscargle(year[kept], level[kept] - level[kept].mean(), 2 * np.pi * frequency)
        periods.append(common.strongest(1 / frequency, power, 5.0, 30.0))
        lengths.append(common.mean_length(table[(table["end"] <= block[0]) | (table["start"] > block[-1])]))
    metrics = {
        "period_lowest_years": min(periods),
        "period_highest_years": max(periods),
        "cycle_length_lowest_years": min(lengths),
        "cycle_length_highest_years": max(lengths),
    }
    common.print_perturbation("A", "sample", common.near_eleven(metrics.values()), metrics)


if __name__ == "__main__":
    main()
