"""Whether a task is whole and blind: one question each, answered with what was looked at."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path, PurePosixPath

from ..errors import SciagentError
from ..models import Rubric
from ..models.task import Provenance
from ..runs.files import UnsafeFile, read_file, walk
from ..text import counted, one_line
from .leaks import Hidden, Leak, Lines
from .task import PLACEHOLDER, Task
from .verification import FAMILIES, Verification, VerificationFailed

HIDDEN = "hidden"
CARDS = 2
_TABLES = (".csv", ".tsv", ".txt", ".dat")
_MAX_VISIBLE = 64 * 1024 * 1024


@dataclass(frozen=True)
class Answer:
    """One question about a task: what was found, and what is wrong (nothing: it holds)."""

    question: str
    found: str
    problems: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.problems


def check_task(task: Task, rubric: Rubric) -> Iterator[Answer]:
    """Ask every question, in order; the last three are the conditions under which a study makes a task at all.

    rubric: its dimensions and criteria are what feasibility labels may name.
    """
    verification = Verification(task)
    yield _guarded("files", _files, task)
    yield _guarded("blindness", _blindness, task)
    yield _guarded("cut-off", _cut_off, task)
    yield _guarded("licence", _licence, task)
    yield _guarded("feasibility", lambda t: _feasibility(t, rubric), task)
    cards = _guarded("reference", lambda t: _reference(t, verification), task)
    yield cards
    survived = _guarded("perturbations", lambda t: _perturbations(t, verification), task)
    yield survived
    yield _guarded("holdout", _holdout, task)
    yield _guarded("selection 1: interpretable data", _interpretable, task)
    yield Answer(
        "selection 2: two main results follow from the data",
        f"{len(task.cards)} reference cards, recomputed" if cards.ok else "not shown",
        () if cards.ok else ("the two reference cards can't be recomputed from the data (see above)",),
    )
    yield Answer(
        "selection 3: variation, controls or alternatives exist",
        survived.found if survived.ok else "not shown",
        () if survived.ok else ("no full set of perturbations that a card survives (see above)",),
    )


def visible_files(task: Task) -> list[str]:
    """Every file of the visible half, relative to the task's folder."""
    return [e.path for e in walk(task.path) if not _is_hidden(e.path)]


def visible_leaks(task: Task) -> list[Leak]:
    """Where the visible half (files and file names) shows what the hidden half holds.

    In tables of data, reference values count from four significant digits on, elsewhere from three: a table holds many
    numbers by chance.
    """
    hidden = Hidden(task)
    found: list[Leak] = []
    for path in visible_files(task):
        found += (replace(leak, line=None) for leak in _leaks_in(hidden, path, Lines([(0, path)]), 3, is_name=True))
        lines = Lines.of(read_file(task.path, path, _MAX_VISIBLE).decode("utf-8", "replace"))
        found += _leaks_in(hidden, path, lines, 4 if path.startswith("data/") else 3, is_name=False)
    return list(dict.fromkeys(found))


def _leaks_in(hidden: Hidden, path: str, lines: Lines, digits: int, is_name: bool) -> Iterator[Leak]:
    titles = set()
    for leak in hidden.sources(path, lines):
        titles |= {leak.line} if leak.kind == "title" else set()
        yield leak
    yield from hidden.any_author(path, lines, any_case=is_name)
    yield from hidden.values(path, lines, digits)
    if is_name or not path.startswith("data/"):
        yield from (leak for leak in hidden.title_words(path, lines) if leak.line not in titles)


def _is_hidden(path: str) -> bool:
    first = PurePosixPath(path).parts[0] if path else ""
    return first == HIDDEN or "__pycache__" in path


def _guarded(question: str, ask: Callable[[Task], Answer], task: Task) -> Answer:
    """The answer, or why there is none: a file that can't be read is a problem of the task, not of the program."""
    try:
        return ask(task)
    except (SciagentError, UnsafeFile, VerificationFailed) as error:
        return Answer(question, "not known", (one_line(str(error), 500),))


def _files(task: Task) -> Answer:
    problems = list(task.data_problems())
    task.objective, task.data_guide  # noqa: B018 - read, so that a missing one is told
    for path in (p for p in visible_files(task) if not p.startswith("data/")):
        text = read_file(task.path, path, _MAX_VISIBLE).decode("utf-8", "replace")
        line = next((n for n, x in enumerate(text.split("\n"), 1) if PLACEHOLDER in x), None)
        if line is not None:
            problems.append(f"{path}:{line}: still holds a placeholder ({PLACEHOLDER})")
    total = sum(file.bytes for file in task.manifest.files)
    return Answer(
        "files", f"{counted(len(task.manifest.files), 'data file')}, {total:,} bytes, hashes compared", tuple(problems)
    )


def _blindness(task: Task) -> Answer:
    if task.source is None:
        return Answer(
            "blindness", "not known", ("hidden/source.yaml is missing: what must not show can't be searched",)
        )
    leaks = visible_leaks(task)
    told = tuple(f"{leak.place}: {leak.what}: {leak.passage!r}" for leak in leaks[:20])
    more = (f"and {len(leaks) - 20} more",) if len(leaks) > 20 else ()
    searched = "DOI, arXiv id, title, authors, fingerprints and reference values"
    return Answer("blindness", f"{len(visible_files(task))} visible files and their names, for {searched}", told + more)


def _cut_off(task: Task) -> Answer:
    problems = []
    days = {"t0": task.manifest.t0} if task.manifest.t0 is not None else {}
    if not days:
        problems.append("task.yaml gives no t0: nothing tells what literature may be used")
    if task.source is None:
        problems.append("hidden/source.yaml is missing: the source's first publication is not known")
    else:
        days["first_public"] = task.source.first_public
    for name, day in days.items():
        try:
            date.fromisoformat(day)
        except ValueError:
            problems.append(f"{name} is {day}, which is no day of the calendar")
    if not problems and days["t0"] >= days["first_public"]:
        problems.append(f"t0 ({days['t0']}) is not before the source's first publication ({days['first_public']})")
    return Answer("cut-off", ", ".join(f"{name} {day}" for name, day in days.items()), tuple(problems))


def _licence(task: Task) -> Answer:
    from ..documents import load_yaml

    provenance = load_yaml(task.path / HIDDEN / "provenance.yaml", Provenance)
    problems = []
    if provenance.licence.casefold() != task.manifest.licence.casefold():
        problems.append(f"task.yaml says {task.manifest.licence!r}, hidden/provenance.yaml {provenance.licence!r}")
    if PLACEHOLDER in provenance.licence + provenance.origin:
        problems.append(f"hidden/provenance.yaml still holds a placeholder ({PLACEHOLDER})")
    return Answer("licence", task.manifest.licence, tuple(problems))


def _feasibility(task: Task, rubric: Rubric) -> Answer:
    known = [d.id for d in rubric.dimensions] + [c.id for c in rubric.criteria]
    problems = []
    for label in task.manifest.feasibility:
        if label not in known:
            near = difflib.get_close_matches(label, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            problems.append(f"task.yaml: feasibility names no dimension or criterion {label!r}{hint}")
    if not task.manifest.feasibility:
        problems.append("task.yaml: no feasibility label; say at least whether a check on separate data is feasible")
    no = [label for label, answer in task.manifest.feasibility.items() if not answer.feasible]
    told = f"{counted(len(task.manifest.feasibility), 'label')}" + (f"; not feasible: {', '.join(no)}" if no else "")
    return Answer("feasibility", told, tuple(problems))


def _reference(task: Task, verification: Verification) -> Answer:
    problems = []
    if len(task.cards) != CARDS:
        problems.append(f"hidden/reference.yaml: {counted(len(task.cards), 'card')}, {CARDS} are needed")
    values = verification.values()
    if not values:
        problems.append("hidden/verify/recompute.py is missing")
    compared = 0
    for card in task.cards:
        if not any(quantity.role == "core" for quantity in card.quantities):
            problems.append(f"card {card.id}: no core quantity")
        for quantity in card.quantities if values else ():
            if quantity.key not in values:
                problems.append(f"card {card.id}: recompute.py gives no {quantity.key!r}")
                continue
            compared += 1
            value = values[quantity.key]
            if not quantity.tolerance.accepts(value, quantity.value):
                problems.append(
                    f"card {card.id}: {quantity.key} is {value:g} by recompute.py, not {quantity.value:g} as stated"
                )
    return Answer(
        "reference", f"{counted(len(task.cards), 'card')}, {counted(compared, 'value')} recomputed", tuple(problems)
    )


def _perturbations(task: Task, verification: Verification) -> Answer:
    """All of them must run. That one is not survived is a boundary of the finding, told but not wrong."""
    problems: list[str] = []
    count = 0
    fallen: list[str] = []
    for card in task.cards:
        found = verification.perturbations(card.id)
        count += len(found)
        missing = [family for family in FAMILIES if family not in {p.family for p in found}]
        problems += (f"hidden/verify/perturb_{card.id}_{family}.py is missing" for family in missing)
        fallen += (f"{card.id} {p.family}" for p in found if not p.survive)
        if found and not any(p.survive for p in found):
            problems.append(f"card {card.id} survives none of its perturbations")
    told = f"{count} ran ({', '.join(FAMILIES)} of {counted(len(task.cards), 'card')})"
    return Answer("perturbations", told + (f"; not survived: {', '.join(fallen)}" if fallen else ""), tuple(problems))


def _holdout(task: Task) -> Answer:
    if not task.holdout_dir.is_dir():
        return Answer("holdout", "none: the task has no second stage")
    problems = []
    shared = shared_rows(task)
    for path, count in shared.items():
        if count is None:
            problems.append(f"hidden/holdout/{path}: no data file of this name with the same columns")
        elif count:
            problems.append(f"hidden/holdout/{path}: {counted(count, 'row')} found in data/{path} too")
    return Answer("holdout", f"{counted(len(shared), 'file')}, rows compared with the data", tuple(problems))


def shared_rows(task: Task) -> dict[str, int | None]:
    """For each table of the hold-out, how many of its rows stand in the data file of its name; None without one."""
    found: dict[str, int | None] = {}
    for entry in walk(task.holdout_dir):
        if PurePosixPath(entry.path).suffix.lower() not in _TABLES:
            continue
        kept, data = _rows(task.holdout_dir, entry.path), _rows(task.data_dir, entry.path)
        if not kept or not data or kept[0] != data[0]:
            found[entry.path] = None
        else:
            found[entry.path] = len(set(kept[1:]) & set(data[1:]))
    return found


def _rows(root: Path, path: str) -> list[str]:
    try:
        text = read_file(root, path, _MAX_VISIBLE).decode("utf-8-sig", "replace")
    except UnsafeFile:
        return []
    return [line.strip() for line in text.split("\n") if line.strip()]


def _interpretable(task: Task) -> Answer:
    """Whether every column of every table is explained, with a unit."""
    problems = []
    columns = 0
    for file in task.manifest.files:
        name = file.path.removeprefix("data/")
        if PurePosixPath(name).suffix.lower() not in (".csv", ".tsv"):
            if name not in task.manifest.variables:
                problems.append(f"task.yaml: nothing in variables explains {name}")
            continue
        header = _header(task.data_dir, name)
        columns += len(header)
        told = task.manifest.variables.get(name, {})
        problems += (f"task.yaml: variables do not explain column {c!r} of {name}" for c in header if c not in told)
        problems += (f"task.yaml: {name} has no column {c!r}" for c in told if c not in header)
    about = f"{counted(columns, 'column')} explained, unit of analysis: {one_line(task.manifest.analysis_unit, 80)}"
    return Answer("selection 1: interpretable data", about, tuple(problems))


def _header(root: Path, path: str) -> list[str]:
    rows = _rows(root, path)
    return next(csv.reader(rows[:1], delimiter="\t" if path.endswith(".tsv") else ","), [])
