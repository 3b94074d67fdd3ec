"""Options about how a judge is asked: what, how many criteria in a prompt, at once or by batch, in which words."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from .declared import Option, Values

DEFAULT_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """How a judge is asked.

    layout: None where the user did not say.
    templates: the folder of the user's own.
    timeout_s: seconds for one attempt to get an answer.
    dask: the cluster whose workers ask. dask_scripts: the one whose workers run the tasks' verification scripts.
    """

    layout: str | None = None
    batch: bool = False
    templates: Path | None = None
    timeout_s: float = DEFAULT_TIMEOUT_S
    dask: str | None = None
    dask_scripts: str | None = None


HOW = (
    Option(
        "canary",
        "flag",
        "ask one more question a finding, which nothing can meet: a judge that gives credit for it obeys the "
        "material, and none of its levels for that finding counts",
    ),
    Option(
        "images",
        "flag",
        "send judges that see the figures that a finding names or speaks of by number (PNG, JPEG and SVG, at most 8); "
        "answers given with figures are recorded apart from those without",
    ),
    Option(
        "layout",
        "text",
        "how many criteria of a finding one prompt asks: item (one, the default), group:N, or finding (all that "
        "are open). Several in one prompt cost less, but are not judged independently of each other. Verdicts of "
        "different layouts are those of different judges",
        "LAYOUT",
    ),
    Option(
        "batch",
        "flag",
        "hand the open questions to the provider's batch API, at half its price, and go on without their "
        "answers: those criteria are not assessed. The next session that names the judge, or `sciagent batch collect`, "
        "takes the answers in. Judges of kind openai and anthropic",
    ),
    Option(
        "templates",
        "text",
        "prompt templates of your own: DIR/criterion.j2 replaces the package's template of that name. Answers "
        "to other words have other ledger keys",
        "DIR",
    ),
    Option(
        "timeout",
        "number",
        f"how many seconds one attempt to get an answer from a judge may take (default {DEFAULT_TIMEOUT_S:g}); a "
        "question whose attempts all take longer is an error, and open again in the next session",
        "SECONDS",
    ),
    Option(
        "dask",
        "text",
        "let the workers of a Dask cluster ask the judge: the scheduler's address (tcp://HOST:8786), or the file "
        "that it has written it to. Only this process records the answers. Needs pytest-sciagent[dask] here and on "
        "the workers, which have the judge's key in their own environment",
        "ADDRESS",
    ),
    Option(
        "dask_scripts",
        "text",
        "let the workers of a Dask cluster run the verification scripts of tasks, before the items run: the address of "
        "the scheduler, or its file. They are sent the scripts, which belong to the hidden half of a task: no agent "
        "may work there. Needs pytest-sciagent[dask], and the same Python and packages on the workers",
        "ADDRESS",
    ),
)


def read_judge_options(given: Values) -> JudgeOptions:
    """How the judge of this session is asked.

    Raises:
        pytest.UsageError: no such folder, a time that is none, or a batch by a cluster.
    """
    batch, cluster = given.flag("batch"), given.text("dask")
    if cluster and batch:
        raise pytest.UsageError("--sciagent-dask and --sciagent-batch exclude each other: a batch needs no workers")
    return JudgeOptions(
        layout=given.text("layout"),
        batch=batch,
        templates=next(iter(given.folders("templates")), None),
        timeout_s=given.number("timeout") or DEFAULT_TIMEOUT_S,
        dask=cluster,
        dask_scripts=given.text("dask_scripts"),
    )
