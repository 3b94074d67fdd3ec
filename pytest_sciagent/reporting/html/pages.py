"""Writing the report: one self-contained file, or beyond some thousand criteria an index and a page for each run."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from markupsafe import Markup, escape

from ...errors import SciagentError
from ...ledger.store import write_atomically
from .cohort import Tally, cohort_view
from .conditions import anchor_of, criterion_text
from .passages import shared_surroundings
from .runs import Material, anchors, run_view
from .views import OUTCOMES, SIGNS, WORDS, CohortView, RunView

if TYPE_CHECKING:
    from jinja2 import Environment

    from ..results import Results, RunResult

ONE_FILE = 2_500
"""Criteria up to which everything stands in one file."""
NAV_MOST = 60
EXPLORER_CHARS = 1_000_000
"""Of reasons in the list of all criteria of an index."""
MAX_REASON = 160
_GENERATOR = '<meta name="generator" content="pytest-sciagent'
_HEAD = 2_000


def write_html(
    path: Path, results: Results, material: Material, baseline: str | None, json_path: Path | None
) -> list[Path]:
    """Write the report of `results` to `path`; beyond `ONE_FILE` criteria the runs go into `<name>_files/` beside it.

    baseline: its name, where there is one. json_path: where the full JSON is written, if it is.

    Returns:
        what was written, the page to open first.

    Raises:
        SciagentError: the place can't be written to.
    """
    book = _Book(path, results, material, baseline, json_path)
    return book.in_one_file() if criteria_of(results.runs) <= ONE_FILE else book.in_many_files()


def criteria_of(runs: Iterable[RunResult]) -> int:
    """How many verdicts there are."""
    return sum(len(run.verdicts) + sum(len(finding.verdicts) for finding in run.findings) for run in runs)


class _Book:
    """One report being written."""

    def __init__(
        self, path: Path, results: Results, material: Material, baseline: str | None, json_path: Path | None
    ) -> None:
        self.path, self.results, self.material, self.baseline = path, results, material, baseline
        self.names = anchors(results.runs)
        self.tally = Tally()
        self.json = json_path

    def in_one_file(self) -> list[Path]:
        views = [self._view(n, f"#{name}", depth=4) for n, name in enumerate(self.names)]
        cohort = cohort_view(self.results, self.tally, self.material, self.baseline)
        write_atomically(self.path, self._page(self.path, cohort.title, cohort=cohort, runs=views))
        return [self.path]

    def in_many_files(self) -> list[Path]:
        folder = self.path.with_name(f"{self.path.stem}_files")
        written = []
        for n, name in enumerate(self.names):
            page = folder / f"{name}.html"
            view = self._view(n, f"{quote(folder.name)}/{quote(page.name)}#{name}", depth=2)
            index = f"../{quote(self.path.name)}"
            write_atomically(page, self._page(page, view.head.label, runs=[view], index_href=index))
            written.append(page)
        cohort = cohort_view(self.results, self.tally, self.material, self.baseline)
        explorer = _json(self._explorer())
        write_atomically(self.path, self._page(self.path, cohort.title, cohort=cohort, explorer=explorer))
        _drop_stale(folder, written)
        return [self.path, *written]

    def _view(self, position: int, href: str, depth: int) -> RunView:
        view = run_view(self.results.runs[position], position, self.names[position], href, depth, self.material)
        self.tally.take(view)
        return view

    def _page(
        self, page: Path, title: str, cohort: CohortView | None = None, runs: Sequence[RunView] = (), **more: Any
    ) -> str:
        names = [] if cohort is None else list(dict.fromkeys(head.system for head in cohort.runs))
        shown = {item.dimension for run in runs for item in run.items}
        shown |= {item.dimension for item in self.tally.items} if cohort is not None else set()
        titles = dict(self.material.dimensions)
        others = [(id, id) for id in sorted(shown - titles.keys())]
        used = {item.criterion for run in runs for item in run.items}
        template = _environment().get_template("page.html.j2")
        return template.render(
            **{"index_href": None, "explorer": None} | more,
            title=f"{title} – pytest-sciagent",
            cohort=cohort,
            runs=runs,
            shared=shared_surroundings(runs),
            texts=[criterion_text(c, self.material.words) for id, c in self.material.criteria.items() if id in used],
            run_open=len(self.names) == 1,
            systems=names,
            dimensions=[*((id, name) for id, name in titles.items() if id in shown), *others],
            has_baseline=self.baseline is not None,
            json_name=None if self.json is None else _relative(self.json, page.parent, self.material),
            nav_most=NAV_MOST,
            hl=5 if cohort is not None else 3,
        )

    def _explorer(self) -> dict[str, Any]:
        """All criteria in short, as columns of numbers where that is possible; see `report.js`."""
        heads, items = self.tally.heads, self.tally.items
        criteria: dict[str, int] = {}
        told: list[dict[str, str]] = []
        rows: list[list[Any]] = []
        changes = ["fallen", "raised", "new", "same", "unknown"]
        room = max(min(EXPLORER_CHARS // max(len(items), 1), MAX_REASON), 0)
        runs = {head.label: n for n, head in enumerate(heads)}
        for item in items:
            if item.criterion not in criteria:
                criteria[item.criterion] = len(told)
                told.append(
                    {"id": item.criterion, "number": item.number, "title": item.title, "dimension": item.dimension}
                )
            reason = item.reason if len(item.reason) <= room else item.reason[: max(room - 1, 0)] + "…"
            row = [runs[item.run], item.finding_number, criteria[item.criterion]]
            rows.append([*row, OUTCOMES.index(item.outcome), changes.index(item.change), reason])
        return {
            "runs": [
                {"label": h.label, "href": h.href.split("#")[0], "anchor": h.anchor, "task": h.task, "system": h.system}
                for h in heads
            ],
            "criteria": told,
            "outcomes": OUTCOMES,
            "signs": [SIGNS[outcome] for outcome in OUTCOMES],
            "changes": changes,
            "rows": rows,
        }


def _relative(path: Path, folder: Path, material: Material) -> str:
    """Where the JSON file lies, as seen from the page."""
    return material.words.line(os.path.relpath(path, folder), 200)


def _json(data: Any) -> Markup:
    """`data` for a script element: nothing in it can end the element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))  # noqa: S704 - no markup is left in it


def _drop_stale(folder: Path, written: Sequence[Path]) -> None:
    """Remove pages of an earlier report from its folder; anything that is not such a page stays."""
    for page in set(folder.glob("*.html")) - set(written):
        try:
            with page.open(encoding="utf-8", errors="replace") as handle:
                if _GENERATOR in handle.read(_HEAD):
                    page.unlink()
        except OSError as error:
            raise SciagentError(f"a page of an earlier report can't be removed: {error.strerror}", path=page) from None


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader("pytest_sciagent.reporting.html"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    found.filters["breakable"] = _breakable
    assets = Path(__file__).parent / "assets"
    css, js = ((assets / name).read_text("utf-8") for name in ("report.css", "report.js"))
    found.globals |= {
        "css": Markup(css),  # noqa: S704 - the package's own file
        "js": Markup(js),  # noqa: S704 - the same
        "policy": "; ".join(
            (
                "default-src 'none'",
                f"style-src '{_digest(css)}'",
                f"script-src '{_digest(js)}'",
                "base-uri 'none'",
                "form-action 'none'",
            )
        ),
        "version": version("pytest-sciagent"),
        "order": OUTCOMES,
        "signs": SIGNS,
        "words": WORDS,
        "anchor_of": anchor_of,
    }
    return found


def _breakable(name: str) -> Markup:
    """A name that may go on in the next line after `_`, `/` or `.`."""
    return Markup(re.sub(r"(?<=[_/.])(?=\w)", "<wbr>", escape(name)))  # noqa: S704 - escaped before


def _digest(text: str) -> str:
    """What a content security policy calls an inline script or style by: no other one is obeyed."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
