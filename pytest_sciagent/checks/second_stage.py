"""A second stage: what its times and its hold-out say, which nobody in the run can have invented."""

from __future__ import annotations

from pydantic import JsonValue

from .base import CheckContext, CheckResult


def stage_facts(context: CheckContext) -> CheckResult | None:
    """4.4: when the hold-out was handed out, and which files have changed since; None for a run of one stage."""
    stage = context.run.manifest.stage
    if stage is None:
        return None
    changed = [
        p for p, digest in stage.first.items() if p in context.run.files and context.run.files[p].sha256 != digest
    ]
    new = [path for path in context.run.files if path.startswith("output/") and path not in stage.first]
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
