"""Artifact readers: every format's cells and facts, every hostile artifact refused with its reason."""

from __future__ import annotations

import csv
import io
import json
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import openpyxl
import pyarrow as pa
import pytest
from hostile_artifacts import HOSTILE, hdf5, npy_header, parquet, pdf, png_header, xlsx, xlsx_far_cell, zipped
from hypothesis import given, settings
from hypothesis import strategies as st
from places import resolve_pointer, value_at

from pytest_sciagent.evidence.isolation import Readers
from pytest_sciagent.evidence.readers import (
    Artifact,
    Table,
    Unreadable,
    json_values,
    needs_isolation,
    read_artifact,
)


def only_table(artifact: Artifact) -> Table:
    (table,) = artifact.tables
    return table


def read_csv(text: str, encoding: str = "utf-8", name: str = "results/x.csv") -> Table:
    return only_table(read_artifact(name, text.encode(encoding)))


def read_or_none(path: str, data: bytes) -> Artifact | None:
    """The artifact, or None where it is refused; any other error fails the test."""
    try:
        return read_artifact(path, data)
    except Unreadable:
        return None


def saved(array: np.ndarray[Any, Any]) -> bytes:
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


# --- hostile -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_artifact_is_refused_with_its_reason(name: str, tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    path, build, reason = HOSTILE[name]
    data = build(str(mark))
    started = time.monotonic()
    with pytest.raises(Unreadable) as refused:
        read_artifact(path, data)
    assert reason in refused.value.reason
    assert "\n" not in str(refused.value)
    assert time.monotonic() - started < 5
    assert not mark.exists()


@pytest.mark.parametrize("name", ["hdf5 external storage", "pdf bomb"])
def test_refusals_pass_through_the_child_process(name: str, tmp_path: Path) -> None:
    path, build, reason = HOSTILE[name]
    assert needs_isolation(path)
    with pytest.raises(Unreadable, match=reason):
        Readers().read(path, build(str(tmp_path / "executed")))


def test_a_reader_that_takes_too_long_is_stopped() -> None:
    with pytest.raises(Unreadable, match=r"the reader was stopped: it took longer than 0\.05 seconds"):
        Readers().read("x.npy", saved(np.arange(5)), seconds=0.05)


def test_a_reader_that_needs_too_much_memory_is_stopped() -> None:
    random = np.random.default_rng(1).random((1_000_000, 2))
    with pytest.raises(Unreadable, match=r"more than 24 MB of memory|the reader was stopped"):
        Readers().read("x.npy", saved(random), memory_bytes=24 << 20)


def test_a_dead_child_is_a_reason_and_not_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(Unreadable, match="the reader was stopped: exit code 1"):
        Readers().read("x.npy", saved(np.arange(5)))


def test_the_child_sees_nothing_of_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spy = tmp_path / "python"
    spy.write_text('#!/bin/sh\necho "key: [$SOME_API_KEY]" >&2\nexit 3\n')
    spy.chmod(0o755)
    monkeypatch.setenv("SOME_API_KEY", "secret")
    monkeypatch.setattr("sys.executable", str(spy))
    with pytest.raises(Unreadable, match=r"the reader was stopped: key: \[\]"):
        Readers().read("x.npy", saved(np.arange(2)))


def test_too_large_for_any_reader() -> None:
    with pytest.raises(Unreadable, match="67,108,865 bytes, more than 67,108,864"):
        read_artifact("x.bin", bytes((64 << 20) + 1))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(["x.csv", "x.tsv", "x.json", "x.jsonl", "x.ipynb", "x.txt", "x"]), st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(path: str, data: bytes) -> None:
    artifact = read_or_none(path, data)
    assert artifact is None or (artifact.text is not None and "\x1b" not in artifact.text)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["cells", "source", "outputs", "cell_type", "data", "text"]), inner)
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(JSON_VALUES, st.sampled_from(["code", "markdown", 3, None]))
def test_any_notebook_is_read_or_refused(cells: object, kind: object) -> None:
    plain = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {},
        "cells": [{"cell_type": kind, "source": "", "outputs": cells}],
    }
    for document in (plain, {"nbformat": 4, "cells": cells}, {"nbformat": 4, "cells": [cells]}):
        artifact = read_or_none("x.ipynb", json.dumps(document).encode())
        assert artifact is None or artifact.kind == "notebook"


def test_notebooks_of_an_old_format() -> None:
    with pytest.raises(Unreadable, match="a notebook of format 3"):
        read_artifact("x.ipynb", b'{"nbformat": 3, "worksheets": []}')


# --- separated values ----------------------------------------------------------------------------------------------


def test_csv_cells_by_row_and_column() -> None:
    table = read_csv("name,slope,n\npooled,-0.09123,216\nsex,1.50,\n")
    assert table.columns == ("name", "slope", "n")
    assert table.cell(1, "slope") == -0.09123
    assert table.raw(2, "slope") == "1.50"
    assert table.locator(2, "slope") == "row 2, column slope"
    assert table.column("n") == [216, None]
    assert table.raw(2, "n") == ""


@pytest.mark.parametrize(("row", "column"), [(0, "a"), (3, "a"), (-1, "a"), (1, "b")])
def test_no_such_cell(row: int, column: str) -> None:
    table = read_csv("a\n1\n2\n")
    with pytest.raises(LookupError):
        table.cell(row, column)
    with pytest.raises(LookupError):
        table.locator(row, column)


def test_blanks_stay_missing() -> None:
    table = read_csv("a,b,c\n,0,\n  ,NaN,x\n0.0,nan,\n")
    assert table.rows == ((None, 0, None), (None, None, "x"), (0.0, None, None))


def test_only_plain_numbers_are_numbers() -> None:
    table = read_csv("a\n1_000\n0x10\n-1.5e-3\n.5\n5.\nTrue\n1e999\n٣\n" + "9" * 60 + "\n1 2\n")
    assert table.column("a") == ["1_000", "0x10", -0.0015, 0.5, 5.0, True, "1e999", "٣", 1e60, "1 2"]


def test_quoted_newlines_delimiters_and_quotes_stay_in_their_cell() -> None:
    table = read_csv('a,b\r\n"one\r\ntwo, ""three""",2\r\nx,3\r\n')
    assert table.cell(1, "a") == 'one\ntwo, "three"'
    assert table.column("b") == [2, 3]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["x.csv", "x.tsv"])
def test_the_delimiter_is_found_by_consistency(delimiter: str, name: str) -> None:
    lines = [delimiter.join(cells) for cells in (["name", "x", "y"], ["a. b", "1", "2"], ["c", "3", "4"])]
    artifact = read_artifact(name, "\n".join(lines).encode())
    assert artifact.facts["delimiter"] == delimiter
    assert only_table(artifact).rows == (("a. b", 1, 2), ("c", 3, 4))


def test_semicolons_with_decimal_commas() -> None:
    artifact = read_artifact("x.csv", b"Name;Wert\na;-1,5\nb;2,25\nc;\n")
    assert only_table(artifact).column("Wert") == [-1.5, 2.25, None]
    assert only_table(artifact).raw(1, "Wert") == "-1,5"
    assert artifact.facts["decimal"] == ","


def test_semicolons_with_decimal_points_keep_their_commas() -> None:
    assert read_csv("a;b\n1.5;1,2\n").rows == ((1.5, "1,2"),)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1"])
def test_encodings(encoding: str) -> None:
    text = "größe,n\nÄpfel,1\n"
    data = ("\ufeff" + text if encoding == "utf-16-le" else text).encode(encoding)
    artifact = read_artifact("x.csv", data)
    assert only_table(artifact).columns == ("größe", "n")
    assert only_table(artifact).cell(1, "größe") == "Äpfel"
    assert artifact.facts["encoding"] == encoding.removesuffix("-le")


def test_blank_and_repeated_headers_get_their_own_names() -> None:
    assert read_csv("x,,x, x ,x.2\n1,2,3,4,5\n").columns == ("x", "column 2", "x.2", "x.3", "x.2.2")


def test_a_first_row_of_numbers_is_data() -> None:
    artifact = read_artifact("x.csv", b"1,2\n3,4\n")
    assert artifact.facts["header"] is False
    assert only_table(artifact).columns == ("column 1", "column 2")
    assert only_table(artifact).cell(2, "column 1") == 3


def test_ragged_rows_and_repairs_are_facts() -> None:
    artifact = read_artifact("x.csv", b'a,b\n1\n"2"x,3,4\n')
    assert only_table(artifact).rows == ((1, None, None), ("2x", 3, 4))
    assert artifact.facts["ragged_rows"] == 1
    assert "repaired" in artifact.facts


def test_more_rows_than_are_kept() -> None:
    artifact = read_artifact("x.csv", b"a,b\n" + b"1,2\n" * 200_100)
    assert artifact.facts["rows"] == 200_100
    assert artifact.facts["truncated"] == "200,000 of 200,100 rows are kept"
    assert len(only_table(artifact).rows) == 200_000


@pytest.mark.parametrize("text", ["", "\n\n", "a,b\n"])
def test_no_rows(text: str) -> None:
    artifact = read_artifact("x.csv", text.encode())
    assert artifact.facts["rows"] == 0
    assert all(table.rows == () for table in artifact.tables)


CELLS = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t"), max_size=8)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=6), st.sampled_from(",;\t|"))
def test_what_is_written_is_read_back(rows: list[list[str]], delimiter: str) -> None:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows([["alpha", "beta", "gamma"], *rows])
    table = only_table(read_artifact("x.csv", out.getvalue().encode("utf-8")))
    assert table.columns == ("alpha", "beta", "gamma")
    assert [[table.raw(r, c) for c in table.columns] for r in range(1, len(rows) + 1)] == rows


@settings(max_examples=200, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**30), 10**30))
def test_numbers_are_read_exactly(value: float) -> None:
    assert read_csv(f"a,b\nx,{value!r}\n").cell(1, "b") == value


# --- JSON ----------------------------------------------------------------------------------------------------------


def test_json_values_by_pointer() -> None:
    data = {"a/b": {"m~n": [1, {"x": None}]}, "": "empty", "t": True, "none": []}
    artifact = read_artifact("x.json", json.dumps(data).encode())
    assert list(json_values(artifact.data)) == [
        ("/a~1b/m~0n/0", 1),
        ("/a~1b/m~0n/1/x", None),
        ("/", "empty"),
        ("/t", True),
    ]
    assert value_at(artifact, "/a~1b/m~0n/0") == 1
    assert value_at(artifact, "/") == "empty"
    for place in ("/a", "/a~1b/m~0n/2", "/a~1b/m~0n/-1", "/a~1b/m~0n/00", "/none", "", "t", "row 1, column t"):
        with pytest.raises(LookupError):
            value_at(artifact, place)


@settings(max_examples=80, deadline=None)
@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=3), lambda i: st.lists(i) | st.dictionaries(st.text(max_size=3), i)
    )
)
def test_every_pointer_leads_to_its_value(data: Any) -> None:
    for pointer, value in json_values(data):
        assert resolve_pointer(data, pointer) is value


def test_lists_of_objects_and_objects_of_lists_are_tables() -> None:
    data = {
        "fits": [{"x": 1, "y": [2, 3]}, {"x": None, "z": "s"}],
        "cols": {"p/q": [1, 2], "r": [3, 4]},
        "uneven": {"a": [1], "b": [1, 2]},
    }
    artifact = read_artifact("x.json", json.dumps(data).encode())
    records, columns = artifact.tables
    assert (records.name, records.columns) == ("/fits", ("x", "y", "z"))
    assert records.rows == ((1, "[2,3]", None), (None, None, "s"))
    assert columns.rows == ((1, 3), (2, 4))
    assert records.locator(2, "z") == "/fits/1/z"
    assert columns.locator(2, "p/q") == "/cols/p~1q/1"
    assert value_at(artifact, columns.locator(2, "p/q")) == columns.cell(2, "p/q") == 2


def test_nan_in_json_is_missing_and_a_fact() -> None:
    artifact = read_artifact("x.json", b'{"a": NaN, "b": -Infinity}')
    assert artifact.data == {"a": None, "b": float("-inf")}
    assert artifact.facts["not_json"] == "NaN or Infinity"


def test_json_lines() -> None:
    artifact = read_artifact("x.jsonl", b'{"a": 1}\n\n{"a": 2.5}\n')
    assert only_table(artifact).column("a") == [1, 2.5]
    assert value_at(artifact, "/1/a") == 2.5


def test_json_at_the_deepest() -> None:
    assert read_artifact("x.json", b"[" * 200 + b"]" * 200).kind == "json"


# --- binary formats ------------------------------------------------------------------------------------------------


def test_parquet() -> None:
    data = parquet(
        pa.table(
            {
                "name": ["a", None, "c"],
                "x": [1.5, float("nan"), None],
                "n": pa.array([1, 2, None], pa.int64()),
                "day": pa.array([0, 1, 2], pa.date32()),
                "nested": [[1], [2], [3]],
            }
        )
    )
    artifact = Readers().read("x.parquet", data)
    assert artifact == read_artifact("x.parquet", data)
    assert only_table(artifact).rows == (
        ("a", 1.5, 1, "1970-01-01"),
        (None, None, 2, "1970-01-02"),
        ("c", None, None, "1970-01-03"),
    )
    assert artifact.facts == {"rows": 3, "columns": 5, "not_read": ["nested"]}


def test_xlsx() -> None:
    data = xlsx([["name", "x"], ["a", 1.5], ["b", None], ["c", 3]], title="Fits")
    artifact = Readers().read("x.xlsx", data)
    table = only_table(artifact)
    assert artifact == read_artifact("x.xlsx", data)
    assert table.column("x") == [1.5, None, 3]
    assert table.locator(1, "x") == "Fits: row 1, column x"
    assert value_at(artifact, "Fits: row 3, column x") == 3


def test_xlsx_sheets_with_formulas_and_lying_dimensions() -> None:
    book = openpyxl.Workbook()
    assert book.active is not None
    book.active.append(["a", "b"])
    book.active.append([1, "=1+1"])
    book.create_sheet("empty")
    out = io.BytesIO()
    book.save(out)
    first, second = read_artifact("x.xlsx", out.getvalue()).tables
    assert first.rows == ((1, None),)
    assert (second.columns, second.rows) == ((), ())
    far = read_artifact("x.xlsx", xlsx_far_cell("C1048576", 1048576))
    assert len(only_table(far).rows) <= 200_001


def test_npy_and_npz() -> None:
    assert only_table(read_artifact("x.npy", saved(np.array([1.5, np.nan])))).column("value") == [1.5, None]
    out = io.BytesIO()
    np.savez_compressed(
        out, grid=np.arange(6).reshape(3, 2), cube=np.zeros((2, 2, 2)), day=np.array("2020-01-02", "M8[D]")
    )
    artifact = Readers().read("x.npz", out.getvalue())
    grid, day = artifact.tables
    assert value_at(artifact, "grid: row 3, column 1") == 5
    assert grid.rows == ((0, 1), (2, 3), (4, 5))
    assert day.rows == (("2020-01-02",),)
    assert artifact.facts["arrays"]["cube"] == "2x2x2 float64"


def test_record_and_fortran_arrays() -> None:
    records = np.array([(1, 2.5), (3, 4.5)], dtype=[("n", "i4"), ("x", "f8")])
    assert only_table(read_artifact("x.npy", saved(records))).column("x") == [2.5, 4.5]
    fortran = np.asfortranarray(np.arange(6).reshape(2, 3))
    assert only_table(read_artifact("x.npy", saved(fortran))).rows == ((0, 1, 2), (3, 4, 5))


def test_empty_arrays() -> None:
    assert read_artifact("x.npy", saved(np.zeros((0, 3)))).tables[0].rows == ()
    assert read_artifact("x.npy", saved(np.zeros((3, 0)))).tables == ()
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 1099511627776)}"
    assert read_artifact("x.npy", npy_header(header)).tables == ()


def test_hdf5() -> None:
    def build(file: h5py.File) -> None:
        file["fit/slope"] = np.array([0.5, -0.25])
        file["matrix"] = np.arange(4).reshape(2, 2)
        file["names"] = ["a", "b"]

    data = hdf5(build)
    artifact = Readers().read("x.h5", data)
    assert artifact == read_artifact("x.h5", data)
    assert value_at(artifact, "/fit/slope: row 2, column value") == -0.25
    assert value_at(artifact, "/matrix: row 2, column 0") == 2
    assert artifact.facts["not_read"] == ["/names"]


def test_images_give_their_size() -> None:
    artifact = read_artifact("x.png", png_header(640, 480))
    assert artifact.text is None
    assert artifact.facts == {"format": "PNG", "width": 640, "height": 480, "mode": "RGB"}


def test_pdf_text() -> None:
    artifact = Readers().read("x.pdf", pdf(b"BT /F1 12 Tf 20 100 Td (slope 0.25 per decade) Tj ET"))
    assert artifact.kind == "pdf"
    assert artifact.text == "[page 1]\nslope 0.25 per decade"
    assert artifact.facts == {"pages": 1}


# --- text ----------------------------------------------------------------------------------------------------------


def test_notebook_sources_and_outputs() -> None:
    data = {"text/html": "<script>bad()</script>", "text/plain": ["slope\n", "0.25"], "image/png": "aGk="}
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": ["fit\n", "done\n"]},
        {"output_type": "execute_result", "execution_count": 2, "metadata": {}, "data": data},
        {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": ["\x1b[31mline 1\x1b[0m"]},
    ]
    code = {"cell_type": "code", "execution_count": 2, "metadata": {}, "source": ["x = 1\n", "x"], "outputs": outputs}
    text = {"cell_type": "markdown", "metadata": {}, "source": "# Fit"}
    notebook = {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [text, code]}
    artifact = read_artifact("x.ipynb", json.dumps(notebook).encode())
    assert artifact.text == (
        "[cell 1, markdown]\n# Fit\n\n[cell 2, code, executed as 2]\nx = 1\nx\n[output]\nfit\ndone\n\n"
        "[output]\nslope\n0.25\n[text/html is not shown]\n[image/png is not shown]\n"
        "[output]\nline 1\nValueError: no"
    )
    assert artifact.facts == {"cells": 2, "code_cells": 1, "executed_cells": 1, "outputs": 3, "errors": 1}


@pytest.mark.parametrize("name", ["run.log", "figure.svg", "page.html", "fit.py", "Makefile", "notes.weird"])
def test_other_text_is_shown_as_it_stands(name: str) -> None:
    artifact = read_artifact(name, b"<script>alert(1)</script>\r\nred \x1b[31m \xc3\xa9\n")
    assert artifact.kind == "text"
    assert artifact.text == "<script>alert(1)</script>\nred \\x1b[31m é\n"
    assert artifact.facts["lines"] == 2


def test_long_text_is_cut_visibly() -> None:
    text = read_artifact("x.log", b"word " * 500_000).text
    assert text is not None
    assert len(text) == 2_000_000
    assert text.endswith("…")


def test_a_zip_of_another_name_is_not_text() -> None:
    with pytest.raises(Unreadable, match="binary data"):
        read_artifact("x.csv", zipped({"a": b"1" * 100}))


def test_nothing_needs_a_child_but_binary_formats() -> None:
    assert not any(map(needs_isolation, ["x.csv", "x.json", "x.jsonl", "x.ipynb", "x.md", "x", "x.pkl"]))
    assert all(map(needs_isolation, ["x.parquet", "x.XLSX", "x.npy", "x.npz", "x.h5", "x.pdf", "x.png"]))
