"""The `sciagent` command. Bad input ends in one plain message and exit code 4."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .errors import SciagentError
from .text import clean

if TYPE_CHECKING:
    from .evaluation import Case, Sources
    from .judging.handoff import Layout
    from .models import LedgerEntry

EXIT_BAD_INPUT = 4
PATH = click.Path(path_type=Path)


def main() -> None:
    """Entry point of the `sciagent` command."""
    try:
        result = cli.main(standalone_mode=False)
    except SciagentError as error:
        click.echo(f"sciagent: {clean(str(error))}", err=True)
        sys.exit(EXIT_BAD_INPUT)
    except click.exceptions.Abort:
        click.echo("sciagent: interrupted", err=True)
        sys.exit(2)
    except click.ClickException as error:
        error.show()
        sys.exit(EXIT_BAD_INPUT)
    sys.exit(result if isinstance(result, int) else 0)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pytest-sciagent")
def cli() -> None:
    """Freeze runs of research agents and look after their verdicts. Testing them is pytest's work:

    \b
        pytest --sciagent-run=runs/ -n 8
    """


# ---- runs


@cli.command()
@click.argument("workspace", type=PATH)
@click.option("--task", required=True, metavar="ID", help="The task the agent worked on.")
@click.option("--system", required=True, metavar="NAME", help="Name of the system: harness, model and prompt together.")
@click.option("-o", "--output", "target", required=True, type=PATH, help="Where the frozen run goes, runs/SYSTEM/TASK.")
@click.option(
    "--prompt", "prompts", multiple=True, type=PATH, help="A file the agent was given as prompt (repeatable)."
)
@click.option("--model", default=None, help="The model of the system.")
@click.option("--harness", default=None, help="The harness of the system.")
@click.option("--harness-version", default=None)
@click.option("--repeat", default=1, show_default=True, help="Number of the run, where one system did a task again.")
@click.option(
    "--status", type=click.Choice(["completed", "failed", "timed_out"]), default="completed", show_default=True
)
@click.option("--exit-code", type=int, default=None, help="Exit code of the harness.")
@click.option("--started-at", default=None, metavar="TIME", help="ISO 8601 with time zone.")
@click.option("--finished-at", default=None, metavar="TIME", help="ISO 8601 with time zone.")
@click.option(
    "--report", default=None, metavar="PATH", help="The report, such as output/Result.md, if not found by name."
)
@click.option("--log", "logs", multiple=True, type=PATH, help="A log to keep (repeatable), instead of those found.")
@click.option("--inputs-before", type=PATH, default=None, help="JSON {path: sha256} of data/ as it was before the run.")
@click.option("--input-tokens", type=int, default=None)
@click.option("--output-tokens", type=int, default=None)
@click.option("--cost-usd", type=float, default=None)
def freeze(workspace: Path, target: Path, **options: Any) -> None:
    """Freeze what an agent left in WORKSPACE/output into a run.

    Every file is copied and hashed, logs are copied with secrets masked, and run.json is written last.

    \b
    Example:
        sciagent freeze work/ --task life_bill_shape --system my-agent --prompt PROMPT.md -o runs/my-agent/life_bill_shape
    """
    from .digest import sha256_bytes
    from .models import System, Usage
    from .runs.freeze import FreezeOptions
    from .runs.freeze import freeze as freeze_run

    def digest(path: Path) -> str:
        try:
            return sha256_bytes(path.read_bytes())
        except OSError as error:
            raise SciagentError(f"the prompt can't be read: {error.strerror}", path=path) from None

    prompts = {path.name: digest(path) for path in options["prompts"]}
    told = {key: options[key] for key in ("harness", "harness_version", "model")}
    system = _model(System, {"name": options["system"], "prompts": prompts, **told})
    usage = _model(Usage, {key: options[key] for key in ("input_tokens", "output_tokens", "cost_usd")})
    before = options["inputs_before"]
    frozen = freeze_run(
        workspace,
        target,
        FreezeOptions(
            task_id=options["task"],
            system=system,
            repeat=options["repeat"],
            status=options["status"],
            exit_code=options["exit_code"],
            started_at=options["started_at"],
            finished_at=options["finished_at"],
            usage=usage,
            report=options["report"],
            logs=tuple(options["logs"]),
            inputs_before=_hashes(before) if before is not None else None,
        ),
        os.environ,
    )
    files = len(frozen.run.manifest.files)
    click.echo(f"frozen: {frozen.run.label}, {files} files, tree {frozen.run.manifest.tree_sha256[:12]}, in {target}")
    if frozen.masked:
        click.echo(f"{frozen.masked} secrets masked in logs")
    for warning in frozen.warnings:
        click.echo(f"warning: {clean(warning)}", err=True)


def _model(cls: Any, values: dict[str, Any]) -> Any:
    from pydantic import ValidationError

    try:
        return cls(**values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0]) if first["loc"] else ""
        raise SciagentError(f"{cls.__name__.lower()} {name}: {first['msg']} (got {first['input']!r})") from None


def _hashes(path: Path) -> dict[str, str]:
    from .documents import plain_json, read_text

    data = plain_json(read_text(path), path)
    if not isinstance(data, dict) or not all(isinstance(v, str) for v in data.values()):
        raise SciagentError("expected {path: sha256}", path=path)
    return data


@cli.command()
@click.argument("runs", nargs=-1, required=True, type=PATH)
def verify(runs: tuple[Path, ...]) -> int:
    """Check that RUNS (runs, or folders of runs) are what was frozen. Names every changed, missing or extra file.

    Exit code 0: all sound. 1: a run is not.
    """
    from .runs import Run

    bad = 0
    for path in _find(runs):
        try:
            run = Run.load(path)
            problems, label = run.problems(), run.label
        except SciagentError as error:
            problems, label = [str(error)], str(path)
        bad += bool(problems)
        click.echo(f"{label}: {'tampered' if problems else 'sound'}")
        for problem in problems:
            click.echo(f"  {clean(problem)}")
    return 1 if bad else 0


def _find(paths: tuple[Path, ...]) -> list[Path]:
    from .runs.discover import find_runs

    found = [run for path in paths for run in find_runs(path.absolute())]
    if not found:
        raise SciagentError(f"no frozen run at or below {', '.join(map(str, paths))}")
    return list(dict.fromkeys(found))


@cli.command()
@click.argument("folder", type=PATH)
def schema(folder: Path) -> None:
    """Write the JSON Schemas of all files to FOLDER."""
    from .ledger.store import write_atomically
    from .schemas import schemas

    for name, text in schemas().items():
        write_atomically(folder / name, text)
        click.echo(str(folder / name))


# ---- the ledger


@cli.group()
def ledger() -> None:
    """Recorded verdicts: hand open prompts out, take answers in, look at what is there."""


def _sources(tasks: tuple[Path, ...], folder: Path | None) -> Sources:
    from .evaluation import Sources

    return Sources(Path.cwd(), tuple(t.absolute() for t in tasks), folder.absolute() if folder else None)


def _cases(runs: tuple[Path, ...], sources: Sources) -> list[Case]:
    from .evaluation import open_case

    def nothing(label: str, entry: LedgerEntry) -> None:
        return None

    cases = []
    for path in _find(runs):
        case = open_case(path, sources, nothing)
        problems = case.run.problems()
        if problems:
            raise SciagentError(f"run {case.run.label} is not what was frozen: {problems[0]}", path=path)
        cases.append(case)
    return cases


_COMMON = (
    click.option("--tasks", multiple=True, type=PATH, help="Where tasks are looked up first (repeatable)."),
    click.option(
        "--ledger", "folder", type=PATH, default=None, help="Ledger folder (default: verdicts/ beside the runs)."
    ),
    click.option(
        "--rubric", "rubrics", multiple=True, help="Rubric by name or file (repeatable; default: truthinsight)."
    ),
    click.option("--as", "name", required=True, metavar="NAME", help="Who answers, as it will be recorded."),
    click.option("--layout", type=click.Choice(["item", "finding"]), default="item", show_default=True),
)


def _common(command: Any) -> Any:
    for option in reversed(_COMMON):
        command = option(command)
    return command


@ledger.command("export")
@click.argument("runs", nargs=-1, required=True, type=PATH)
@_common
@click.option("-o", "--output", type=PATH, required=True, help="File of JSON lines, one prompt a line.")
def ledger_export(
    runs: tuple[Path, ...],
    tasks: tuple[Path, ...],
    folder: Path | None,
    rubrics: tuple[str, ...],
    name: str,
    layout: Layout,
    output: Path,
) -> None:
    """Write every open prompt of RUNS as JSON lines: for a batch service, another program, or a person.

    Each line has the system and user text, the schema of the answer, and the id (or keys) to send back with it.
    """
    from .judging.handoff import export_lines, handoff_identity, open_requests
    from .judging.judge import RecordedJudge
    from .ledger.store import write_atomically

    judge = handoff_identity(name, layout)
    chosen = _rubrics(rubrics)
    lines: list[str] = []
    questions = 0
    for case in _cases(runs, _sources(tasks, folder)):
        requests = open_requests(case.requests(chosen, RecordedJudge(judge)), judge, case.answers)
        questions += len(requests)
        lines += export_lines(requests, judge)
    write_atomically(output, "".join(f"{line}\n" for line in lines))
    click.echo(f"{questions} open questions in {len(lines)} prompts, written to {output}")


@ledger.command("import")
@click.argument("answers", type=PATH)
@click.argument("runs", nargs=-1, required=True, type=PATH)
@_common
def ledger_import(
    answers: Path,
    runs: tuple[Path, ...],
    tasks: tuple[Path, ...],
    folder: Path | None,
    rubrics: tuple[str, ...],
    name: str,
    layout: Layout,
) -> int:
    """Take the ANSWERS (JSON lines) to exported prompts of RUNS into the ledger.

    An answer counts only for the very prompt it was given to: where run, rubric or template have changed since, it is
    told as stale. Citations are looked up, levels derived by code. Exit code 1: some answers could not be used.
    """
    from .judging.handoff import handoff_identity, read_answers, settle_answers
    from .judging.judge import RecordedJudge
    from .ledger import merge_entries, write_record

    judge = handoff_identity(name, layout)
    chosen = _rubrics(rubrics)
    given = read_answers(answers)
    sources = _sources(tasks, folder)
    taken: set[str] = set()
    counts: dict[str, int] = {}
    for case in _cases(runs, sources):
        entries, keys = settle_answers(given, list(case.requests(chosen, RecordedJudge(judge))), judge, case.answers)
        taken |= keys
        for entry in entries:
            counts[entry.status] = counts.get(entry.status, 0) + 1
            if entry.status != "assessed":
                who = f"{case.run.label} {entry.finding or 'run'} {entry.criterion_id}"
                click.echo(f"{who}: {entry.status}: {clean(entry.reason, 300)}", err=True)
        if entries:
            merged = merge_entries(case.ledger.entries, entries)
            click.echo(f"written: {write_record(sources.ledger_of(case.run.path), case.run.manifest, merged)}")
    stale = [a for a in given if a.key not in taken]
    click.echo(json.dumps({"answers": len(given), "stale": len(stale), **dict(sorted(counts.items()))}))
    for answer in stale[:5]:
        click.echo(f"{answers}:{answer.line}: no such prompt (any more): {answer.key}", err=True)
    return 1 if stale or set(counts) - {"assessed"} else 0


def _rubrics(names: tuple[str, ...]) -> list[Any]:
    from .rubrics import DEFAULT_RUBRIC, load_rubric

    return [load_rubric(name, Path.cwd(), Path.cwd()) for name in names or (DEFAULT_RUBRIC,)]
