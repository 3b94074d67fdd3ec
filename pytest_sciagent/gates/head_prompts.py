"""Whether runs were made with the prompts that are there now: a run of other prompts says nothing about these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..digest import sha256_bytes
from ..errors import SciagentError
from ..runs import Run, UnsafeFile
from ..runs.files import read_file
from ..text import one_line
from .decision import Decision

if TYPE_CHECKING:
    from ..collection.index import RunIndex
    from ..reporting.results import Results

MAX_PROMPT_BYTES = 10_000_000
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class HeadPrompts:
    """Runs that are not of the head, one sentence each. No gate is decided by a session that has one."""

    folder: str
    problems: tuple[str, ...]

    def decide(self, results: Results) -> Decision:
        """Inconclusive, always: there is no such gate where every run is of the head."""
        return Decision("inconclusive", f"every run is made with the prompts in {self.folder}", self.problems)

    @property
    def reason(self) -> str:
        """The first problem, and how many more there are."""
        more = f", and {len(self.problems) - 1} more" if len(self.problems) > 1 else ""
        return f"{self.problems[0]}{more}"


def head_prompts(
    runs: Iterable[RunIndex],
    folder: Path,
    shown: str,
    changed: Sequence[Path],
    handed_out: Callable[[str], Mapping[str, str]],
) -> HeadPrompts | None:
    """Compare the prompts that `runs` record (path and SHA-256) with the files in `folder`.

    Recorded paths count from `folder`. What this program itself hands out with a task (`handed_out`: from the task's id
    to names and SHA-256) is no prompt of a system, and is of the head as long as it is unchanged. Of the `changed`
    files each must be among the recorded prompts of some run.

    Returns:
        None if every run is of the head.

    Raises:
        SciagentError: a changed file can't be read.
    """
    recorded: set[str] = set()
    problems = []
    for index in runs:
        if index.state == "tampered":
            continue  # an error in itself, and no gate is decided over it
        ours = handed_out(index.task_id).items()
        prompts = dict(Run.load(Path(index.path)).manifest.system.prompts.items() - ours)
        recorded |= set(prompts.values())
        if not prompts:
            problems.append(f"{index.label} records no prompt of its system")
        problems += [
            f"{index.label} {said}" for path in sorted(prompts) if (said := _difference(folder, path, prompts[path]))
        ]
    for file in changed:
        try:
            digest = sha256_bytes(file.read_bytes())
        except OSError as error:
            raise SciagentError(f"the changed prompt can't be read: {error.strerror}", path=file) from None
        if digest not in recorded:
            problems.append(f"no run is made with the changed prompt {one_line(file.name, 80)}")
    return HeadPrompts(shown, tuple(problems)) if problems else None


def _difference(folder: Path, path: str, digest: str) -> str | None:
    name = one_line(path, 80)
    try:
        now = sha256_bytes(read_file(folder, path, MAX_PROMPT_BYTES))
    except (UnsafeFile, OSError):
        return f"is made with {name}, which can't be read there (any more)"
    if now == digest:
        return None
    return f"is made with another {name} ({digest[:_SHOWN]}, it is {now[:_SHOWN]} now)"
