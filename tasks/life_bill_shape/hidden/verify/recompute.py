"""Recompute the quantities of the reference cards from the measured birds.

Birds without measurements are left away; birds of unknown sex stay in.
pooled_slope_mm_per_mm: ordinary least-squares slope of bill depth on bill length over all birds.
within_group_slope_mm_per_mm: the same after both measurements are centred on the mean of the bird's group (the common
slope of a model with one intercept per group).
pooled_correlation, within_group_correlation: Pearson correlation of flipper length and body mass over all birds, and
after both are centred on the mean of the bird's group.
"""

from __future__ import annotations

import sys

sys.dont_write_bytecode = True  # importing common must leave nothing on disk
import common  # noqa: E402


def main() -> None:
    """Print every quantity of every card."""
    birds = common.load(common.data_directory())
    pooled_slope, within_slope = common.slopes(birds)
    pooled_correlation, within_correlation = common.correlations(birds)
    common.print_values(
        {
            "pooled_slope_mm_per_mm": pooled_slope,
            "within_group_slope_mm_per_mm": within_slope,
            "pooled_correlation": pooled_correlation,
            "within_group_correlation": within_correlation,
        }
    )


if __name__ == "__main__":
    main()
