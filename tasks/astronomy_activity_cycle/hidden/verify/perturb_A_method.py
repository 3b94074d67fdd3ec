"""Card A, method: two other estimators of the dominant period.

Autocorrelation: the highest value at lags of 5 to 30 years, its place refined by a parabola through the three lags
around it. Welch: mean spectrum of half-overlapping, Hann-tapered segments of half the record, greatest power between
5 and 30 years (zero-padded to 16384 values).
Survives if both periods are within a tenth of 11 years (9.9 <= period <= 12.1) and the autocorrelation there exceeds
1.96 / sqrt(number of years), the 95 % bound for a series without memory.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.signal import welch

sys.dont_write_bytecode = True  # importing common must leave nothing on disk
import common  # noqa: E402


def autocorrelation_peak(level: common.Floats) -> tuple[float, float]:
    """Refined lag in years, and height, of the highest autocorrelation at lags of 5 to 30 years."""
    centred = level - level.mean()
    product = np.correlate(centred, centred, mode="full")[len(level) - 1 :]
    correlation = product / product[0]
    lag = 5 + int(np.argmax(correlation[5:31]))
    before, top, after = correlation[lag - 1 : lag + 2]
    return lag + 0.5 * float((before - after) / (before - 2 * top + after)), float(top)


def main() -> None:
    """Print whether autocorrelation and Welch spectrum find the period near 11 years."""
    _, level = common.load(common.data_directory())
    lag, height = autocorrelation_peak(level)
    frequency, power = welch(level, window="hann", nperseg=len(level) // 2, detrend="constant", nfft=16384)
    period = common.strongest(1 / frequency[1:], power[1:], 5.0, 30.0)
    bound = 1.96 / float(np.sqrt(len(level)))
    metrics = {
        "autocorrelation_period_years": lag,
        "autocorrelation": height,
        "autocorrelation_bound": bound,
        "welch_period_years": period,
    }
    common.print_perturbation("A", "method", common.near_eleven([lag, period]) and height > bound, metrics)


if __name__ == "__main__":
    main()
