"""Scheduling under xdist: a whole task-system pair goes to one worker, largest first."""

from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadScopeScheduling

from ..layout import MANIFEST


class RunScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """xdist's own scope scheduling, with the run as scope for criteria and the file for other tests.

    Three things differ: finished runs are forgotten, so that the cost of a finished item does not grow; of a crashed
    worker only what it had not begun goes to another, so that the item that crashed it is not run again; and a worker
    that takes the place of a crashed one gets nothing before it has collected.
    """

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.split("::", 1)[0]
        if path.rsplit("/", 1)[-1] == MANIFEST:
            return path
        return str(super()._split_scope(nodeid))

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        super().mark_test_complete(node, item_index, duration)
        work = self.assigned_work[node]
        scope = self._split_scope(self.registered_collections[node][item_index])
        if scope in work and all(work[scope].values()):
            del work[scope]

    def _reschedule(self, node: Any) -> None:
        if node in self.registered_collections:
            super()._reschedule(node)

    def remove_node(self, node: Any) -> str | None:
        work = self.assigned_work[node]
        for scope, items in work.items():
            for nodeid, completed in items.items():
                if not completed:
                    items[nodeid] = True
                    if all(items.values()):
                        del work[scope]
                    super().remove_node(node)
                    return str(nodeid)
        super().remove_node(node)
        return None
