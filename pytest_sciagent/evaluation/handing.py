"""Questions of runs handed out, each line with what tells people and programs which one it is."""

from __future__ import annotations

from collections.abc import Iterable

from ..judging.handoff import About, export_lines
from ..judging.requests import Request
from ..models import JudgeIdentity
from .case import Case


def run_code(case: Case) -> str:
    """What stands for a run where its system must not be told: the first digits of the digest of its files."""
    return case.run.manifest.tree_sha256[:12]


def handed_out(case: Case, requests: Iterable[Request], judge: JudgeIdentity) -> list[str]:
    """The lines of an export with `requests` of a run; they name neither its system nor any level."""
    titles = {finding.id: finding.title for finding in case.report.findings}
    return list(export_lines(list(requests), judge, About(run_code(case), case.run.manifest.task_id, titles)))
