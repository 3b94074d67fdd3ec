"""The source files of a run: which of them name a file, and which modules of its own a source imports."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, partial
from pathlib import PurePosixPath

from ..evidence.artifacts import Artifacts
from ..evidence.readers import Unreadable
from ..runs import UnsafeFile
from .code import Source, Spot, Text, Use
from .flow import Flow, Step, steps_of
from .notebooks import notebook_source
from .reach import used_names

MAX_SOURCES = 500
MAX_CODE_BYTES = 5_000_000
CODE_ROLES = ("analysis_source", "notebook")


class RunCode:
    """All source files of one run, parsed on first use and kept."""

    def __init__(self, artifacts: Artifacts) -> None:
        self._artifacts = artifacts
        self._paths = [entry.path for entry in artifacts.run.with_role(*CODE_ROLES)][:MAX_SOURCES]
        self._sources: dict[str, Source] = {}
        self._steps: dict[str, list[Step]] = {}
        self._flows: dict[tuple[frozenset[str], bool], Flow] = {}
        self._mentions: dict[str, list[tuple[Source, Use, Spot]]] = {}

    def source(self, path: str) -> Source:
        """The source at `path`; without text where it can't be read."""
        if path not in self._sources:
            try:
                data = self._artifacts.run.read_bytes(path, MAX_CODE_BYTES)
                text = notebook_source(data) if path.endswith(".ipynb") else data.decode("utf-8-sig", "replace")
            except (UnsafeFile, Unreadable):
                text = ""
            text = text.replace("\r\n", "\n").replace("\r", "\n")
            self._sources[path] = Source(path, text, partial(self._is_used_beside, path))
        return self._sources[path]

    def flow(self, sources: Iterable[Source], prints_count: bool) -> Flow:
        """What in these sources has a part in what they write; see `Flow`."""
        key = (frozenset(source.path for source in sources if source.is_python), prints_count)
        if key not in self._flows:
            paths = sorted(key[0])
            self._steps |= {path: list(steps_of(self.source(path))) for path in paths if path not in self._steps}
            self._flows[key] = Flow([step for path in paths for step in self._steps[path]], prints_count)
        return self._flows[key]

    @cached_property
    def _names(self) -> dict[str, frozenset[str]]:
        """All names that each source in Python uses."""
        trees = {path: self.source(path).tree for path in self._paths}
        return {path: used_names(tree) for path, tree in trees.items() if tree is not None}

    def _is_used_beside(self, path: str, name: str) -> bool:
        return any(name in names for other, names in self._names.items() if other != path)

    @cached_property
    def _file_names(self) -> list[tuple[Source, Text]]:
        """Strings that look like a file's name: with a full stop."""
        return [
            (source, text)
            for source in map(self.source, self._paths)
            for text in source.strings
            if any("." in part for part in text.parts if part is not None)
        ]

    def mentions(self, name: str) -> list[tuple[Source, Use, Spot]]:
        """The sources whose strings name the file `name` (no folders), how they use it, and where."""
        if name not in self._mentions:
            found: dict[tuple[str, str], tuple[Source, Use, Spot]] = {}
            for source, text in self._file_names:
                if text.names_file(name):
                    spot = source.spot_at(text.line, f"names {name}", text.column)
                    found.setdefault((source.path, text.use), (source, text.use, spot))
            self._mentions[name] = list(found.values())
        return self._mentions[name]

    def helpers(self, source: Source) -> list[Source]:
        """The run's own modules that `source` imports."""
        folder = PurePosixPath(source.path).parent
        found = []
        for module in sorted(source.modules) if source.is_python else ():
            inner = module.replace(".", "/")
            near = [str(folder / f"{inner}.py"), str(folder / inner / "__init__.py")]
            ends = [p for p in self._paths if p.endswith((f"/{inner}.py", f"/{inner}/__init__.py"))]
            path = next((p for p in near if p in self._paths), ends[0] if len(ends) == 1 else None)
            if path is not None and path != source.path:
                found.append(self.source(path))
        return found
