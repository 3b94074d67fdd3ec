"""Verdicts as OpenTelemetry events, by the semantic conventions for generative AI (`gen_ai.evaluation.result`)."""

from __future__ import annotations

import time
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from ..extras import need
from .junit import level_name
from .records import VerdictRecord, verdict_records
from .results import Results
from .words import Words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry._logs import LoggerProvider

EVENT = "gen_ai.evaluation.result"
SCOPE = "pytest-sciagent"
MAX_EXPLANATION = 1000


def check_otel() -> None:
    """Raises SciagentError where the packages that send events are not installed."""
    need("otel", "--sciagent-otel")


def send_events(results: Results, words: Words) -> None:
    """Send an event for each verdict, and wait until all are sent.

    They go to the logger provider that the process has set (by a conftest file or an agent of OpenTelemetry), else by
    OTLP over HTTP to where the standard variables (`OTEL_EXPORTER_OTLP_ENDPOINT`, ...) say.
    """
    from opentelemetry._logs import SeverityNumber

    with _provider() as provider:
        logger = provider.get_logger(SCOPE, version("pytest-sciagent"))
        for record in verdict_records(results):
            logger.emit(
                timestamp=time.time_ns(),
                severity_number=SeverityNumber.INFO,
                event_name=EVENT,
                attributes=event_attributes(record, words),
            )


def event_attributes(record: VerdictRecord, words: Words) -> dict[str, Any]:
    """The attributes of one event. A verdict without a level has no score value: a failure is never a score."""
    verdict, index = record.verdict, record.run.index
    attributes: dict[str, Any] = {
        "gen_ai.evaluation.name": verdict.criterion_id,
        "gen_ai.evaluation.score.label": level_name(verdict),
        "gen_ai.evaluation.explanation": words.line(verdict.reason, MAX_EXPLANATION),
        "sciagent.run": index.label,
        "sciagent.system": index.system,
        "sciagent.task": index.task_id,
        "sciagent.status": verdict.status,
    }
    if verdict.level is not None:
        attributes["gen_ai.evaluation.score.value"] = verdict.level
    if verdict.is_error:
        attributes["error.type"] = verdict.status
    if verdict.finding is not None:
        attributes["sciagent.finding"] = verdict.finding
    if record.criterion is not None:
        attributes["sciagent.dimension"] = record.criterion.dimension
        attributes["sciagent.weight"] = record.criterion.weight
    if verdict.judge is not None:
        attributes["sciagent.judge"] = words.line(verdict.judge.label, MAX_EXPLANATION)
    return attributes


@contextmanager
def _provider() -> Iterator[LoggerProvider]:
    from opentelemetry._logs import get_logger_provider
    from opentelemetry.sdk._logs import LoggerProvider as Provider

    given = get_logger_provider()
    if isinstance(given, Provider):
        yield given
        given.force_flush()
        return
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

    own = Provider()
    # The queue holds all of a large session: what does not fit into it is dropped without a word.
    own.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter(), max_queue_size=1_000_000))
    try:
        yield own
    finally:
        own.shutdown()
