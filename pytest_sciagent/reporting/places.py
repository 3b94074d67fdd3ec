"""Where in the user's repository a criterion stands, so that a finding of a review can be shown beside its text."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import SciagentError
from ..rubrics import DEFAULT_RUBRIC, find_rubric


class Places:
    """The criteria of the rubric files that lie below `root`; `names` as given by --sciagent-rubric, from `base` on."""

    def __init__(self, names: Sequence[str], root: Path, base: Path) -> None:
        self._root = root
        self._lines: dict[str, tuple[str, int]] = {}
        for name in names or (DEFAULT_RUBRIC,):
            self._read(name, base)

    def of(self, criterion_id: str) -> tuple[str, int] | None:
        """Path from the root and line (from 1) of a criterion; None where its rubric is not one of the repository."""
        return self._lines.get(criterion_id)

    def _read(self, name: str, base: Path) -> None:
        try:
            path = Path(os.path.abspath(find_rubric(name, self._root, base)))  # noqa: PTH100 - links are kept
        except SciagentError:
            return
        if path.is_relative_to(self._root):
            shown = path.relative_to(self._root).as_posix()
            for id, line in _lines(path):
                self._lines.setdefault(id, (shown, line))


def _lines(path: Path) -> Iterator[tuple[str, int]]:
    """The ids in a rubric file with their lines; nothing where it is no such file."""
    import yaml

    try:
        tree = yaml.compose(path.read_text("utf-8"), Loader=yaml.SafeLoader)
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return
    for node in _values(tree, "criteria"):
        for item in node.value if isinstance(node, yaml.SequenceNode) else ():
            for id in _values(item, "id"):
                yield str(id.value), id.start_mark.line + 1


def _values(node: object, key: str) -> Iterator[Any]:
    import yaml

    if isinstance(node, yaml.MappingNode):
        yield from (value for name, value in node.value if name.value == key)
