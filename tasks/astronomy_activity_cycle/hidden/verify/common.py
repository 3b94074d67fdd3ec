"""Shared parts of the verification scripts: reading the record, finding cycles, estimating periods, printing.

Years are calendar years, lengths and periods are in years, levels are in units of the activity index.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.signal import find_peaks, periodogram

Floats = NDArray[np.float64]


def data_directory() -> Path:
    """The folder named on the command line; leaves with a usage message where it is not exactly one argument."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: python {Path(sys.argv[0]).name} DATA_DIR")
    return Path(sys.argv[1])


def print_values(values: dict[str, float]) -> None:
    """Print the recomputed quantities as one JSON object; a value that is not finite raises ValueError."""
    print(json.dumps({"values": rounded(values)}, allow_nan=False))


def print_perturbation(card: str, family: str, survive: bool, metrics: dict[str, float]) -> None:
    """Print the outcome of one perturbation as one JSON object; a metric that is not finite raises ValueError."""
    outcome = {"card": card, "family": family, "survive": bool(survive), "metrics": rounded(metrics)}
    print(json.dumps(outcome, allow_nan=False))


def rounded(numbers: dict[str, float]) -> dict[str, float]:
    """Six significant digits: far below every tolerance, and equal on machines whose last bits differ."""
    return {key: float(f"{number:.6g}") for key, number in numbers.items()}


def each_holds(values: Iterable[float], baseline: float, sign: int) -> bool:
    """Whether every value has the sign (+1 or -1) and is between half and twice the baseline."""
    return all(sign * value > 0 and 0.5 <= value / baseline <= 2.0 for value in values)


def left_out_holds(values: Sequence[float], baseline: float, sign: int) -> bool:
    """Whether every left-out sample has the sign, and their median is between half and twice the baseline."""
    return all(sign * value > 0 for value in values) and 0.5 <= float(np.median(values)) / baseline <= 2.0


def load(directory: Path) -> tuple[Floats, Floats]:
    """Years and activity numbers of the record, two arrays of one length in the order of the years."""
    table = pd.read_csv(directory / "yearly_activity.csv").sort_values("year")
    return table["year"].to_numpy(np.float64), table["activity_number"].to_numpy(np.float64)


def smooth(level: Floats, side: float = 0.25) -> Floats:
    """Three-year weighted mean; `side` is the weight of each neighbour, the end values are repeated outwards."""
    padded = np.pad(level, 1, mode="edge")
    return side * padded[:-2] + (1.0 - 2.0 * side) * padded[1:-1] + side * padded[2:]


def cycles(year: Floats, level: Floats, curve: Floats, distance: int = 1) -> pd.DataFrame:
    """The complete cycles between successive minima of `curve`, one a row.

    A minimum is a local minimum inside the record, `distance` years at least from any deeper one. The peak is the
    highest year of `curve` between two minima, the amplitude is the unsmoothed `level` of that year.
    Columns: start, end (years of the minima), rise, fall (years), amplitude.
    """
    minima = find_peaks(-curve, distance=distance)[0]
    rows = []
    for first, last in pairwise(minima):
        peak = first + int(np.argmax(curve[first:last]))
        rows.append((year[first], year[last], year[peak] - year[first], year[last] - year[peak], level[peak]))
    return pd.DataFrame(rows, columns=["start", "end", "rise", "fall", "amplitude"])


def mean_length(table: pd.DataFrame) -> float:
    """Mean cycle length in years."""
    return float((table["rise"] + table["fall"]).mean())


def asymmetry(table: pd.DataFrame) -> tuple[float, float]:
    """Correlation of amplitude and rise time, and mean of fall minus rise in years."""
    correlation = np.corrcoef(table["amplitude"], table["rise"])[0, 1]
    return float(correlation), float((table["fall"] - table["rise"]).mean())


def spectrum(level: Floats) -> tuple[Floats, Floats]:
    """Periods in years and power of the plain periodogram: mean removed, no taper, zeros added up to 16384 values."""
    frequency, power = periodogram(level, detrend="constant", nfft=16384)
    return 1.0 / frequency[1:], power[1:]


def strongest(period: Floats, power: Floats, shortest: float, longest: float) -> float:
    """The period of greatest power between the two bounds, in years."""
    inside = (period >= shortest) & (period <= longest)
    return float(period[inside][np.argmax(power[inside])])


def near_eleven(values: Iterable[float]) -> bool:
    """Whether every value is within a tenth of 11 years: 9.9 <= value <= 12.1."""
    return all(9.9 <= value <= 12.1 for value in values)
