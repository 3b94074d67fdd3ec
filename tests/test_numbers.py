"""Numbers of a report: every form they are written in, their precision, and the stored values they match."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import value_at

from pytest_sciagent.evidence.matching import Match, match_numbers
from pytest_sciagent.evidence.numbers import Asserted, extract_numbers
from pytest_sciagent.evidence.readers import Table, read_artifact
from pytest_sciagent.evidence.units import factor, unit_of_column

QUANTITIES = ("value", "range_low", "range_high", "uncertainty")
RUNS = Path(__file__).parents[1] / "runs"


def quantities(text: str) -> list[Asserted]:
    return [number for number in extract_numbers(text) if number.role in QUANTITIES]


def only(text: str) -> Asserted:
    (number,) = quantities(text)
    return number


# --- forms ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value", "half_width"),
    [
        ("−0.0912", -0.0912, 0.00005),
        ("-0.0912", -0.0912, 0.00005),
        ("slope = - 0.5", -0.5, 0.05),
        ("(− 0.5)", -0.5, 0.05),
        ("- 0.5", -0.5, 0.05),
        ("a list:\n- 0.5 of all", 0.5, 0.05),
        ("+0.339", 0.339, 0.0005),
        ("r=-0.836", -0.836, 0.0005),
        ("**-0.5**", -0.5, 0.05),
        ("| -0.5 |", -0.5, 0.05),
        ("a 0.50 b", 0.5, 0.005),
        (".5", 0.5, 0.05),
        ("the mean was 12.", 12, 0.5),
        ("1,866 weeks", 1866, 0.5),
        ("1\u2009866", 1866, 0.5),
        ("1\u202f866\u202f000.5", 1_866_000.5, 0.05),
        ("2.5e-3", 0.0025, 0.00005),
        ("2.5E+3", 2500, 50),
        ("2.5 × 10^-3", 0.0025, 0.00005),
        ("2.5×10⁻³", 0.0025, 0.00005),
        ("2.5 x 10^{-3}", 0.0025, 0.00005),
        (r"$2.5\times 10^{-3}$", 0.0025, 0.00005),
        ("10^5", 100_000, 50_000),
        ("10⁻⁵", 1e-5, 0.5e-5),
        ("x2.5", 2.5, 0.05),
        ("2.5x", 2.5, 0.05),
        ("n=13", 13, 0.5),
        ("p 0.0004", 0.0004, 0.00005),
        ("about $5", 5, 0.5),
        ("in 1972.5", 1972.5, 0.05),
        ("n = 2000", 2000, 0.5),
        ("2000 permutations", 2000, 0.5),
        ("sup-F 95.29", 95.29, 0.005),
    ],
)
def test_value_and_precision(text: str, value: float, half_width: float) -> None:
    number = only(text)
    assert number.value == pytest.approx(value, rel=1e-12)
    assert number.half_width == pytest.approx(half_width, rel=1e-12)
    assert text[number.start : number.end] == number.text
    assert number.role == "value"


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("3.9 mm, later", "mm"),
        ("12 ms.", "ms"),
        ("5mm", "mm"),
        ("30s", "s"),
        ("an 11-year cycle", "year"),
        ("0.2685 ppm/yr per decade (95% CI", "ppm/yr per decade"),
        ("299 km s^-1 and", "km s^-1"),
        ("3 W m⁻² of", "W m⁻²"),
        ("1.2 ppm/yr² [", "ppm/yr²"),
        ("0.0622 per decade", "per decade"),
        ("-2.2274 years per 100 units.", "years per 100 units"),
        ("0.8512 index units", "index units"),
        ("4 cm2", "cm2"),
        ("23 cycles", None),
        ("2 T-tests", None),
        ("3 s1 birds", None),
        ("12 in all", None),
    ],
)
def test_units(text: str, unit: str | None) -> None:
    assert quantities(text)[0].unit == unit


@pytest.mark.parametrize(
    ("text", "unit"),
    [("12 %", "%"), ("12%", "%"), (r"12\%", "%"), ("12 percent", "%"), ("6% per decade", "% per decade")],
)
def test_percent(text: str, unit: str) -> None:
    number = only(text)
    assert number.percent
    assert number.unit == unit


@pytest.mark.parametrize(
    ("text", "comparator"),
    [
        ("p < 0.001", "<"),
        ("p<0.001", "<"),
        ("≥ 1.45", "≥"),
        (">=1.45", ">="),
        ("~3", "~"),
        ("≈ -3", "≈"),
        ("x → 3", None),
        ("x -> 3", None),
        ("> 3 birds, quoted", None),
        ("p = 0.001", None),
    ],
)
def test_comparators(text: str, comparator: str | None) -> None:
    assert only(text).comparator == comparator


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("0.2–0.4", 0.2, 0.4),
        ("20-40 mm", 20, 40),
        ("5.5 mm – 6.5 mm", 5.5, 6.5),
        ("3 - 5", 3, 5),
        ("12.5%-13.5%", 12.5, 13.5),
        ("12 to 15%", 12, 15),
        ("0.19 to 0.35", 0.19, 0.35),
        ("-0.5--0.2", -0.5, -0.2),
        ("−0.5–−0.2", -0.5, -0.2),
        ("-0.4487 to 1.3029", -0.4487, 1.3029),
        ("[-0.0016, 0.0473]", -0.0016, 0.0473),
        ("684.9 g [491, 886]", 491, 886),
        ("(0.1; 0.2)", 0.1, 0.2),
        ("between 3 and 5 mm", 3, 5),
        ("1971.0-1973.0", 1971.0, 1973.0),
        ("0.1998-10.5", 0.1998, 10.5),
    ],
)
def test_ranges(text: str, low: float, high: float) -> None:
    roles = {number.role: number for number in quantities(text)}
    assert roles["range_low"].value == low
    assert roles["range_high"].value == high
    assert roles["range_low"].unit == roles["range_high"].unit


@pytest.mark.parametrize("text", ["1.10 - 0.80", "0.1 / 0.2", "(n, 0.2), 0.4", "(13, 0.5)", "0.3 and 0.5", "6 of 10"])
def test_no_ranges(text: str) -> None:
    assert all(number.role == "value" for number in quantities(text))
    assert all(number.value > 0 for number in quantities(text))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("3.1 ± 0.2", [3.1, 0.2]),
        ("3.1 +/- 0.2", [3.1, 0.2]),
        ("3.1(2)", [3.1, 0.2]),
        ("3.10(12)", [3.1, 0.12]),
        ("3.1(2)×10^-3", [0.0031, 0.0002]),
        ("-0.814 (SE 0.128)", [-0.814, 0.128]),
    ],
)
def test_uncertainties(text: str, values: list[float]) -> None:
    value, uncertainty = quantities(text)
    assert [value.value, uncertainty.value] == pytest.approx(values)
    assert (value.role, uncertainty.role) == ("value", "uncertainty")
    assert text[uncertainty.start : uncertainty.end] == uncertainty.text


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-30",
        "1958-03-29 to 1993-12-25",
        "2026-11-30T15:45:17Z",
        "30 November 2026",
        "Nov 30, 2026",
        "since 1 January",
        "at 12:30",
        "1700-1979",
        "1976-81, 1982–87",
        "in 1984",
        "the 1990s",
        "pre-1988",
        "in 1984 samples",
    ],
)
def test_dates_are_no_quantities(text: str) -> None:
    assert quantities(text) == []
    assert all(number.role == "date" for number in extract_numbers(text))


@pytest.mark.parametrize(
    "text",
    [
        "g1 and R2a, AR2, AR(9), H0, x_0, lag-1",
        "`f1_all.json` and `x = 0.35`",
        "```python\nx = 0.35\n```",
        "results/f1_0.35/all_2.csv and s2_fix.py",
        "Finding 1, Findings 2 and 3",
        "Table 2, Fig. 3, Eq. (4), Section 2.1",
        "as shown [3] and elsewhere [4, 5]",
        "https://example.org/2.5?x=3 and doi:10.1234/ab.12 and 10.1234/ab.12",
        "version 2.1, v1.2.3, 1.2.3, Python 3.11",
        "1. first\n2) second\n## 3. third\n### 3.1 fourth",
        "1/3 of them, 2/2",
        "the 2nd and 95th, in 3D",
        "at 95% confidence, 90% CI, bootstrap 95% intervals",
        "R^2 and m^2 and 2^10",
        "1-2-1 smoothing",
        '<img width="300">',
        "[12](figure-3)",
        "chi²(3) and F(2, 30)",
    ],
)
def test_no_quantities(text: str) -> None:
    assert quantities(text) == []


def test_a_finding_as_it_is_written() -> None:
    text = (
        "- **Core number:** quadratic acceleration 0.2685 ppm/yr per decade (95% CI 0.1884 to 0.3487); "
        "1,866 rows, 1958-03-29 to 1993-12-25; `late.json`."
    )
    found = [(n.text, n.role, n.unit) for n in extract_numbers(text)]
    assert found == [
        ("0.2685", "value", "ppm/yr per decade"),
        ("95", "identifier", "%"),
        ("0.1884", "range_low", None),
        ("0.3487", "range_high", None),
        ("1,866", "value", None),
        ("1958-03-29", "date", None),
        ("1993-12-25", "date", None),
    ]


# --- round trips ---------------------------------------------------------------------------------------------------

SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def plain(value: float, digits: int) -> tuple[str, float]:
    return f"{value:.{digits}f}", 0.5 * 10.0**-digits


def grouped(value: float, digits: int) -> tuple[str, float]:
    return f"{value:,.{digits}f}", 0.5 * 10.0**-digits


def thin_spaces(value: float, digits: int) -> tuple[str, float]:
    return f"{value:,.{digits}f}".replace(",", "\u2009"), 0.5 * 10.0**-digits


def unicode_minus(value: float, digits: int) -> tuple[str, float]:
    return f"{value:.{digits}f}".replace("-", "−"), 0.5 * 10.0**-digits


def scientific(value: float, digits: int) -> tuple[str, float]:
    text = f"{value:.{digits}e}"
    return text, 0.5 * 10.0 ** (int(text.split("e")[1]) - digits)


def power_of_ten(value: float, digits: int) -> tuple[str, float]:
    mantissa, exponent = f"{value:.{digits}e}".split("e")
    return f"{mantissa} × 10^{int(exponent)}", 0.5 * 10.0 ** (int(exponent) - digits)


def superscripts(value: float, digits: int) -> tuple[str, float]:
    mantissa, exponent = f"{value:.{digits}e}".split("e")
    return f"{mantissa}×10{str(int(exponent)).translate(SUPERSCRIPT)}", 0.5 * 10.0 ** (int(exponent) - digits)


@settings(max_examples=400, deadline=None)
@given(
    st.floats(-1e6, 1e6).filter(lambda v: not 999 < abs(v) < 2101),
    st.integers(0, 6),
    st.sampled_from([plain, grouped, thin_spaces, unicode_minus, scientific, power_of_ten, superscripts]),
    st.sampled_from(["{}", "of {} mm.", "({})", "= {},", "| {} |", "**{}**", "rose by {}, and"]),
)
def test_round_trip(value: float, digits: int, style: Any, frame: str) -> None:
    written, half_width = style(value, digits)
    text = frame.format(written)
    number = only(text)
    assert text[number.start : number.end] == written == number.text
    assert number.half_width == pytest.approx(half_width, rel=1e-9)
    assert abs(number.value - value) <= half_width * (1 + 1e-6)
    if number.value:
        assert math.copysign(1, number.value) == math.copysign(1, value)
    assert number.unit == ("mm" if "mm" in text else None)


@settings(max_examples=200, deadline=None)
@given(
    st.floats(-100, 100),
    st.floats(0, 100),
    st.integers(1, 4),
    st.sampled_from(["{} to {}", "[{}, {}]", "{}–{}", "{}-{}"]),
)
def test_range_round_trip(low: float, width: float, digits: int, style: str) -> None:
    a, b = f"{low:.{digits}f}", f"{low + width:.{digits}f}"
    found = quantities(f"an interval of {style.format(a, b)} here")
    assert [number.value for number in found] == [float(a), float(b)]
    assert [number.role for number in found] == ["range_low", "range_high"]


@settings(max_examples=300, deadline=None)
@given(st.text("0123456789.,-−–+±×^eE()[]{}%/:;`~<>=|* \n\tabxs#", max_size=60))
def test_offsets_hold_for_any_text(text: str) -> None:
    numbers = extract_numbers(text)
    assert all(text[n.start : n.end] == n.text and n.half_width >= 0 and math.isfinite(n.value) for n in numbers)
    assert [n.start for n in numbers] == sorted(n.start for n in numbers)


@pytest.mark.parametrize(
    "piece",
    ["1", "`", "`a``", "~~~\n1", "[1,", "1-", "− ", "1,", "1e", "10^", "5 m per ", "<a", "/a", "1.", " ", "a_1"],
)
def test_hostile_text_takes_no_long_time(piece: str) -> None:
    text = (piece * 15_000)[:15_000]
    started = time.monotonic()
    extract_numbers(text)
    assert time.monotonic() - started < 4


# --- matching ------------------------------------------------------------------------------------------------------


def table(text: str, path: str = "x.csv") -> dict[str, tuple[Table, ...]]:
    return {path: read_artifact(path, text.encode()).tables}


def places(text: str, csv: str, units: dict[str, str] | None = None) -> list[tuple[str, float, str]]:
    (match,) = match_numbers(quantities(text), table(csv), {}, units)
    return [(place.place, place.stored, place.how) for place in match.places]


@pytest.mark.parametrize(
    ("reported", "stored", "found"),
    [
        ("0.0912", "0.09123", True),
        ("0.0912", "0.09115", True),
        ("0.0912", "0.0913", False),
        ("0.0912", "-0.0912", False),
        ("-0.0912", "-0.09123", True),
        ("0.13", "0.125", True),
        ("0.12", "0.125", True),
        ("0.09123", "0.0912", False),
        ("2.5e-3", "0.00249", True),
        ("1,866", "1866", True),
        ("12.5%", "0.1251", True),
        ("12.5%", "12.51", True),
        ("0.125", "12.5", False),
        ("0.0912", "", False),
        ("0.000", "", False),
        ("1.000", "True", False),
    ],
)
def test_a_stored_value_matches_if_it_rounds_to_the_reported_one(reported: str, stored: str, found: bool) -> None:
    assert bool(places(reported, f"name,x\na,{stored}\n")) is found


def test_places_name_the_cell() -> None:
    assert places("0.226", "name,slope\na,0.1\nb,0.2254\n") == []
    assert places("0.226", "name,slope\na,0.1\nb,0.22591\n") == [("row 2, column slope", 0.22591, "same")]


def test_json_documents_are_named_by_pointer_and_once() -> None:
    artifact = read_artifact("r.json", b'{"fits": [{"slope": 0.22591, "ok": true}], "text": "0.226"}')
    (match,) = match_numbers(quantities("0.226"), {"r.json": artifact.tables}, {"r.json": artifact.data})
    assert [(place.file, place.place) for place in match.places] == [("r.json", "/fits/0/slope")]
    assert value_at(artifact, match.places[0].place) == match.places[0].stored


def test_a_fraction_matches_a_percentage_only_where_the_column_says_so() -> None:
    assert places("0.125", "name,share_percent\na,12.5\n") == [("row 1, column share_percent", 12.5, "percent")]
    assert places("0.125", "name,share\na,12.5\n") == []


def test_units_are_converted_where_a_column_names_one() -> None:
    assert places("0.0123 m", "name,length_mm\na,12.3\n") == [("row 1, column length_mm", 12.3, "converted")]
    assert places("12.3 ms", "name,lag (s)\na,0.0123\n") == [("row 1, column lag (s)", 0.0123, "converted")]
    assert places("0.0123 m", "name,length\na,12.3\n") == []
    assert places("0.0123 m", "name,length\na,12.3\n", {"length": "mm"}) == [
        ("row 1, column length", 12.3, "converted")
    ]
    assert places("0.0123 m", "name,mass_g\na,12.3\n") == []
    assert places("12.3 mm", "name,length_mm\na,12.3\n") == [("row 1, column length_mm", 12.3, "same")]


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("mm", "m", 0.001),
        ("days/decade", "day/yr", 0.1),
        ("ppm/yr per decade", "ppm/yr²", 0.1),
        ("km s^-1", "m/s", 1000),
        ("W m⁻²", "W/m2", 1),
        ("°C", "K", None),
        ("mm", "g", None),
        ("index units", "mm", None),
        ("10**10**10", "mm", None),
    ],
)
def test_unit_factors(source: str, target: str, expected: float | None) -> None:
    found = factor(source, target)
    assert found == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("column", "unit"),
    [
        ("mass_g", "g"),
        ("growth_ppm_per_yr", "ppm per yr"),
        ("lag (ms)", "ms"),
        ("lag [ms]", "ms"),
        ("slope", None),
        ("g", None),
        ("bias_obs_minus_pred", None),
        ("x (n)", None),
        ("_" * 100_000, None),
    ],
)
def test_units_of_columns(column: str, unit: str | None) -> None:
    assert unit_of_column(column) == unit


def test_few_digits_are_weak() -> None:
    weak = {number.text: number.weak for number in quantities("3 of 23, 0.0004, 0.13, 100, 216, 0.130, 1.02, 0.0213")}
    assert weak == {
        "3": True,
        "23": True,
        "0.0004": True,
        "0.13": True,
        "100": True,
        "216": False,
        "0.130": False,
        "1.02": False,
        "0.0213": False,
    }


def test_at_most_twenty_places_shared_among_files() -> None:
    many = "x,y\n" + "a,0.5001\n" * 500
    tables = {**table(many, "many.csv"), **table("x,y\na,0.5004\n", "one.csv")}
    (match,) = match_numbers(quantities("0.500"), tables, {})
    assert len(match.places) == 20
    assert [place.file for place in match.places[:2]] == ["many.csv", "one.csv"]


def test_many_cells_are_matched_quickly() -> None:
    rows = "\n".join(
        ",".join(f"{(r * 7919 + c * 104729) % 999983 / 1e6:.6f}" for c in range(10)) for r in range(10_000)
    )
    tables = table("name,b,c_mm,d,e,f,g,h,i,j\n" + rows)
    numbers = quantities(" ".join(f"0.{i:06d} m," for i in range(100_000, 100_300)))
    started = time.monotonic()
    matches = match_numbers(numbers, tables, {})
    assert time.monotonic() - started < 8
    assert len(matches) == 300


@pytest.mark.skipif(not RUNS.is_dir(), reason="the repository's frozen runs are not here")
def test_nearly_all_numbers_of_real_reports_are_found_in_their_artifacts() -> None:
    outputs = sorted(RUNS.glob("*/*/output"))
    assert outputs
    for output in outputs:
        artifacts = {
            p.name: read_artifact(p.name, p.read_bytes()) for p in output.rglob("*") if p.suffix in (".csv", ".json")
        }
        matches: list[Match] = match_numbers(
            quantities((output / "Result.md").read_text("utf-8")),
            {name: artifact.tables for name, artifact in artifacts.items()},
            {name: artifact.data for name, artifact in artifacts.items() if artifact.kind == "json"},
        )
        strong = [match for match in matches if not match.weak]
        assert len(strong) > 50
        assert sum(bool(match.places) for match in strong) >= 0.95 * len(strong)
