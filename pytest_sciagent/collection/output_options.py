"""Options about the files that a session leaves."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from .paths import enclosing_run


@dataclass(frozen=True, slots=True)
class Outputs:
    """What a session writes when all scores are known. None: not asked for.

    json: everything. html: the report for people. jsonl: a verdict a line. summary: Markdown. code_quality: for GitLab.
    otel: whether verdicts are sent as OpenTelemetry events.
    """

    json: Path | None = None
    html: Path | None = None
    jsonl: Path | None = None
    summary: Path | None = None
    code_quality: Path | None = None
    otel: bool = False


_FILES = {
    "json": "write all scores and verdicts as JSON",
    "html": "write a report for people: every criterion with its evidence and what would raise it. One file that needs "
    "no network; beyond some thousand criteria an index at PATH and a page a run in a folder beside it",
    "jsonl": "write the verdicts as JSON lines, one a line (schema sciagent-verdict/1)",
    "summary": "write a summary in GitHub-flavoured Markdown: gates, systems, what fell since the baseline, the "
    "costliest failing criteria; below 1 MiB",
    "code_quality": "write failing and half criteria as a code quality report of GitLab",
}
_OTEL = (
    "send each verdict as an OpenTelemetry event (gen_ai.evaluation.result): to the logger provider that is set, else "
    "by OTLP to where OTEL_EXPORTER_OTLP_ENDPOINT says (extra: pytest-sciagent[otel])"
)


def add_outputs(group: Any, parser: pytest.Parser) -> None:
    """Declare the options."""
    for name, text in _FILES.items():
        group.addoption(_option(name), default=None, metavar="PATH", help=text)
        parser.addini(f"sciagent_{name}", f"a file to write, as {_option(name)}", type="string")
    group.addoption("--sciagent-otel", action="store_true", default=False, help=_OTEL)
    parser.addini("sciagent_otel", "send verdicts as events, as --sciagent-otel", type="bool", default=False)


def read_outputs(config: pytest.Config) -> Outputs:
    """The outputs of this session.

    Raises:
        pytest.UsageError: a file can't be written where it is asked for.
    """
    files = {}
    for name in _FILES:
        given, set_ = config.getoption(f"sciagent_{name}"), str(config.getini(f"sciagent_{name}"))
        if given:
            files[name] = _new_file(config.invocation_params.dir, given, _option(name))
        elif set_:
            files[name] = _new_file(config.rootpath, set_, f"sciagent_{name}")
    otel = config.getoption("sciagent_otel") or config.getini("sciagent_otel")
    return Outputs(**files, otel=otel)


def _option(name: str) -> str:
    return f"--sciagent-{name.replace('_', '-')}"


def _new_file(base: Path, path: str, option: str) -> Path:
    """Where a file will be written: what can be told of it is told before the session, not after it."""
    file = Path(os.path.abspath(base / path))  # noqa: PTH100 - links are kept
    above = next(folder for folder in file.parents if folder.exists())
    if file.is_dir() or not above.is_dir() or not os.access(above, os.W_OK):
        raise pytest.UsageError(f"{option} {path}: a file can't be written there")
    run = enclosing_run(file.parent)
    if run is not None:
        raise pytest.UsageError(f"{option} {path}: lies in the frozen run {run}, which nothing may be added to")
    return file
