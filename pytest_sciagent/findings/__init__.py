"""The findings a report registers, and the artifacts each of them names."""

from __future__ import annotations

from dataclasses import replace

from ..models import Mention
from ..runs import Run
from .mentions import mentions_in, resolve_mentions
from .report import ParsedReport, parse_report
from .run_files import RunFiles

__all__ = ["ParsedReport", "parse_findings", "parse_report", "resolve_mentions"]


def parse_findings(run: Run) -> ParsedReport:
    """The findings that the report of `run` registers, with the frozen files each of them names.

    A run without a report has none.

    Raises:
        UnsafeFile: the report is not what was frozen.
    """
    parsed = parse_report(run.report_text or "")
    files = RunFiles([entry.path for entry in run.manifest.files if entry.role != "log"], run.manifest.report or "")
    inputs = {
        _base(path) for hashes in (run.manifest.inputs.before, run.manifest.inputs.after) for path in hashes or ()
    }

    def mentions(text: str) -> tuple[Mention, ...]:
        return tuple(m for m in mentions_in(text, files) if m.paths or _base(m.text) not in inputs)

    return replace(
        parsed,
        findings=tuple(f.model_copy(update={"mentions": mentions(f.section.text)}) for f in parsed.findings),
        shared_mentions=mentions("\n\n".join(section.text for section in parsed.shared)),
    )


def _base(path: str) -> str:
    return path.rpartition("/")[2]
