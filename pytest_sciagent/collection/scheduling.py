"""Scheduling under xdist: a whole task-system pair goes to one worker, largest first."""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

from ..runs.run import MANIFEST


class RunScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """xdist's own scope scheduling, with the run as scope for criteria and the file for other tests."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.split("::", 1)[0]
        if path.rsplit("/", 1)[-1] == MANIFEST:
            return path
        return str(super()._split_scope(nodeid))
