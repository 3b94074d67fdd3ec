"""What is given to the commands of the hand-off: whom questions are put to, and in which form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..judging.draws import MOST_DRAWS
from .common import PATH, rubrics_of, sources_of
from .settings import flag_set, path_set, paths_set, words_set

if TYPE_CHECKING:
    from ..evaluation import Case, Sources
    from ..judging.exports import ExportOptions
    from ..judging.requests import Request
    from ..models import JudgeIdentity, Rubric

OPTIONS = (
    click.option(
        "--tasks",
        multiple=True,
        type=PATH,
        default=paths_set("tasks"),
        help="Where tasks are looked up first (repeatable; default: as set).",
    ),
    click.option(
        "--ledger",
        "folder",
        type=PATH,
        default=path_set("ledger"),
        help="Ledger folder (default: as set, else verdicts/ beside the runs).",
    ),
    click.option(
        "--rubric",
        "rubrics",
        multiple=True,
        default=words_set("rubric"),
        help="Rubric by name or file (repeatable; default: as set, else truthinsight).",
    ),
    click.option(
        "--templates",
        type=PATH,
        default=path_set("templates"),
        metavar="DIR",
        help="Prompt templates of your own (--sciagent-templates; default: as set).",
    ),
)
WHO = (
    click.option("--as", "name", required=True, metavar="NAME", help="Who answers, as it will be recorded."),
    click.option(
        "--layout",
        type=click.Choice(["item", "finding"]),
        default="item",
        show_default=True,
        help="One line for each question, or for each finding; give export and import the same.",
    ),
    click.option(
        "--canary",
        is_flag=True,
        default=flag_set("canary"),
        help="One more question a finding, which nothing can meet: a judge that gives credit for it obeys the "
        "material.",
    ),
    click.option(
        "--draw",
        type=click.IntRange(1, MOST_DRAWS),
        default=1,
        show_default=True,
        help="Which answer of NAME to the same questions this is: from 2 on, to those about criteria only "
        "(see --sciagent-draws).",
    ),
)


@dataclass(frozen=True)
class Given:
    """What both commands are given, and what follows from it."""

    options: ExportOptions
    judge: JudgeIdentity
    rubrics: list[Rubric]
    sources: Sources

    @classmethod
    def of(
        cls,
        name: str,
        layout: Any,
        draw: int,
        canary: bool,
        rubrics: tuple[str, ...],
        templates: Path | None,
        tasks: tuple[Path, ...],
        folder: Path | None,
    ) -> Given:
        from ..judging.exports import ExportOptions
        from ..judging.handoff import handoff_identity

        options = ExportOptions(
            name=name,
            layout=layout,
            draw=draw,
            canary=canary,
            rubrics=rubrics,
            templates=None if templates is None else str(templates),
            tasks=tuple(map(str, tasks)),
            ledger=None if folder is None else str(folder),
        )
        sources = sources_of(tasks, folder, templates, canary=canary)
        return cls(options, handoff_identity(name, layout), rubrics_of(rubrics), sources)

    @property
    def exports(self) -> Path:
        """Where exports are remembered."""
        from ..judging.exports import FOLDER

        return self.sources.rootdir / ".sciagent" / FOLDER

    def questions(self, case: Case, judge: JudgeIdentity | None = None) -> Iterator[Request]:
        """The questions of a run, of one draw, as `judge` (else who is named) is asked them: what is asked about the
        run, and the canary, is asked once."""
        from ..judging.judge import RecordedJudge
        from ..models import CANARY

        draw = self.options.draw
        for request in case.requests(self.rubrics, RecordedJudge(judge or self.judge)):
            if draw == 1:
                yield request
            elif request.kind == "criterion" and request.criterion_id != CANARY:
                yield replace(request, draw=draw)
