"""Columns and counts of ours in the report of pytest-html, where that is asked for.

pytest-html knows a fixed list of outcomes, and hides rows of any other: a criterion at level 0.5 stays one that passed,
is marked in its cell, and is counted above the table.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import pytest
from pytest_html import extras

from ..collection.status import PROPERTY
from ..collection.told import Told
from ..text import one_line
from .junit import level_counts

if TYPE_CHECKING:
    from ..models import Citation
    from .board import Board

COLUMNS = ("level", "weight", "dimension")
PLACE = 2
"""After the columns Result and Test."""
MAX_CELL = 60
MAX_LINE = 600
MAX_QUOTES = 3
MAX_QUOTE = 300
_STYLE = "<style>.sciagent-half::after{content:' (half)';color:#8a6d00}.sciagent-zero{color:#b3261e}</style>"


class HtmlColumns:
    """Registered as a plugin in the controller where pytest-html writes a report."""

    def __init__(self, board: Board) -> None:
        self._board = board

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Put the evidence of a criterion below level 1 into its row: a few quotes, cut."""
        told = Told.read(dict(report.user_properties).get(PROPERTY)) if report.when != "teardown" else None
        if told is None or isinstance(told.outcome, str) or told.outcome.level == 1:
            return
        verdict = told.outcome
        if quotes := verdict.citations[:MAX_QUOTES]:
            shown = "".join(f"<li>{_quote(quote)}</li>" for quote in quotes)
            more = len(verdict.citations) - len(quotes)
            rest = f"<p>and {more} more (see --sciagent-json)</p>" if more else ""
            mine = extras.html(f"<ul>{shown}</ul>{rest}")
            vars(report)["extras"] = [*vars(report).get("extras", []), mine]

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        for name in reversed(COLUMNS):
            cells.insert(PLACE, f'<th class="sortable" data-column-type="{name}">{name.capitalize()}</th>')

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_row(self, report: pytest.CollectReport, cells: list[str]) -> None:
        told = dict(getattr(report, "user_properties", ()))
        for name in reversed(COLUMNS):
            text = html.escape(one_line(str(told.get(name, "")), MAX_CELL))
            cells.insert(PLACE, f'<td class="col-{name}">{text}</td>')
        if PROPERTY in told and told.get("level") == "0.5":
            cells[0] = cells[0].replace('class="col-result"', 'class="col-result sciagent-half"')

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_summary(self, prefix: list[str], summary: list[str], postfix: list[str]) -> None:
        results = self._board.results
        if results is None:
            return
        counts = level_counts(results)
        told = [f"{counts['half']} of the passed criteria have half credit (level 0.5)"]
        told += [f"{system.name}: {system.score.show()}" for system in results.systems]
        told.append(results.believed.sentence)
        told += [f"gate {decision.outcome}: {decision.sentence}" for decision in results.decisions]
        prefix += [_STYLE, *(f"<p>{html.escape(one_line(line, MAX_LINE))}</p>" for line in told)]


def _quote(citation: Citation) -> str:
    state = "not looked up" if citation.verified is None else "found" if citation.verified else "not found"
    text = f"{citation.file} ({state}): {citation.quote}"
    return html.escape(one_line(text, MAX_QUOTE))
