"""Numbers of a finding against the task's data: plans, reference cards, and what a fabricated run earns."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sciagent.checks.plans import PlanFailed, run_plan
from pytest_sciagent.checks.recompute import StatedQuantity, compare, find_number, from_card
from pytest_sciagent.models import Card
from pytest_sciagent.models.plan import RecomputePlan

FILES = ["data/points.csv"]


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "points.csv").write_text(text)
    return folder


def stub_task(data: Path) -> Any:
    """As much of a task as plans look at."""
    return SimpleNamespace(data_dir=data, manifest=SimpleNamespace(files=[SimpleNamespace(path=FILES[0])]))


def plan(operation: str, **values: object) -> RecomputePlan:
    base = {"role": "core", "quote": "q", "asserted": "1", "file": "points.csv", "operation": operation}
    return RecomputePlan.model_validate({**base, **values})


@pytest.fixture
def points(tmp_path: Path) -> Path:
    rows = "a,1,2.0,2001-01-01\na,2,,2001-07-02\nb,3,4.5,2002-01-01\nb,4,9.0,2003-01-01\nNA,5,1,2004-01-01\n"
    return write(tmp_path / "data", f"group,x,y,day\n{rows}")


def test_blank_cells_are_missing_never_zero(points: Path) -> None:
    value, rows = run_plan(plan("mean", value="y"), points, FILES)
    assert (value, rows) == (pytest.approx((2.0 + 4.5 + 9.0 + 1) / 4), 4)
    assert run_plan(plan("min", value="y"), points, FILES)[0] == 1.0


def test_a_group_called_na_stays_a_group(points: Path) -> None:
    chosen = plan("count", filters=[{"column": "group", "comparison": "eq", "value": "NA"}])
    assert run_plan(chosen, points, FILES) == (1.0, 1)


def test_dates_count_as_decimal_years(points: Path) -> None:
    value, _ = run_plan(plan("slope", x="day", y="x"), points, FILES)
    frame = pd.read_csv(points / "points.csv")
    years = pd.to_datetime(frame["day"]).map(lambda d: (d - pd.Timestamp("2000-01-01")).days / 365.25)
    assert value == pytest.approx(np.polyfit(years, frame["x"], 1)[0])


def test_operations_equal_their_pandas_counterparts(points: Path) -> None:
    frame = pd.read_csv(points / "points.csv", keep_default_na=False, na_values=[""])
    both = frame.dropna(subset=["y"])
    assert run_plan(plan("sd", value="y"), points, FILES)[0] == pytest.approx(both["y"].std())
    assert run_plan(plan("median", value="y"), points, FILES)[0] == both["y"].median()
    assert run_plan(plan("quantile", value="y", quantile=0.25), points, FILES)[0] == both["y"].quantile(0.25)
    assert run_plan(plan("correlation", x="x", y="y"), points, FILES)[0] == pytest.approx(both["x"].corr(both["y"]))
    difference = plan("difference_of_means", value="y", group_by="group", group_a="b", group_b="a")
    assert run_plan(difference, points, FILES)[0] == pytest.approx(6.75 - 2.0)
    ratio = plan("ratio_of_means", value="y", group_by="group", group_a="b", group_b="a")
    assert run_plan(ratio, points, FILES)[0] == pytest.approx(6.75 / 2.0)
    share = plan("proportion", value="group", success="b")
    assert run_plan(share, points, FILES)[0] == pytest.approx(2 / 5)


def test_within_takes_group_means_off(tmp_path: Path) -> None:
    folder = write(tmp_path / "data", "g,x,y\na,0,10\na,1,11\nb,10,0\nb,11,1\nb,12,2\n")
    assert run_plan(plan("slope", x="x", y="y"), folder, FILES)[0] < 0
    assert run_plan(plan("slope", x="x", y="y", within=["g"]), folder, FILES)[0] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (plan("mean", value="nothing"), "no column"),
        (plan("mean", value="group"), "neither numbers nor"),
        (plan("mean", value="y", filters=[{"column": "x", "comparison": "gt", "value": 99}]), "no row"),
        (plan("count").model_copy(update={"file": "../hidden/reference.yaml"}), "not a file of the task"),
        (plan("count").model_copy(update={"file": "/etc/passwd"}), "not a file of the task"),
        (plan("slope", x="x", y="y", filters=[{"column": "x", "comparison": "eq", "value": 1}]), "too few"),
    ],
)
def test_a_plan_that_cannot_be_carried_out_says_why(points: Path, bad: RecomputePlan, reason: str) -> None:
    with pytest.raises(PlanFailed, match=reason):
        run_plan(bad, points, FILES)


def test_an_incomplete_plan_is_refused() -> None:
    with pytest.raises(ValueError, match="needs y"):
        plan("slope", x="x")


@settings(max_examples=200)
@given(st.floats(-1e6, 1e6).filter(lambda v: abs(v) > 1e-3), st.integers(0, 4))
def test_a_rounded_number_is_confirmed_and_never_refuted(value: float, digits: int) -> None:
    written = f"{value:.{digits}f}"
    number = find_number(written, f"the slope is {written} units")
    assert number is not None
    assert compare(number, value) == "confirmed"


@settings(max_examples=200)
@given(st.floats(0.01, 1e4), st.sampled_from([100.0, 0.01, 10.0, 0.1, 1000.0, 12.0, 365.25]))
def test_a_difference_of_units_is_never_a_refutation(value: float, factor: float) -> None:
    number = find_number(f"{value:.4f}", f"about {value:.4f} of it")
    assert number is not None
    assert compare(number, value * factor) != "refuted"


def test_a_wrong_number_is_refuted_and_a_close_one_only_differs() -> None:
    number = find_number("5.20", "a mean of 5.20 kg")
    assert number is not None
    assert compare(number, 4.2) == "refuted"
    assert compare(number, 5.35) == "differs"
    assert compare(number, -5.2) == "differs"  # the sign may stand in words
    signed = find_number("-5.20", "a shift of -5.20 kg")
    assert signed is not None
    assert compare(signed, 5.2) == "refuted"
    assert compare(number, -5.2, either_sign=True) == "differs"  # a minus b, or b minus a
    assert compare(number, -9.0, either_sign=True) == "refuted"
    assert compare(number, -1.0, "positive") == "refuted"
    assert compare(number, 6.0, "greater_than") == "confirmed"


def test_shipped_reference_quantities_recompute_within_tolerance(tmp_path: Path) -> None:
    from pytest_sciagent.documents import shipped_folder
    from pytest_sciagent.ledger.trusted_files import KeptFiles
    from pytest_sciagent.tasks import Task
    from pytest_sciagent.tasks.verification import FAMILIES, Verification

    tasks = sorted(p for p in shipped_folder("tasks").iterdir() if (p / "task.yaml").is_file())
    assert len(tasks) >= 3
    for path in tasks:
        task = Task.load(path)
        verification = Verification(task, KeptFiles(tmp_path / "cache", b"mine"))
        values = verification.values()
        for card in task.cards:
            for quantity in card.quantities:
                assert quantity.tolerance.accepts(values[quantity.key], quantity.value), quantity.key
            assert [p.family for p in verification.perturbations(card.id)] == list(FAMILIES)


@pytest.mark.parametrize(
    ("text", "asserted", "value", "comparison"),
    [
        ("a negative correlation of 0.45", "0.45", -0.45, "equals"),  # the sign stands in words
        ("y falls by 2.00 per x", "2.00", -2.0, "equals"),
        ("it lasts 48 h", "48", 2.0, "equals"),  # a unit of time
        ("1.2 million rows", "1.2", 1_200_000.0, "equals"),
        ("25 % larger", "25", 1.25, "equals"),  # a ratio, told as growth
        ("more than 45 % of rows", "45", 0.5, "greater_than"),
        ("less than 3.0 kg", "3.0", 3.06, "less_than"),
    ],
)
def test_what_words_units_and_rounding_explain_is_never_refuted(
    text: str, asserted: str, value: float, comparison: str
) -> None:
    number = find_number(asserted, text)
    assert number is not None
    assert compare(number, value, comparison) != "refuted"


def test_the_order_of_two_groups_is_a_convention() -> None:
    number = find_number("0.50", "the ratio is 0.50")
    assert number is not None
    assert compare(number, 2.0, either_sign=True) == "differs"
    assert compare(number, -5.0, "positive", either_sign=True) == "differs"
    assert compare(number, 9.0, either_sign=True) == "refuted"


def test_a_number_in_code_marks_is_a_number() -> None:
    for quote in ("the mean is `7.5` kg", "the mean is **7.5** kg", "the slope is &minus;7.5"):
        number = find_number("7.5" if "minus" not in quote else "&minus;7.5", quote)
        assert number is not None
        assert abs(number.value) == 7.5


@pytest.mark.parametrize(
    ("value", "unit", "target", "expected"),
    [
        (0.2685, "ppm/yr/decade", "ppm/year^2", 0.02685),
        (1.0, "ppm/yr", "ppm/decade", 10.0),
        (2.0, "y", "years", 2.0),
        (5.0, "%", "1", 0.05),
        (0.05, "1", "per cent", 5.0),
        (-0.09, "mm/mm", "1", -0.09),
        (3.0, "mm per mm", "mm/mm", 3.0),
        (3.0, "mm", "1", None),
        (3.0, "furlong-ish", "m", None),
    ],
)
def test_units_of_cards(value: float, unit: str, target: str, expected: float | None) -> None:
    from pytest_sciagent.judging.targets import convert

    found = convert(value, unit, target)
    assert found == (pytest.approx(expected) if expected is not None else None)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (
            "a,day\n1,2001-01-01T00:00:00Z\n2,2002-01-01T00:00:00Z\n3,2003-01-01T00:00:00+02:00\n",
            {"x": "day", "y": "a"},
        ),
        ("a,b\n1\n2,3,4\n", {"x": "a", "y": "b"}),
        ("", {"x": "a", "y": "b"}),
        ("a,b\n" + "9" * 400 + ",1\n2,2\n3,3\n", {"x": "a", "y": "b"}),
        ('a,b\n"1,2\n3,4\n', {"x": "a", "y": "b"}),
    ],
)
def test_data_of_any_shape_end_a_plan_never_the_session(tmp_path: Path, text: str, values: dict[str, str]) -> None:
    from pytest_sciagent.checks.recompute import from_plans
    from pytest_sciagent.findings import parse_report

    folder = write(tmp_path / "data", text)
    (finding,) = parse_report("## Finding 1: a\n\nThe slope is 1.5 units.\n").findings
    chosen = plan("slope", quote="The slope is 1.5 units", asserted="1.5", **values)

    (number,) = from_plans([chosen], finding, stub_task(folder))
    assert number.outcome in {"failed", "differs", "refuted", "confirmed"}


def test_a_confirmed_count_does_not_excuse_another_number(tmp_path: Path) -> None:
    from pytest_sciagent.checks.recompute import from_plans
    from pytest_sciagent.findings import parse_report

    rows = "x,y\n" + "".join(f"{i},{2 * i}\n" for i in range(30))
    folder = write(tmp_path / "data", rows)
    (finding,) = parse_report("## Finding 1: a\n\nOver 30 rows y rises by 30 per x.\n").findings
    count = plan("count", quote="Over 30 rows", asserted="30", role="supporting")
    slope = plan("slope", quote="y rises by 30 per x", asserted="30", x="x", y="y")

    outcomes = [n.outcome for n in from_plans([count, slope], finding, stub_task(folder))]
    assert outcomes == ["confirmed", "refuted"]


def test_a_filter_or_label_that_meets_no_row_says_nothing(points: Path) -> None:
    nothing = plan("count", filters=[{"column": "group", "comparison": "eq", "value": "A"}])
    with pytest.raises(PlanFailed, match="no row is left"):
        run_plan(nothing, points, FILES)
    with pytest.raises(PlanFailed, match="no row of the data"):
        run_plan(plan("proportion", value="group", success="zzz"), points, FILES)
    with pytest.raises(PlanFailed, match="leaves nothing"):
        run_plan(plan("mean", value="x", within=["group"]), points, FILES)


@pytest.mark.parametrize(
    ("quote", "outcome"),
    [
        ("the slope is -0.31 mm", "confirmed"),
        ("the length falls by 0.31 mm", "differs"),
        ("it is 0.31 mm lower in males", "differs"),
        ("the length rises by 0.31 mm", "refuted"),
        ("the slope is 0.31 mm", "refuted"),
        ("the length falls by 0.91 mm", "refuted"),
    ],
)
def test_a_sign_in_words_is_no_contradiction_of_a_reference_card(quote: str, outcome: str) -> None:
    quantity = {"key": "slope", "value": -0.3, "unit": "mm", "tolerance": {"absolute": 0.02}, "role": "core"}
    card = Card.model_validate(
        {"id": "c1", "object": "bills", "scope": "all", "direction": "falls", "quantities": [quantity]}
    )
    written = next(n for n in ("-0.31", "0.31", "0.91") if n in quote)
    stated = StatedQuantity("slope", quote, written, float(written))
    assert [r.outcome for r in from_card(card, [stated], {"slope": -0.3})] == [outcome]
