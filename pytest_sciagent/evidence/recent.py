"""What was used last is kept in memory, up to a weight; the rest is made again when it is needed again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Values by key: those used last, up to `limit` bytes as `weigh` tells them, and at least the last one."""

    def __init__(self, limit: int, weigh: Callable[[V], int]) -> None:
        self._limit = limit
        self._weigh = weigh
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._weight = 0

    def get(self, key: K) -> V | None:
        """The value of `key`; None where it is not kept."""
        found = self._kept.get(key)
        if found is None:
            return None
        self._kept.move_to_end(key)
        return found[0]

    def put(self, key: K, value: V) -> V:
        """Keep `value`, which is returned."""
        weight = self._weigh(value)
        self._weight += weight - self._kept.pop(key, (value, 0))[1]
        self._kept[key] = (value, weight)
        while self._weight > self._limit and len(self._kept) > 1:
            self._weight -= self._kept.popitem(last=False)[1][1]
        return value
