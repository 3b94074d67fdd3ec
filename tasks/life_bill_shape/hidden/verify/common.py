"""Shared parts of the verification scripts: reading the sample, relations within groups, printing.

Lengths are in mm, masses in g. A `stratum` is what birds are compared within: by default the group.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

BILL = ("bill_length_mm", "bill_depth_mm")
BODY = ("flipper_length_mm", "body_mass_g")
CELL = ["group", "site", "year"]


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


def load(directory: Path) -> pd.DataFrame:
    """The birds with all four measurements, one a row; birds of unknown sex stay in."""
    return pd.read_csv(directory / "individuals.csv").dropna(subset=[*BILL, *BODY]).reset_index(drop=True)


def centred(birds: pd.DataFrame, pair: tuple[str, str], stratum: Sequence[str] = ("group",)) -> pd.DataFrame:
    """The two measurements as deviations from the mean of the bird's stratum."""
    columns = list(pair)
    return birds[columns] - birds.groupby(list(stratum))[columns].transform("mean")


def slope(table: pd.DataFrame) -> float:
    """Least-squares slope of the bill depth on the bill length, mm/mm."""
    length, depth = BILL
    return float(np.polyfit(table[length], table[depth], 1)[0])


def correlation(table: pd.DataFrame) -> float:
    """Pearson correlation of flipper length and body mass."""
    flipper, mass = BODY
    return float(np.corrcoef(table[flipper], table[mass])[0, 1])


def slopes(birds: pd.DataFrame, stratum: Sequence[str] = ("group",)) -> tuple[float, float]:
    """Slope of bill depth on bill length: pooled, and within strata."""
    return slope(birds), slope(centred(birds, BILL, stratum))


def correlations(birds: pd.DataFrame, stratum: Sequence[str] = ("group",)) -> tuple[float, float]:
    """Correlation of flipper length and body mass: pooled, and within strata."""
    return correlation(birds), correlation(centred(birds, BODY, stratum))


def left_out_samples(birds: pd.DataFrame) -> list[pd.DataFrame]:
    """The birds without each season, and without each cell of group, site and season, in turn."""
    blocks = [rows.index for by in (["year"], CELL) for _, rows in birds.groupby(by)]
    return [birds.drop(index=block) for block in blocks]
