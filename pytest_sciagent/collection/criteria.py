"""The rubrics of a session: read, given the profile that the user chose, and checked against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..errors import SciagentError
from ..models import Rubric
from ..profile_names import PROFILES
from ..rubrics import DEFAULT_RUBRIC, load_rubric, with_profile
from .options import Options

if TYPE_CHECKING:
    from pathlib import Path


def read_rubrics(more: Sequence[Rubric | Path | str], options: Options) -> tuple[Rubric, ...]:
    """The rubrics of `options` (the default one where none is named), and `more` that plugins bring.

    Raises:
        SciagentError: an unknown or invalid rubric, or one that the chosen profile can't add up.
    """
    rubrics = []
    for name in (*(options.rubrics or (DEFAULT_RUBRIC,)), *more):
        rubric = name if isinstance(name, Rubric) else load_rubric(str(name), options.rootdir, options.base)
        rubric = with_profile(rubric, options.profile or rubric.profile)
        if rubric.profile not in PROFILES:
            raise SciagentError(
                f"rubric {rubric.id!r}: profile {rubric.profile!r} is not available yet; "
                f"choose from {', '.join(PROFILES)} with --sciagent-profile"
            )
        rubrics.append(rubric)
    return tuple(rubrics)


def check_rubrics(rubrics: Sequence[Rubric], find_check: Callable[[str], object]) -> None:
    """Check that rubrics can stand beside each other in one session.

    Raises:
        SciagentError: an unknown check, a question about a run for a judge, or one id in two rubrics.
    """
    owner: dict[str, str] = {}
    for rubric in rubrics:
        if sum(other.id == rubric.id for other in rubrics) > 1:
            raise SciagentError(f"two rubrics are called {rubric.id!r}")
        for criterion in rubric.criteria:
            if criterion.check is not None:
                find_check(criterion.check)
            if criterion.scope == "run" and criterion.judge:
                raise SciagentError(
                    f"rubric {rubric.id!r}: criterion {criterion.id!r} of scope 'run' can't be asked of a judge; "
                    "give it a check, or scope 'finding'"
                )
            other = owner.setdefault(criterion.id, rubric.id)
            if other != rubric.id:
                raise SciagentError(f"criterion id {criterion.id!r} stands in two rubrics: {other} and {rubric.id}")
