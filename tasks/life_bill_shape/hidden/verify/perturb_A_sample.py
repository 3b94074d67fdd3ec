"""Card A, sample: each season, and each cell of group, site and season, is left out in turn.

Survives if every pooled slope is negative, every within-group slope positive, and their medians over the samples are
between half and twice the values of all birds. The pooled slopes without one whole group are reported and not part
of the condition: the card is about the three groups together, and what lies between two of them is another contrast.
"""

from __future__ import annotations

import sys

import numpy as np

sys.dont_write_bytecode = True  # importing common must leave nothing on disk
import common  # noqa: E402


def main() -> None:
    """Print whether both slopes keep their signs in every left-out sample."""
    birds = common.load(common.data_directory())
    samples = [common.slopes(sample) for sample in common.left_out_samples(birds)]
    pooled = [sample[0] for sample in samples]
    within = [sample[1] for sample in samples]
    pooled_slope, within_slope = common.slopes(birds)
    survive = common.left_out_holds(pooled, pooled_slope, -1) and common.left_out_holds(within, within_slope, 1)
    metrics = {
        "pooled_slope_weakest": max(pooled),
        "pooled_slope_median": float(np.median(pooled)),
        "within_group_slope_weakest": min(within),
        "within_group_slope_median": float(np.median(within)),
    }
    for group in sorted(birds["group"].unique()):
        metrics[f"pooled_slope_without_{group}"] = common.slope(birds[birds["group"] != group])
    common.print_perturbation("A", "sample", survive, metrics)


if __name__ == "__main__":
    main()
