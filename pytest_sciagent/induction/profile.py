"""Stage 3: what the data are. Code finds it; a model adds what it means, and code checks the names it uses."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from itertools import permutations
from typing import TYPE_CHECKING

from ..digest import sha256_bytes
from ..errors import SciagentError
from ..judging.answers import BadAnswer
from ..runs.files import UnsafeFile, read_file, walk
from ..tasks import Task
from ..text import one_line
from .answers import GoalDraft, MeaningAnswer
from .skeleton import goals_text
from .states import DataProfile, FileProfile, Join, Skeleton, digest_of
from .tables import profile_table, read_table
from .task_questions import Ask, Desk

if TYPE_CHECKING:
    import pandas

MOST_FILES = 60
MOST_BYTES = 64 * 1024 * 1024
MOST_SHOWN = 40_000


def profile_data(task: Task) -> DataProfile:
    """What code finds in the visible data of `task`.

    Raises:
        SciagentError: the task has no data.
    """
    paths = list(walk(task.path, "data")) if task.data_dir.is_dir() else []
    if not paths:
        raise SciagentError("the task has no data to look at", path=task.data_dir)
    files, tables, notes = [], {}, []
    for entry in paths[:MOST_FILES]:
        found, table = _file(task, entry.path)
        files.append(found)
        if table is not None:
            tables[entry.path.removeprefix("data/")] = table
    if len(paths) > MOST_FILES:
        notes.append(f"{len(paths) - MOST_FILES} further files were not looked at")
    notes += _told(task, files)
    return DataProfile(
        task_id=task.id,
        inputs=digest_of([[f.path, f.sha256] for f in files]),
        files=tuple(files),
        joins=tuple(_joins(tables)),
        copies=tuple(_copies(files)),
        notes=tuple(notes),
    )


def _file(task: Task, path: str) -> tuple[FileProfile, pandas.DataFrame | None]:
    suffix = path.rsplit(".", 1)[-1].lower() if "." in path.rsplit("/", 1)[-1] else "none"
    try:
        data = read_file(task.path, path, MOST_BYTES)
    except UnsafeFile as error:
        return FileProfile(path=path, format=suffix, bytes=0, sha256="0" * 64, problem=one_line(str(error), 200)), None
    known = FileProfile(path=path, format=suffix, bytes=len(data), sha256=sha256_bytes(data))
    try:
        table = read_table(path, data)
    except Exception as error:  # the parsers raise whatever a broken file makes them
        return known.model_copy(update={"problem": one_line(f"not readable as a table: {error}", 200)}), None
    if table is None:
        return known, None
    variables = task.manifest.variables.get(path.removeprefix("data/"), {})
    return known.model_copy(update={"table": profile_table(table, variables)}), table


def _told(task: Task, files: Sequence[FileProfile]) -> list[str]:
    """Where the task's own words about columns and what the files hold part ways."""
    notes = []
    for file in files:
        if file.table is None:
            continue
        said = task.manifest.variables.get(file.path.removeprefix("data/"), {})
        there = {column.name for column in file.table.columns}
        notes += [f"{file.path}: column {name} is described, but not there" for name in sorted(said.keys() - there)]
        notes += [f"{file.path}: column {name} is not described" for name in sorted(there - said.keys())]
    return notes


def _joins(tables: dict[str, pandas.DataFrame]) -> list[Join]:
    """Columns of one name that two tables share values of."""
    found = []
    for (first, one), (second, two) in permutations(tables.items(), 2):
        for column in one.columns.intersection(two.columns):
            mine, other = set(one[column].dropna().astype(str)), set(two[column].dropna().astype(str))
            if mine and mine & other:
                share = round(len(mine & other) / len(mine), 3)
                found.append(Join(column=str(column), first=first, second=second, share=share))
    return found[:200]


def _copies(files: Sequence[FileProfile]) -> list[tuple[str, ...]]:
    same: dict[str, list[str]] = defaultdict(list)
    for file in files:
        if file.problem is None:
            same[file.sha256].append(file.path)
    return [tuple(paths) for paths in same.values() if len(paths) > 1]


def profile_text(profile: DataProfile) -> str:
    """What code found, as prompts show it: no digests, no empty fields."""
    files = [_shown(file) for file in profile.files]
    told = {"files": files, "joins": [join.as_json() for join in profile.joins], "copies": profile.copies}
    if profile.notes:
        told["notes"] = profile.notes
    text = json.dumps(told, indent=1, ensure_ascii=False)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}\n[cut]"


def _shown(file: FileProfile) -> dict[str, object]:
    shown = file.model_dump(mode="json", exclude={"sha256", "bytes"}, exclude_defaults=True)
    return shown | {"path": file.path.removeprefix("data/")}


def with_meaning(desk: Desk, task: Task, profile: DataProfile, skeleton: Skeleton, inputs: str) -> DataProfile:
    """`profile` with a model's words about what the files mean, and whether each goal is feasible on them.

    inputs: the digest of all that this is made from.

    Raises:
        OpenQuestions, SciagentError: as `Desk.ask`.
    """
    values = {
        "goals": goals_text(skeleton.goals),
        "guide": task.data_guide,
        "profile": profile_text(profile),
    }
    found = desk.one(
        Ask("meaning", "meaning", values, MeaningAnswer, lambda answer: check_meaning(answer, profile, skeleton.goals))
    )
    update = {"inputs": inputs, "answers": desk.spent(), "meaning": found.files, "feasibility": found.goals}
    return profile.model_copy(update=update)


def check_meaning(answer: MeaningAnswer, profile: DataProfile, goals: Sequence[GoalDraft]) -> None:
    """Raises `BadAnswer` where a file, column or goal is named that is not there, or a goal is left out."""
    files = {file.path.removeprefix("data/") for file in profile.files}
    if wrong := sorted({f.file for f in answer.files} - files):
        raise BadAnswer("wrong_ids", f"no such data file: {', '.join(wrong)}")
    if sorted(g.goal_id for g in answer.goals) != sorted(goal.id for goal in goals):
        raise BadAnswer("wrong_ids", "each goal must be told feasible or not exactly once")
    for goal in answer.goals:
        if wrong := sorted(set(goal.columns) - profile.names):
            raise BadAnswer("wrong_data", f"{goal.goal_id}: no such file or FILE:COLUMN: {', '.join(wrong)}")
        if goal.feasible != "no" and not goal.columns:
            raise BadAnswer("wrong_data", f"{goal.goal_id}: name the columns that make it feasible")
