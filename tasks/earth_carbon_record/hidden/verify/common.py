"""Shared parts of the verification scripts: reading the record, fitting trend and season, printing.

Times are decimal years, concentrations ppm, rates ppm/year, the second derivative ppm/year^2, range trends ppm/decade.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
EPOCH = 1976.0  # the year whose rate a card states; the polynomials are centred on it
VALID_WEEKS = 40  # a year's seasonal range counts from this many valid weeks on


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
    """The valid weeks in order, columns: year (calendar), month, time (decimal year), co2 (ppm)."""
    table = pd.read_csv(directory / "weekly_concentration.csv", parse_dates=["date"]).dropna().sort_values("date")
    date = table["date"].dt
    elapsed = (date.day_of_year - 1) / np.where(date.is_leap_year, 366, 365)
    columns = {"year": date.year, "month": date.month, "time": date.year + elapsed, "co2": table["co2_ppm"]}
    return pd.DataFrame(columns).reset_index(drop=True)


def harmonics(time: Floats, count: int) -> Floats:
    """Sine and cosine of the first `count` harmonics of the year, shape (len(time), 2 * count)."""
    angles = 2 * np.pi * np.outer(time, np.arange(1, count + 1))
    return np.hstack([np.sin(angles), np.cos(angles)])


def powers(time: Floats, degree: int) -> Floats:
    """Powers 0 to `degree` of the years since the epoch, shape (len(time), degree + 1)."""
    return np.vander(time - EPOCH, degree + 1, increasing=True)


def least_squares(design: Floats, target: Floats) -> Floats:
    """Coefficients of the least-squares fit."""
    return np.asarray(np.linalg.lstsq(design, target, rcond=None)[0], dtype=np.float64)


def trend(weeks: pd.DataFrame) -> Floats:
    """Coefficients (level, rate, half the second derivative) of a parabola fitted together with two harmonics."""
    time = weeks["time"].to_numpy()
    design = np.hstack([powers(time, 2), harmonics(time, 2)])
    return least_squares(design, weeks["co2"].to_numpy())[:3]


def rise(weeks: pd.DataFrame) -> tuple[float, float]:
    """Second derivative and rate at the epoch of the fitted parabola."""
    _, rate, half = trend(weeks)
    return 2 * float(half), float(rate)


def detrended(weeks: pd.DataFrame) -> Floats:
    """The weeks' concentrations minus the fitted parabola; the season stays in."""
    return weeks["co2"].to_numpy() - powers(weeks["time"].to_numpy(), 2) @ trend(weeks)


def well_covered(weeks: pd.DataFrame, least: int = VALID_WEEKS) -> pd.DataFrame:
    """The weeks of the years with at least `least` valid weeks."""
    return weeks[weeks.groupby("year")["year"].transform("size") >= least]


def sinusoid_ranges(weeks: pd.DataFrame, least: int = VALID_WEEKS) -> pd.Series[float]:
    """Peak-to-trough range by year: twice the amplitude of the annual sinusoid through the year's detrended weeks."""
    ranges = {}
    for year, rows in well_covered(weeks.assign(anomaly=detrended(weeks)), least).groupby("year"):
        design = np.hstack([np.ones((len(rows), 1)), harmonics(rows["time"].to_numpy(), 1)])
        _, sine, cosine = least_squares(design, rows["anomaly"].to_numpy())
        ranges[year] = 2 * float(np.hypot(sine, cosine))
    return pd.Series(ranges)


def slope_per_decade(ranges: pd.Series[float]) -> float:
    """Least-squares slope of the ranges on their years, per ten years."""
    return 10 * float(np.polyfit(ranges.index.to_numpy(np.float64), ranges.to_numpy(), 1)[0])


def six_year_blocks(weeks: pd.DataFrame) -> list[NDArray[np.int64]]:
    """The calendar years of the record in blocks of six successive years (the last may be shorter)."""
    years = np.arange(weeks["year"].min(), weeks["year"].max() + 1)
    return np.split(years, np.arange(6, len(years), 6))
