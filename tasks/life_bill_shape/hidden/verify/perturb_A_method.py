"""Card A, method: Theil-Sen slopes, and each group on its own.

Pooled: median slope over all pairs of birds. Within: median slope over all pairs of birds of one group. Besides, the
least-squares slope of each group by itself, so that no group is carried by the two others.
Survives if the pooled slope is negative, the within slope and each group's slope positive, and each is between half
and twice its least-squares counterpart (pooled, or within groups).
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd

sys.dont_write_bytecode = True  # importing common must leave nothing on disk
import common  # noqa: E402


def pair_slopes(birds: pd.DataFrame) -> list[float]:
    """Slopes of bill depth on bill length of all pairs of birds of different bill length, mm/mm."""
    length, depth = (birds[column].to_numpy() for column in common.BILL)
    first, second = np.triu_indices(len(birds), 1)
    run, step = length[second] - length[first], depth[second] - depth[first]
    return [float(value) for value in step[run != 0] / run[run != 0]]


def main() -> None:
    """Print whether both slopes hold under the robust estimator and in each group."""
    birds = common.load(common.data_directory())
    pooled_slope, within_slope = common.slopes(birds)
    groups = {str(group): rows for group, rows in birds.groupby("group")}
    pooled = float(np.median(pair_slopes(birds)))
    within = float(np.median([value for rows in groups.values() for value in pair_slopes(rows)]))
    own = {f"slope_in_{group}": common.slope(rows) for group, rows in groups.items()}
    survive = common.each_holds([pooled], pooled_slope, -1) and common.each_holds(
        [within, *own.values()], within_slope, 1
    )
    metrics = {"theil_sen_pooled_slope": pooled, "theil_sen_within_group_slope": within, **own}
    common.print_perturbation("A", "method", survive, metrics)


if __name__ == "__main__":
    main()
