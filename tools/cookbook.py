"""Writes docs/cookbook.md: for each criterion an example of each level, from the verdicts recorded with the repository.

    python tools/cookbook.py

Shipped runs come first; where none of them was ever given a level, the worthless runs of `sciagent selfcheck` may.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pytest_sciagent import SciagentError, score
from pytest_sciagent.documents import shipped_folder
from pytest_sciagent.models import Criterion, Rubric
from pytest_sciagent.reporting.markdown import code
from pytest_sciagent.rubrics import DEFAULT_RUBRIC, load_rubric
from pytest_sciagent.selfcheck import build_runs
from pytest_sciagent.tasks import Task
from pytest_sciagent.text import one_line, shorten

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "cookbook.md"
LEVELS = {1.0: "1", 0.5: "0.5", 0.0: "0"}
MAX_REASON, MAX_QUOTE = 500, 160
GOOD_REASON = 350
"""Of several examples the first is taken whose reason is no longer; a long one tells less."""

HEAD = """\
# Failing criteria, by example

Of each criterion of the shipped rubric: what it asks, and for each level an example that was really given, with the
reason of whoever decided (code, or the recorded judge) and a passage that code found in the frozen run. Examples are
from the six shipped runs ([verdicts/README.md](../verdicts/README.md) tells who judged them); where none of them was
given a level, from the worthless runs of `sciagent selfcheck`. Not every level has been given: the page says so.
Agents' and judges' words stand in frames, cut where they are long. The whole conditions are in
[rubrics/truthinsight.yaml](../rubrics/truthinsight.yaml).

This page is written by `make cookbook`, and a test fails where it is not current.
"""


def page() -> str:
    """The text of the page, from the verdicts that are recorded now."""
    os.chdir(ROOT)  # runs are named from here
    rubric = load_rubric(DEFAULT_RUBRIC, ROOT, ROOT)
    shipped = list(_verdicts(score("runs").verdicts()))
    with tempfile.TemporaryDirectory(prefix="sciagent-cookbook-") as folder:
        worthless = list(_worthless(Path(folder)))
    parts = [HEAD, _summary(rubric, shipped, worthless)]
    for dimension in rubric.dimensions:
        parts.append(f"\n## {dimension.title} ({dimension.weight:g} points)\n")
        mine = [criterion for criterion in rubric.criteria if criterion.dimension == dimension.id]
        parts += [_recipe(criterion, shipped, worthless) for criterion in mine]
    return "".join(parts)


def _verdicts(table: Any) -> Iterator[dict[str, Any]]:
    cells = table.astype(object).where(table.notna(), None)
    yield from cells.to_dict("records")


def _worthless(folder: Path) -> Iterator[dict[str, Any]]:
    tasks = [Task.load(path.parent) for path in sorted((ROOT / "tasks").glob("*/task.yaml"))]
    build_runs(tasks, folder)
    yield from _verdicts(score(folder, ledger=shipped_folder("selfcheck") / "verdicts").verdicts())


def _of(verdicts: Iterable[dict[str, Any]], criterion: Criterion, level: float) -> list[dict[str, Any]]:
    return [v for v in verdicts if v["criterion"] == criterion.id and v["level"] == level]


def _summary(rubric: Rubric, shipped: list[dict[str, Any]], worthless: list[dict[str, Any]]) -> str:
    lines = ["\n| criterion | 1 | 0.5 | 0 | no level |", "|---|---:|---:|---:|---:|"]
    for criterion in rubric.criteria:
        mine = [v for v in shipped if v["criterion"] == criterion.id]
        counts = [len(_of(shipped, criterion, level)) for level in LEVELS]
        open_ = len(mine) - sum(counts)
        lines.append(f"| {criterion.number} {criterion.title} | {' | '.join(map(str, [*counts, open_]))} |")
    return "\n".join(lines) + "\n\nHow often each level was given to the 18 findings of the shipped runs.\n"


def _recipe(criterion: Criterion, shipped: list[dict[str, Any]], worthless: list[dict[str, Any]]) -> str:
    lines = [
        f"\n### {criterion.number} {criterion.title}\n",
        f"{one_line(criterion.question)}\n",
        f"`{criterion.id}`, {criterion.weight:g} points, decided by {_decider(criterion)}\n",
    ]
    for level, name in LEVELS.items():
        found = _of(shipped, criterion, level)
        if found:
            lines.append(f"**Level {name}**, {_example(found)}")
        elif found := _of(worthless, criterion, level):
            lines.append(f"**Level {name}**: none of the shipped runs. Of the worthless runs, {_example(found)}")
        else:
            lines.append(f"**Level {name}**: none of the shipped runs, and none of the worthless ones.\n")
    return "\n".join(lines)


def _decider(criterion: Criterion) -> str:
    if criterion.check is None:
        return "a judge"
    return "a judge within what code found" if criterion.judge else "code"


def _example(found: list[dict[str, Any]]) -> str:
    ordered = sorted(
        found, key=lambda v: (v["quote"] is None, len(v["reason"]) > GOOD_REASON, v["run"], v["finding"] or "")
    )
    one = ordered[0]
    where = one["run"] if one["finding"] is None else f"{one['run']}, {one['finding']}"
    text = f"{where}:\n\n> {code(shorten(one_line(one['reason']), MAX_REASON))}\n"
    if one["quote"] is not None:
        quote = code(shorten(one_line(one["quote"]), MAX_QUOTE))
        text += f">\n> in {code(shorten(one_line(one['file']), MAX_QUOTE))}: {quote}\n"
    return text


if __name__ == "__main__":
    try:
        PAGE.write_text(page(), encoding="utf-8")
    except SciagentError as error:
        raise SystemExit(f"cookbook: {error}") from None
