"""What `score`, `judge` and `compare` give: typed, as tables, as JSON, and as a notebook shows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..errors import SciagentError
from ..models import Rubric
from ..models.results import ResultsFile, RunScored, SystemScore
from ..reporting.cohort import CohortRun, cohort_table
from ..reporting.comparison_json import comparison_as_json
from ..reporting.comparison_results import Comparison, PairSummary
from ..reporting.comparison_text import comparison_text
from ..reporting.json_file import results_as_json
from ..reporting.records import verdict_records
from ..reporting.results import Results
from ..text import counted
from .show import as_table_html, as_text_html

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Scores:
    """Runs, scored. Scores are points of 0 to 100, from `low` to `high`: equal where everything is assessed.

    `rubric` and `judge_name` tell how they came about. A notebook shows systems and runs as tables.
    """

    rubric: Rubric
    judge_name: str | None
    _results: Results
    _scored: tuple[CohortRun, ...] = field(repr=False)

    @cached_property
    def file(self) -> ResultsFile:
        """All of it, typed: what `--sciagent-json` writes (schema `sciagent-results/1`)."""
        return ResultsFile.model_validate(self.as_json())

    @property
    def systems(self) -> tuple[SystemScore, ...]:
        """The systems by name, each with the mean over its tasks."""
        return self.file.systems

    @property
    def runs(self) -> tuple[RunScored, ...]:
        """The runs in the order of their places, each with its findings and verdicts."""
        return self.file.runs

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know about how the runs were scored."""
        return self.file.notes

    def run(self, label: str) -> RunScored:
        """The run called `label`: `system/task`, with `.rN` for a repeat.

        Raises:
            SciagentError: there is none.
        """
        for run in self.runs:
            if run.label == label:
                return run
        raise SciagentError(f"no run {label!r} here; there are {', '.join(run.label for run in self.runs)}")

    def as_json(self) -> dict[str, Any]:
        """All of it as plain data (schema `sciagent-results/1`)."""
        return results_as_json(self._results)

    def table(self) -> pd.DataFrame:
        """A row for each run of a system on a task: what `sciagent compare --csv` writes."""
        return cohort_table(self._scored, self.rubric, self.judge_name, self._results.believed)

    def verdicts(self) -> pd.DataFrame:
        """A row for each verdict: run, finding, criterion, dimension, status, level, the points that it takes from the
        finding's score at least (`lost`), reason, and the first citation that code has found."""
        import pandas as pd

        return pd.DataFrame(list(self._rows()), columns=_COLUMNS)

    def _rows(self) -> Iterator[tuple[object, ...]]:
        for record in verdict_records(self._results):
            verdict, criterion = record.verdict, record.criterion
            cited = next((citation for citation in verdict.citations if citation.verified), None)
            yield (
                record.run.index.label,
                verdict.finding,
                verdict.criterion_id,
                criterion.dimension if criterion is not None else None,
                verdict.status,
                verdict.level,
                float(record.lost),
                verdict.reason,
                cited.file if cited is not None else None,
                cited.quote if cited is not None else None,
            )

    def __repr__(self) -> str:
        told = ", ".join(f"{s.name} {s.score.show()}" for s in self._results.systems)
        return f"<Scores of {counted(len(self._results.runs), 'run')}: {told or 'no run has a score'}>"

    def _repr_html_(self) -> str:
        results = self._results
        by = f"rubric {self.rubric.id} {self.rubric.version} ({self.rubric.profile}), judge {self.judge_name or 'none'}"
        systems = [(s.name, s.score.show(), s.tasks) for s in results.systems]
        runs = [
            (
                run.index.label,
                run.index.state,
                "-" if run.total is None else run.total.show(),
                len(run.findings),
                f"{float(run.assessed):.0%}",
            )
            for run in results.runs
        ]
        return (
            as_table_html("Systems: mean over tasks", ("system", "score", "tasks"), systems)
            + as_table_html(f"Runs, by {by}", ("run", "state", "score", "findings", "assessed"), runs)
            + "".join(as_text_html(note) for note in (results.believed.sentence, *results.notes))
        )


_COLUMNS = ["run", "finding", "criterion", "dimension", "status", "level", "lost", "reason", "file", "quote"]


@dataclass(frozen=True, repr=False)
class Compared:
    """Systems compared, at the low and at the high ends of their scores. A notebook shows the text of the command.

    statistics: every comparison; `table`: the runs that were compared; `notes`: what to know about their scores.
    """

    statistics: Comparison
    table: pd.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def leader(self) -> str | None:
        """The system that is first on the shared tasks, whatever is not assessed turns out to be; None: it is open."""
        return self.statistics.leader

    @property
    def pairs(self) -> tuple[PairSummary, ...]:
        """Each pair of systems: differences on shared tasks, with intervals and tests."""
        return self.statistics.pairs

    @property
    def text(self) -> str:
        """What `sciagent compare` prints."""
        told = "".join(f"note: {note}\n" for note in self.notes)
        return told + comparison_text(self.table, self.statistics)

    def as_json(self) -> dict[str, Any]:
        """All of it as plain data (schema `sciagent-comparison/1`)."""
        found = comparison_as_json(self.table, self.statistics)
        return found | {"notes": list(self.notes)} if self.notes else found

    def __repr__(self) -> str:
        led = f"{self.leader} leads" if self.leader is not None else "no leader for sure"
        return f"<Compared {', '.join(self.statistics.systems)}: {led}>"

    def _repr_html_(self) -> str:
        return as_text_html(self.text)
