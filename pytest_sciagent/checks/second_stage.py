"""A second stage: what its times and its hold-out say, which nobody in the run can have invented.

The first stage was frozen and its hashes recorded before the hold-out was handed out. So a rule in a file that has not
changed since is from before, whatever time it gives itself; and a hold-out can't have been opened earlier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from ..models import Stage
from ..runs import Run
from .base import CheckContext, CheckResult
from .scope import Result, Stored
from .sets import Overlap
from .times import Event, Moment, moment


@dataclass(frozen=True)
class Released:
    """The hold-out of a second stage, and the first `result` of a finding that was written since it was handed out."""

    stage: Stage
    run: Run
    result: Result

    @property
    def overlap(self) -> Overlap:
        """How many rows of the hold-out stand in the task's data, as counted when it was handed out."""
        stored = Stored(self.result, "the hold-out of the second stage", "holdout", len(self.stage.holdout))
        return Overlap(self.stage.shared_rows, "rows, counted when the hold-out was handed out", stored)

    def events(self, found: Sequence[Event]) -> list[Event]:
        """The times of a finding's records, as far as the two stages bear them out."""
        checked, released = moment(self.stage.checked_at), moment(self.stage.released_at)
        if checked is None or released is None:
            return list(found)
        fixed = [event for event in found if event.role == "fixed"]
        told = "frozen with the first stage"
        frozen = [
            replace(event, moment=checked, where=f"{event.where}, {told}", weak=False, certain=True)
            for event in fixed
            if self.stage.holds(event.path, self.run.files[event.path].sha256)
        ]
        late = [replace(event, moment=_later(event.moment, released)) for event in fixed]
        opened = Event("opened", released, self.result.path, "hold-out handed out", result=self.result, certain=True)
        return [*(frozen or late), opened, *(event for event in found if event.role == "final")]


def _later(one: Moment, other: Moment) -> Moment:
    return one if one.start > other.start else other


def stage_facts(context: CheckContext) -> CheckResult | None:
    """4.4: when the hold-out was handed out, and which files have changed since; None for a run of one stage."""
    stage = context.run.manifest.stage
    if stage is None:
        return None
    files = context.run.files
    changed = [path for path, digest in stage.first.items() if path not in files or files[path].sha256 != digest]
    new = [path for path in files if path.startswith("output/") and path not in stage.first]
    facts: dict[str, JsonValue] = {
        "second_stage": {
            "first_stage_frozen_by": stage.checked_at,
            "holdout_released_at": stage.released_at,
            "holdout_rows_shared_with_the_data": stage.shared_rows,
            "files_changed_since": list(changed[:20]),
            "files_added_since": list(new[:20]),
        }
    }
    return CheckResult("facts", "The run had a second stage.", "second_stage", facts=facts)
