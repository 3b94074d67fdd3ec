"""Card A, definition: narrower definitions of "within groups".

Cells: within group, site and season. Sexes: within group and sex, birds of known sex only (males are larger in both
measurements, so part of the slope within a group lies between its sexes).
Survives if for both the pooled slope is negative and the within slope positive, and each is between half and twice
the value under the card's definition.
"""

from __future__ import annotations

import sys

sys.dont_write_bytecode = True  # importing common must leave nothing on disk
import common  # noqa: E402


def main() -> None:
    """Print whether both slopes hold under the narrower definitions."""
    birds = common.load(common.data_directory())
    pooled_slope, within_slope = common.slopes(birds)
    cells = common.slopes(birds, common.CELL)
    sexes = common.slopes(birds.dropna(subset=["sex"]), ["group", "sex"])
    survive = common.each_holds([cells[0], sexes[0]], pooled_slope, -1) and common.each_holds(
        [cells[1], sexes[1]], within_slope, 1
    )
    metrics = {
        "pooled_slope_known_sex": sexes[0],
        "within_cell_slope": cells[1],
        "within_group_and_sex_slope": sexes[1],
    }
    common.print_perturbation("A", "definition", survive, metrics)


if __name__ == "__main__":
    main()
