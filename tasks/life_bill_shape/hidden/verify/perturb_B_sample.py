"""Card B, sample: each season, and each cell of group, site and season, is left out in turn.

Survives if in every sample both correlations are positive and the within-group one is the weaker, and their medians
over the samples are between half and twice the values of all birds.
"""

from __future__ import annotations

import sys

import numpy as np

sys.dont_write_bytecode = True  # importing common must leave nothing on disk
import common  # noqa: E402


def main() -> None:
    """Print whether both correlations, and their order, hold in every left-out sample."""
    birds = common.load(common.data_directory())
    samples = [common.correlations(sample) for sample in common.left_out_samples(birds)]
    pooled = [sample[0] for sample in samples]
    within = [sample[1] for sample in samples]
    gaps = [sample[0] - sample[1] for sample in samples]
    pooled_correlation, within_correlation = common.correlations(birds)
    survive = (
        common.left_out_holds(pooled, pooled_correlation, 1)
        and common.left_out_holds(within, within_correlation, 1)
        and min(gaps) > 0
    )
    metrics = {
        "pooled_correlation_lowest": min(pooled),
        "pooled_correlation_median": float(np.median(pooled)),
        "within_group_correlation_lowest": min(within),
        "within_group_correlation_median": float(np.median(within)),
        "pooled_minus_within_smallest": min(gaps),
    }
    common.print_perturbation("B", "sample", survive, metrics)


if __name__ == "__main__":
    main()
