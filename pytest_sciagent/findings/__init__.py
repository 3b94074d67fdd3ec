"""The findings a report registers, and the artifacts each of them names."""

from __future__ import annotations

from dataclasses import replace

from ..runs import Run
from .compound import compound_signs
from .lookalikes import lookalikes
from .mentions import mentions_in, resolve_mentions
from .report import ParsedReport, parse_report, whole_report
from .run_files import RunFiles

__all__ = [
    "RULES",
    "ParsedReport",
    "compound_signs",
    "lookalikes",
    "parse_findings",
    "parse_report",
    "registered",
    "resolve_mentions",
    "whole_report",
]

RULES = "the rules of a report: sciagent task contract"
"""Told where a report has no finding."""


def registered(run: Run) -> ParsedReport:
    """The findings that the report of `run` registers, without the files that they name.

    A run without a report has none. Where the whole report is what is judged, it is the one finding.

    Raises:
        UnsafeFile: the report is not what was frozen.
    """
    parse = whole_report if run.manifest.unit == "report" else parse_report
    return parse(run.report_text or "")


def parse_findings(run: Run) -> ParsedReport:
    """As `registered`, with the frozen files that each finding names.

    Raises:
        UnsafeFile: the report is not what was frozen.
    """
    manifest, parsed = run.manifest, registered(run)
    artifacts = [entry.path for entry in manifest.files if entry.role != "log"]
    others = [entry.path for entry in run.with_role("log")]
    others += [*(manifest.inputs.before or ()), *(manifest.inputs.after or ())]
    files = RunFiles(artifacts, manifest.report or "", others)
    return replace(
        parsed,
        findings=tuple(
            finding.model_copy(update={"mentions": mentions_in(finding.section.text, files)})
            for finding in parsed.findings
        ),
        files=files,
    )
