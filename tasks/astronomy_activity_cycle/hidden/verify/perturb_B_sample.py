"""Card B, sample: cycles are left out, one at a time and in six blocks of successive cycles.

Survives if in every left-out sample the correlation of amplitude and rise time is negative and the mean fall minus
rise positive, and the medians over the samples are between half and twice the values of the whole record.
"""

from __future__ import annotations

import sys

import numpy as np

sys.dont_write_bytecode = True  # importing common must leave nothing on disk
import common  # noqa: E402


def main() -> None:
    """Print whether both relations hold without each cycle and each block of cycles."""
    year, level = common.load(common.data_directory())
    table = common.cycles(year, level, common.smooth(level))
    rows = table.index.to_numpy()
    left_out = [*np.array_split(rows, len(rows)), *np.array_split(rows, 6)]
    samples = [common.asymmetry(table.drop(index=list(block))) for block in left_out]
    correlations = [correlation for correlation, _ in samples]
    differences = [difference for _, difference in samples]
    correlation, difference = common.asymmetry(table)
    survive = common.left_out_holds(correlations, correlation, -1) and common.left_out_holds(differences, difference, 1)
    metrics = {
        "correlation_weakest": max(correlations),
        "correlation_median": float(np.median(correlations)),
        "fall_minus_rise_smallest_years": min(differences),
        "fall_minus_rise_median_years": float(np.median(differences)),
    }
    common.print_perturbation("B", "sample", survive, metrics)


if __name__ == "__main__":
    main()
