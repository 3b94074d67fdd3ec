"""Options about how a judge is asked: what, how many criteria in a prompt, at once or by batch, in which words."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

DEFAULT_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """How a judge is asked.

    layout: None where the user did not say.
    templates: the folder of the user's own.
    timeout_s: seconds for one attempt to get an answer.
    dask: the cluster whose workers ask.
    """

    layout: str | None = None
    batch: bool = False
    templates: Path | None = None
    timeout_s: float = DEFAULT_TIMEOUT_S
    dask: str | None = None


def add_judge_options(group: Any, parser: pytest.Parser) -> None:
    """Declare the options and their ini twins."""
    add = group.addoption
    add(
        "--sciagent-canary",
        action="store_true",
        default=False,
        help="ask one more question a finding, which nothing can meet: a judge that gives credit for it obeys the "
        "material, and none of its levels for that finding counts",
    )
    add(
        "--sciagent-images",
        action="store_true",
        default=False,
        help="send judges that see the figures that a finding names or speaks of by number (PNG and JPEG, at most 8); "
        "answers given with figures are recorded apart from those without",
    )
    add(
        "--sciagent-layout",
        default=None,
        metavar="LAYOUT",
        help="how many criteria of a finding one prompt asks: item (one, the default), group:N, or finding (all that "
        "are open). Several in one prompt cost less, but are not judged independently of each other. Verdicts of "
        "different layouts are those of different judges",
    )
    add(
        "--sciagent-batch",
        action="store_true",
        default=None,
        help="hand the open questions to the provider's batch API, at half its price, and go on without their "
        "answers: those criteria are not assessed. The next session that names the judge, or `sciagent batch collect`, "
        "takes the answers in. Judges of kind openai and anthropic",
    )
    add(
        "--sciagent-templates",
        default=None,
        metavar="DIR",
        help="prompt templates of your own: DIR/criterion.j2 replaces the package's template of that name. Answers "
        "to other words have other ledger keys",
    )
    add(
        "--sciagent-timeout",
        default=None,
        metavar="SECONDS",
        help=f"how long one attempt to get an answer from a judge may take (default {DEFAULT_TIMEOUT_S:g}); a question "
        "whose attempts all take longer is an error, and open again in the next session",
    )
    parser.addini("sciagent_timeout", "seconds for an answer, as --sciagent-timeout", type="string")
    add(
        "--sciagent-dask",
        default=None,
        metavar="ADDRESS",
        help="let the workers of a Dask cluster ask the judge: the scheduler's address (tcp://HOST:8786), or the file "
        "that it has written it to. Only this process records the answers. Needs pytest-sciagent[dask] here and on "
        "the workers, which have the judge's key in their own environment",
    )
    parser.addini("sciagent_dask", "Dask cluster, as --sciagent-dask", type="string")
    parser.addini("sciagent_layout", "layout, as --sciagent-layout", type="string")
    parser.addini("sciagent_batch", "ask by batch, as --sciagent-batch", type="bool", default=False)
    parser.addini("sciagent_templates", "folder of prompt templates, as --sciagent-templates", type="string")


def read_judge_options(config: pytest.Config, base: Path) -> JudgeOptions:
    """How the judge of this session is asked.

    Raises:
        pytest.UsageError: no such folder, a time that is none, or a batch by a cluster.
    """
    given = config.getoption
    batch = given("sciagent_batch")
    templates, told = given("sciagent_templates"), str(config.getini("sciagent_templates"))
    cluster = given("sciagent_dask") or str(config.getini("sciagent_dask")) or None
    batch = bool(config.getini("sciagent_batch")) if batch is None else batch
    if cluster and batch:
        raise pytest.UsageError("--sciagent-dask and --sciagent-batch exclude each other: a batch needs no workers")
    folder = _folder(base / templates, "--sciagent-templates") if templates else None
    if folder is None and told:
        folder = _folder(config.rootpath / told, "sciagent_templates")
    return JudgeOptions(
        layout=given("sciagent_layout") or str(config.getini("sciagent_layout")) or None,
        batch=batch,
        templates=folder,
        timeout_s=_seconds(given("sciagent_timeout") or str(config.getini("sciagent_timeout"))),
        dask=cluster,
    )


def _seconds(text: str) -> float:
    if not text:
        return DEFAULT_TIMEOUT_S
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise pytest.UsageError(f"--sciagent-timeout {text}: a number of seconds above 0, such as 120")
    return seconds


def _folder(path: Path, option: str) -> Path:
    if not path.is_dir():
        raise pytest.UsageError(f"{option} {path}: no such folder")
    return Path(os.path.abspath(path))  # noqa: PTH100
