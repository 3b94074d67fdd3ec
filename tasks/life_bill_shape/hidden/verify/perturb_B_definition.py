"""Card B, definition: size on another scale, and narrower definitions of "within groups".

Scale: logarithm of flipper length and of body mass (a power law instead of a line). Cells: within group, site and
season. Sexes: within group and sex, birds of known sex only.
Survives if every correlation is positive and between half and twice the value under the card's definition, and each
within correlation is below the pooled one of the same birds and scale.
"""

from __future__ import annotations

import sys

import numpy as np

sys.dont_write_bytecode = True  # importing common must leave nothing on disk
import common  # noqa: E402


def main() -> None:
    """Print whether both correlations, and their order, hold under the other definitions."""
    birds = common.load(common.data_directory())
    pooled_correlation, within_correlation = common.correlations(birds)
    columns = list(common.BODY)
    definitions = {
        "logarithms": common.correlations(birds.assign(**{name: np.log(birds[name]) for name in columns})),
        "cells": common.correlations(birds, common.CELL),
        "group_and_sex": common.correlations(birds.dropna(subset=["sex"]), ["group", "sex"]),
    }
    survive = (
        common.each_holds([pooled for pooled, _ in definitions.values()], pooled_correlation, 1)
        and common.each_holds([within for _, within in definitions.values()], within_correlation, 1)
        and all(within < pooled for pooled, within in definitions.values())
    )
    metrics = {f"pooled_{name}": pooled for name, (pooled, _) in definitions.items()}
    metrics |= {f"within_{name}": within for name, (_, within) in definitions.items()}
    common.print_perturbation("B", "definition", survive, metrics)


if __name__ == "__main__":
    main()
