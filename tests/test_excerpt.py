"""Excerpts and evidence packages: within their room, in order, with every gap told; the same for the same run."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sciagent.evidence import QuoteIndex
from pytest_sciagent.evidence.artifacts import Artifacts
from pytest_sciagent.evidence.excerpt import Cues, excerpt
from pytest_sciagent.evidence.package import build_package
from pytest_sciagent.findings import parse_findings
from pytest_sciagent.models import Citation, System
from pytest_sciagent.runs import Run
from pytest_sciagent.runs.freeze import FreezeOptions, freeze

FINDING = "The slope is 0.4321 mm (`fit_slope`), see `output/results/table.csv`."


def test_the_rows_that_hold_the_numbers_are_kept() -> None:
    rows = [
        "name,value",
        *(f"row{i},{i * 17 % 1000}" for i in range(2000)),
        "slope,0.43212",
        *("z,1" for _ in range(500)),
    ]
    text = "\n".join(rows) + "\n"
    shown, cut = excerpt("table.csv", text, 2000, Cues.of(FINDING))
    assert "slope,0.43212" in shown
    assert shown.startswith("name,value\n")
    assert "characters are left out here" in shown
    assert cut > 0


def wide_table(columns: int) -> str:
    """Forty rows of so many columns; the last but one column speaks of `FINDING`, and row 7 has its number."""
    names = ["sample", *(f"g{i}" for i in range(columns - 3)), "fit_slope", "last"]
    rows = [[f"s{r}", *(f"{r * i % 97 / 97:.3f}" for i in range(columns - 3)), "0.1", "0.2"] for r in range(40)]
    rows[7][-2] = "0.43212"
    return "".join(",".join(row) + "\n" for row in [names, *rows])


def test_of_a_wide_table_the_columns_that_speak_of_the_finding_are_kept() -> None:
    text = wide_table(10_000)
    shown, cut = excerpt("table.csv", text, 5000, Cues.of(FINDING))
    lines = shown.splitlines()
    assert lines[0].endswith(" characters are left out here: columns, and ends of long cells ...]")
    told = r"\[\.\.\. [\d,]+ columns? \.\.\.\] "
    assert re.fullmatch(rf"sample,(g\d+,)+ {told},fit_slope, {told}", lines[1])
    (row,) = [line for line in lines if line.startswith("s7,")]
    assert ",0.43212," in row
    assert len(row.split(",")) == len(lines[1].split(","))
    assert len(shown) <= 5000 + 60 * shown.count("left out here")
    assert cut > 0.9 * len(text)


def test_a_long_cell_is_shown_by_its_beginning() -> None:
    text = f'name,note\na,"{"x, " * 3000}"\nb,short\n'
    shown, cut = excerpt("notes.csv", text, 4000, Cues.of(FINDING))
    assert 'a,"x, x, x,' in shown
    assert shown.endswith("x, x [... 8,802 characters ...] \nb,short\n")
    assert 8_700 < cut < 8_900


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.text('ab,"; [.\t', max_size=30), min_size=1, max_size=40), min_size=1, max_size=12),
    st.integers(400, 3000),
    st.sampled_from(["a.csv", "a.tsv"]),
)
def test_what_is_shown_of_a_wide_table_stands_in_it(rows: list[list[str]], room: int, path: str) -> None:
    text = "\n".join(",".join(cells * (2500 // len(",".join(cells) + "-") + 1)) for cells in rows)
    shown, cut = excerpt(path, text, room, Cues.of(FINDING))
    pieces = re.split(r" ?\[\.\.\. [\d,]+ (?:columns?|characters)[^\]]* \.\.\.\] ?|\n", shown)
    assert all(piece in text for piece in pieces)
    assert (cut == 0) == (shown == text)


def test_the_functions_that_make_the_numbers_are_kept_whole() -> None:
    filler = "\n\n".join(f"def helper_{i}(x):\n    y = x + {i}\n    return y" for i in range(300))
    text = f"import numpy\n\n{filler}\n\ndef fit_slope(frame):\n    slope = frame.corr()\n    return slope\n"
    shown, _ = excerpt("code.py", text, 1500, Cues.of(FINDING))
    assert "def fit_slope(frame):\n    slope = frame.corr()\n    return slope" in shown
    assert shown.startswith("import numpy")


@settings(max_examples=100)
@given(st.text(max_size=3000), st.integers(50, 1000), st.sampled_from(["a.csv", "a.py", "a.md"]))
def test_an_excerpt_keeps_its_room_and_counts_what_it_leaves_out(text: str, room: int, path: str) -> None:
    shown, cut = excerpt(path, text, room, Cues.of(FINDING))
    marks = shown.count("characters are left out here")
    assert len(shown) <= room + 60 * max(marks, 1) + len("[...  ...]\n")
    assert cut == 0 or marks >= 1
    if len(text) <= room:
        assert (shown, cut) == (text, 0)


def make_run(root: Path, files: int) -> Run:
    output = root / "work" / "output"
    (output / "results").mkdir(parents=True)
    names = ", ".join(f"`output/results/r{i}.csv`" for i in range(files))
    (output / "Result.md").write_text(f"# R\n\nMethods.\n\n## Finding 1: a\n\nThe slope is 0.4321. Files: {names}.\n")
    for i in range(files):
        (output / "results" / f"r{i}.csv").write_text("a,b\n" + "".join(f"{j},{j * i}\n" for j in range(800)))
    freeze(root / "work", root / "run", FreezeOptions(task_id="t", system=System(name="s")), {})
    return Run.load(root / "run")


def test_a_package_keeps_its_budget_and_lists_what_is_missing(tmp_path: Path) -> None:
    run = make_run(tmp_path, 40)
    report = parse_findings(run)
    package = build_package(Artifacts(run), report.findings[0], report.shared, budget=20_000)
    assert sum(len(p.text) for p in package.pieces) <= 20_000 * 1.3
    shown = {p.label for p in package.pieces}
    for entry in run.with_role("result"):
        cut_or_missing = any(line.startswith(f"{entry.path}: ") for line in package.left_out)
        assert cut_or_missing or entry.path in shown
    again = build_package(Artifacts(Run.load(run.path)), report.findings[0], report.shared, budget=20_000)
    assert again.digest == package.digest


def test_the_method_that_makes_the_numbers_is_kept_where_its_class_is_too_long() -> None:
    filler = "\n\n".join(f"    def helper_{i}(self, x):\n        y = x + {i}\n        return y" for i in range(300))
    method = "    @staticmethod\n    def fit_slope(frame):\n        slope = frame.corr()\n        return slope"
    text = f"import numpy\n\n\nclass Fits:\n{filler}\n\n{method}\n"
    shown, cut = excerpt("code.py", text, 1500, Cues.of(FINDING))
    assert method in shown
    assert cut > 0


def test_what_speaks_of_the_finding_is_kept_of_a_document_on_one_line() -> None:
    parts = [f'"row_{i}": {{"value": {i * 17 % 1000}}}' for i in range(3000)]
    parts.insert(2500, '"fit_slope": {"value": 0.43212}')
    text = "{" + ", ".join(parts) + "}"
    shown, cut = excerpt("table.json", text, 3000, Cues.of(FINDING))
    assert '"fit_slope": {"value": 0.43212}' in shown
    assert cut > 0
    assert len(shown) - 60 * shown.count("left out here") <= 3000


@pytest.mark.parametrize("suffix", ["xlsx", "parquet"])
def test_tables_of_binary_formats_are_shown_and_can_be_quoted(tmp_path: Path, suffix: str) -> None:
    output = tmp_path / "work" / "output"
    (output / "results").mkdir(parents=True)
    name = f"output/results/fit.{suffix}"
    (output / "Result.md").write_text(f"# R\n\n## Finding 1: a\n\nThe slope is 0.4321, see `{name}`.\n")
    frame = pd.DataFrame({"quantity": ["slope", "n"], "value": [0.43212, 40.0]})
    if suffix == "xlsx":
        frame.to_excel(output / "results" / "fit.xlsx", sheet_name="fits", index=False)
    else:
        frame.to_parquet(output / "results" / "fit.parquet")
    run = freeze(tmp_path / "work", tmp_path / "run", FreezeOptions(task_id="t", system=System(name="s")), {}).run
    report = parse_findings(run)
    package = build_package(Artifacts(run), report.findings[0], report.shared)
    (piece,) = [piece for piece in package.pieces if piece.label == name]
    assert "quantity,value\nslope,0.43212\n" in piece.text
    assert not any(name in line for line in package.left_out)
    quotes = QuoteIndex(Artifacts(run))
    assert quotes.verify(Citation(file=name, quote="slope,0.43212")).verified
    assert not quotes.verify(Citation(file=name, quote="slope,0.43213")).verified


def test_a_list_of_what_is_left_out_tells_where_it_ends_itself(tmp_path: Path) -> None:
    run = make_run(tmp_path, 450)
    report = parse_findings(run)
    package = build_package(Artifacts(run), report.findings[0], report.shared, budget=4_000)
    assert len(package.left_out) == len(package.inventory) == 201
    assert package.left_out[-1].startswith("and ")
