"""Card B, method: rank correlation, and the groups' own correlations averaged.

Spearman's correlation of flipper length and body mass over all birds, and of their deviations from the group means.
Besides, the mean of the three groups' Pearson correlations, averaged as Fisher's z with weights n - 3.
Survives if all three are positive and between half and twice their Pearson counterparts, and both within-group
numbers are below the pooled rank correlation.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

sys.dont_write_bytecode = True  # importing common must leave nothing on disk
import common  # noqa: E402


def rank_correlation(table: pd.DataFrame) -> float:
    """Spearman correlation of flipper length and body mass."""
    flipper, mass = common.BODY
    return float(spearmanr(table[flipper], table[mass]).statistic)


def averaged(birds: pd.DataFrame) -> float:
    """Mean of the groups' own correlations, by Fisher's z."""
    groups = [rows for _, rows in birds.groupby("group")]
    scores = np.arctanh([common.correlation(rows) for rows in groups])
    return float(np.tanh(np.average(scores, weights=[len(rows) - 3 for rows in groups])))


def main() -> None:
    """Print whether both correlations, and their order, hold under the other estimators."""
    birds = common.load(common.data_directory())
    pooled_correlation, within_correlation = common.correlations(birds)
    pooled = rank_correlation(birds)
    within = rank_correlation(common.centred(birds, common.BODY))
    own = averaged(birds)
    survive = (
        common.each_holds([pooled], pooled_correlation, 1)
        and common.each_holds([within, own], within_correlation, 1)
        and max(within, own) < pooled
    )
    metrics = {
        "spearman_pooled": pooled,
        "spearman_within_group": within,
        "fisher_averaged_within_group": own,
    }
    common.print_perturbation("B", "method", survive, metrics)


if __name__ == "__main__":
    main()
