"""Rubrics on disk, by name or path."""

from __future__ import annotations

import difflib
from fractions import Fraction
from pathlib import Path

from pydantic import ValidationError

from ..documents import is_there, load_yaml, shipped_folder
from ..errors import SciagentError
from ..models import Rubric
from .frozen import check_frozen

DEFAULT_RUBRIC = "truthinsight"
TRUTHINSIGHT_TOTAL = 100


def load_rubric(name: str, rootdir: Path, base: Path) -> Rubric:
    """The rubric called `name`, or in the file `name` (relative to `base`).

    A name is looked up in `rubrics/` and `rubrics/induced/` under the rootdir, then in the same
    two folders of the shipped ones.

    Raises:
        SciagentError: unknown name, unreadable or invalid file, weights its profile can't add up, or a frozen rubric
            that was changed.
    """
    path = find_rubric(name, rootdir, base)
    rubric = load_yaml(path, Rubric)
    check_frozen(rubric, path)
    if problem := _total_problem(rubric):
        raise SciagentError(f"{problem}; use 'profile: weighted'", path=path)
    return rubric


def with_profile(rubric: Rubric, profile: str) -> Rubric:
    """The same criteria, added up by another profile.

    Raises:
        SciagentError: one that can't add up these weights.
    """
    try:
        changed = Rubric.model_validate(rubric.as_json() | {"profile": profile})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        reason = str(first.get("ctx", {}).get("error", first["msg"]))
    else:
        if (problem := _total_problem(changed)) is None:
            return changed
        reason = problem
    raise SciagentError(f"rubric {rubric.id!r} with profile {profile!r}: {reason}")


def _total_problem(rubric: Rubric) -> str | None:
    total = sum(Fraction(str(c.weight)) for c in rubric.criteria)  # exact: 33.3, 33.3 and 33.4 are 100
    if not rubric.profile.startswith("truthinsight") or total == TRUTHINSIGHT_TOTAL:
        return None
    return f"profile {rubric.profile!r} needs weights that add up to {TRUTHINSIGHT_TOTAL}, these give {float(total):g}"


def find_rubric(name: str, rootdir: Path, base: Path) -> Path:
    """The file of the rubric that `load_rubric` reads.

    Raises:
        SciagentError: there is none.
    """
    if name.endswith((".yaml", ".yml")) or "/" in name:
        path = base / name
        if not is_there(path):
            raise SciagentError("no such rubric file", path=path)
        return path
    folders = [
        rootdir / "rubrics",
        rootdir / "rubrics" / "induced",
        shipped_folder("rubrics"),
        shipped_folder("rubrics") / "induced",
    ]
    for folder in folders:
        path = folder / f"{name}.yaml"
        if is_there(path):
            return path
    known = sorted({p.stem for folder in folders for p in folder.glob("*.yaml")})
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known rubrics: {', '.join(known) or 'none'}"
    raise SciagentError(f"no rubric named {name!r}; {hint}")
