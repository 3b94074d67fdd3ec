"""Reading the field: tasks, runs, rubrics, results and labels of other benchmarks, turned into ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from ..errors import SciagentError
from ..text import one_line
from .foreign import Folder, survey
from .gathering import KINDS, SUMMARY, Gathering, Kind, Loaded, Refused

AUTO = "auto"


class NothingHere(SciagentError):
    """A folder that holds nothing of the format."""


@dataclass(frozen=True, slots=True)
class Format:
    """One format: its name, what people call it, and the module that reads it (`recognises` and `bring_in`)."""

    name: str
    title: str
    module: str

    def recognises(self, folders: Sequence[Folder]) -> bool:
        """Whether anything of this format is among `folders`."""
        found: bool = import_module(self.module, __name__).recognises(folders)
        return found

    def bring_in(self, folders: Sequence[Folder], into: Gathering) -> None:
        """Import all of this format among `folders`."""
        import_module(self.module, __name__).bring_in(folders, into)


FORMATS: tuple[Format, ...] = (
    Format("truthinsightbench", "TruthInsightBench", ".truthinsight"),
    Format("researchclawbench", "ResearchClawBench", ".researchclaw"),
    Format("astabench", "AstaBench End-to-End Discovery", ".astabench"),
    Format("mlrbench", "MLR-Bench", ".mlrbench"),
    Format("paperbench", "PaperBench", ".paperbench"),
    Format("codescientist", "CodeScientist", ".codescientist"),
)


def recognise(source: Path) -> tuple[Format, ...]:
    """The formats of what lies in the folder `source`.

    Raises:
        SciagentError: no folder, or one too large to be looked through.
    """
    folders = list(survey(_folder(source), []))
    return tuple(format for format in FORMATS if format.recognises(folders))


def bring_in(name: str, source: Path, into: Gathering) -> tuple[Format, ...]:
    """Import what is in the folder `source` by the format called `name` (`auto`: by every format that is recognised).

    Raises:
        SciagentError: no such folder or format.
        NothingHere: nothing in it is of that format.
    """
    folders = list(survey(_folder(source), into.notes))
    known = {format.name: format for format in FORMATS}
    if name != AUTO and name not in known:
        raise SciagentError(f"no format {name!r}; choose from {', '.join([AUTO, *known])}")
    chosen = [f for f in FORMATS if f.recognises(folders)] if name == AUTO else [known[name]]
    for format in chosen:
        format.bring_in(folders, into)
    into.complete = True
    if not into.loaded and not into.refused:
        told = "of any known format" if name == AUTO else f"of the format {name}"
        why = f" ({one_line(into.notes[0], 300)})" if into.notes else ""
        raise NothingHere(f"nothing here is {told}{why}; known: {', '.join(known)}", path=source)
    return tuple(chosen)


def _folder(source: Path) -> Path:
    if not source.is_dir():
        raise SciagentError("there is no such folder", path=source)
    return source


def account(into: Gathering, *, quiet: bool = False) -> Iterator[str]:
    """What came in and what did not, line by line, for people."""
    for kind, (came, stayed) in into.counts().items():
        yield f"  {kind:<8} {came:>4} in" + (f", {stayed} refused" if stayed else "")
    if not quiet:
        for thing in into.loaded:
            yield f"{thing.kind} {thing.name}" + (f": {'; '.join(thing.notes)}" if thing.notes else "")
        yield from (f"note: {one_line(note, 300)}" for note in into.notes)
    for refusal in into.refused:
        yield f"refused: {refusal.kind} {refusal.name}: {refusal.file}: {refusal.reason}"


__all__ = [
    "AUTO",
    "FORMATS",
    "KINDS",
    "SUMMARY",
    "Format",
    "Gathering",
    "Kind",
    "Loaded",
    "NothingHere",
    "Refused",
    "account",
    "bring_in",
    "recognise",
]
