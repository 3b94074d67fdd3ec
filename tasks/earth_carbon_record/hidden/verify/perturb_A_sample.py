"""Card A, sample: each block of six successive years is left out in turn, and the fit repeated on the others.

Survives if every second derivative is positive, every rate in 1976 is positive, and their medians are between half
and twice the values of the whole record. The fits to the earlier and to the later half alone are reported and not
part of the condition: the card speaks of the whole record, and the curvature of a half rests on the swings of few
years (the halves differ in sign).
"""

from __future__ import annotations

import sys

import numpy as np

sys.dont_write_bytecode = True  # importing common must leave nothing on disk
import common  # noqa: E402


def main() -> None:
    """Print whether the rise accelerates without each block of years."""
    weeks = common.load(common.data_directory())
    fits = [common.rise(weeks[~weeks["year"].isin(block)]) for block in common.six_year_blocks(weeks)]
    second_derivatives = [second_derivative for second_derivative, _ in fits]
    rates = [rate for _, rate in fits]
    second_derivative, rate = common.rise(weeks)
    survive = common.left_out_holds(second_derivatives, second_derivative, 1) and common.left_out_holds(rates, rate, 1)
    middle = (weeks["time"].min() + weeks["time"].max()) / 2
    metrics = {
        "second_derivative_lowest": min(second_derivatives),
        "second_derivative_median": float(np.median(second_derivatives)),
        "second_derivative_highest": max(second_derivatives),
        "rate_1976_lowest": min(rates),
        "rate_1976_highest": max(rates),
        "second_derivative_earlier_half_alone": common.rise(weeks[weeks["time"] < middle])[0],
        "second_derivative_later_half_alone": common.rise(weeks[weeks["time"] >= middle])[0],
    }
    common.print_perturbation("A", "sample", survive, metrics)


if __name__ == "__main__":
    main()
