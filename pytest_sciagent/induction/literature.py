"""Stage 2: what the literature says about meeting the goals."""

from __future__ import annotations

from .asking import Desk
from .states import Literature, Skeleton, digest_of

NOTHING = "nothing was searched: the task has no literature/ folder, and no provider was named"


def ground(desk: Desk, skeleton: Skeleton) -> Literature:
    """The literature state of a skeleton."""
    return Literature(task_id=desk.task_id, inputs=digest_of(skeleton), note=NOTHING)
