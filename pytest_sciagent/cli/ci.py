"""Commands for jobs of continuous integration: each does one step, and can be run by hand as well."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import SciagentError
from ..text import clean, counted, one_line
from .common import PATH

if TYPE_CHECKING:
    from ..ci.event import Job
    from ..models.results import ResultsFile

HEAD_RUNS = ".sciagent/head-runs"


@click.group()
def ci() -> None:
    """Steps of a job in a pull request: what changed, run the agent, test, report. See docs/ci.md.

    What GitHub says about the job is read from the variables GITHUB_*; elsewhere the same commands work without them.
    """


def _words(value: str | None) -> tuple[str, ...]:
    """The words of an input of the action: separated as in a shell, over several lines."""
    try:
        return tuple(shlex.split(value or "", comments=True))
    except ValueError as error:
        raise SciagentError(f"{one_line(value or '', 100)}: {error}") from None


def _lines(value: str | None) -> tuple[str, ...]:
    return tuple(line.strip() for line in (value or "").splitlines() if line.strip())


def _job() -> Job:
    from ..ci.event import read_job

    return read_job(os.environ)


def _say(job: Job, kind: str, text: str) -> None:
    """A remark to whoever reads the job: an annotation on GitHub, else a line."""
    from ..ci.annotations import Annotation

    plain = one_line(text, 500)
    click.echo(str(Annotation(kind, None, "sciagent", plain)) if job.on_github else f"{kind}: {plain}")


@ci.command()
@click.option(
    "--prompts",
    envvar="SCIAGENT_PROMPTS",
    default="",
    help="Glob patterns of prompt files, as git's :(glob) reads them.",
)
def changed(prompts: str) -> None:
    """Tell which prompt files the pull request changes.

    Outputs `changed` (true or false) and `files` (those that are there, one a line). Without a pull request nothing
    has changed.

    \b
    Example:
        sciagent ci changed --prompts 'prompts/**'
    """
    from ..ci.changed import changed_files

    job, patterns = _job(), _words(prompts)
    request = job.pull_request
    files = changed_files(request.base_sha, patterns, Path.cwd()) if request is not None and patterns else []
    if odd := [file for file in files if clean(file) != file or "\n" in file]:
        raise SciagentError(f"a changed prompt has a name that can't be passed on: {one_line(odd[0])}")
    click.echo(f"{len(files)} changed prompt files" + "".join(f"\n  {file}" for file in files))
    there = [file for file in files if Path(file).is_file()]
    job.tell(changed="true" if files else "false", files="\n".join(there))


@ci.command()
@click.option(
    "--system-file", envvar="SCIAGENT_SYSTEM_FILE", required=True, help="The system, as `sciagent run` reads it."
)
@click.option("--tasks", envvar="SCIAGENT_TASKS", required=True, help="Tasks to run it on.")
@click.option(
    "-o", "--output", envvar="SCIAGENT_HEAD_RUNS", default=HEAD_RUNS, show_default=True, help="Where runs go."
)
def run(system_file: str, tasks: str, output: str) -> int:
    """Run the agent with the prompts of this checkout, by `sciagent run`. Outputs `runs`, the folder of new runs.

    What an earlier job left in the folder is removed first. A run that fails is frozen with its reason and counts as 0.
    On a fork nothing is run: there are no keys, and the gates will be inconclusive.

    \b
    Example:
        sciagent ci run --system-file system.yaml --tasks my_task
    """
    from ..ci.guard import run_guarded, this_program
    from ..runs.discover import find_runs

    job, folder = _job(), Path(output)
    if job.pull_request is not None and job.pull_request.is_fork:
        _say(job, "notice", "this pull request comes from a fork: the agent is not run, and no gate can be met")
        return 0
    if Path.cwd().is_relative_to(folder.resolve()):
        raise SciagentError("what is in this folder is removed first: name one of its own with -o", path=folder)
    if folder.is_dir():
        shutil.rmtree(folder)
    wanted = tuple(dict.fromkeys(_words(tasks)))
    arguments = ["run", *wanted, "--system-file", system_file, "-o", output]
    code = run_guarded(this_program(*arguments), on_github=job.on_github)
    if code not in (0, 1):
        return code
    made = len(find_runs(folder)) if folder.is_dir() else 0
    if made < len(wanted):  # one that could not be started is no run, and would be missing without a word
        raise SciagentError(
            f"the agent left {counted(made, 'run')} for {counted(len(wanted), 'task')}: see the log of this step"
        )
    job.tell(runs=output)
    return 0


@ci.command()
@click.option("--runs", envvar="SCIAGENT_RUNS", default="runs", show_default=True, help="Frozen runs to test.")
@click.option("--report", envvar="SCIAGENT_REPORT", type=PATH, default=Path("sciagent-report"), show_default=True)
@click.option("--ledger", envvar="SCIAGENT_LEDGER", type=PATH, default=Path("verdicts"), show_default=True)
@click.option("--baseline", envvar="SCIAGENT_BASELINE", default=None, help="Runs or a results file to compare with.")
@click.option("--judge", envvar="SCIAGENT_JUDGE", default=None, metavar="KIND:MODEL")
@click.option("--rubric", envvar="SCIAGENT_RUBRIC", default="", help="Rubrics by name or file.")
@click.option("--prompts-from", envvar="SCIAGENT_PROMPTS_FROM", default=None, help="Folder of the head's prompts.")
@click.option("--changed-files", envvar="SCIAGENT_CHANGED", default="", help="Changed prompts, one a line.")
@click.option("--shard", envvar="SCIAGENT_SHARD", default=None, metavar="I/N", help="Test a part of the runs.")
@click.option("--pytest-args", envvar="SCIAGENT_PYTEST_ARGS", default="", help="More options of pytest, such as gates.")
def test(**given: Any) -> int:
    """Test the runs, and leave all reports in one folder. Outputs `outcome` and `exit-code`.

    The exit code is pytest's (0 pass, 1 fail, 10 inconclusive, others: bad input or a fault); a part of a sharded
    session ends with 0 unless something broke. On a fork nobody is asked: recorded verdicts are replayed.

    \b
    Example:
        sciagent ci test --runs runs/my-agent --pytest-args '--sciagent-min-score=60'
    """
    from ..ci.guard import run_guarded
    from ..ci.records import keep
    from ..ci.session import RECORDS, Wish, command, exit_code, leftovers, outcome_of

    report, shard = given["report"], given["shard"] or None
    wish = Wish(
        runs=_words(given["runs"]),
        report=report,
        ledger=given["ledger"],
        baseline=given["baseline"] or None,
        judge=given["judge"] or None,
        rubrics=_words(given["rubric"]),
        prompts_from=given["prompts_from"] or None,
        changed=_lines(given["changed_files"]) if given["prompts_from"] else (),
        shard=shard,
        more=_words(given["pytest_args"]),
    )
    job = _job()
    for old in leftovers(report):
        old.unlink(missing_ok=True)
    code = run_guarded(command(wish, job), on_github=job.on_github)
    if shard is not None:
        keep(wish.ledger, report / RECORDS)
    job.tell(exit_code=str(code), outcome=outcome_of(code))
    return exit_code(code, shard)


@ci.command()
@click.option("--report", envvar="SCIAGENT_REPORT", type=PATH, default=Path("sciagent-report"), show_default=True)
@click.option("--rubric", envvar="SCIAGENT_RUBRIC", default="", help="Rubrics by name or file.")
@click.option("--changed-files", envvar="SCIAGENT_CHANGED", default="", help="Changed prompts, one a line.")
@click.option("--exit-code", envvar="SCIAGENT_EXIT_CODE", default="", help="The exit code of the session.")
@click.option(
    "--comment", envvar="SCIAGENT_COMMENT", default="true", help="true: write the comment of the pull request."
)
@click.option("--key", envvar="SCIAGENT_COMMENT_KEY", default="default", help="Tells several comments apart.")
def report(report: Path, rubric: str, changed_files: str, exit_code: str, comment: str, key: str) -> None:
    """Show what the session left: annotations, the step summary, and one comment on the pull request.

    The comment is written the first time and replaced afterwards. Without a token that may write it, as on a fork, the
    summary says the same.

    \b
    Example:
        sciagent ci report --report sciagent-report --comment false
    """
    from ..ci.session import RESULTS, SUMMARY
    from ..documents import load_json, read_text
    from ..models.results import ResultsFile

    job = _job()
    page = read_text(report / SUMMARY) if (report / SUMMARY).is_file() else _no_results(exit_code)
    if (report / RESULTS).is_file():
        _annotate(load_json(report / RESULTS, ResultsFile), _words(rubric), _lines(changed_files), job)
    if not job.add_summary(page) and job.summary is not None:
        _say(job, "warning", "the step summary has no room for ours: see the report among the artifacts")
    if job.summary is None:
        click.echo(page)
    if comment == "true":
        _comment(job, page, key)


def _no_results(exit_code: str) -> str:
    told = f" (exit code {exit_code})" if exit_code.isdigit() else ""
    return f"## sciagent: ❌ no results\n\nThe session ended before there was a score{told}: see the log of the job.\n"


def _annotate(results: ResultsFile, rubrics: tuple[str, ...], prompts: tuple[str, ...], job: Job) -> None:
    from ..ci.annotations import annotate
    from ..reporting.places import Places
    from ..reporting.words import Words
    from ..rubrics import load_rubric

    root = Path.cwd()
    names = rubrics or tuple(rubric.id for rubric in results.rubrics)
    known = []
    for name in names:
        try:
            known.append(load_rubric(name, root, root))
        except SciagentError as error:
            _say(job, "warning", f"annotations without weights: {error}")
    for annotation in annotate(results, known, Places(names, root, root), prompts, Words.of(os.environ)):
        click.echo(str(annotation) if job.on_github else f"{annotation.kind}: {annotation.message}")


def _comment(job: Job, page: str, key: str) -> None:
    from ..ci.comment import Comments, Refused, body_of

    request = job.pull_request
    if request is None or job.api is None or job.repository is None:
        return
    if request.is_fork or job.token is None:
        why = "it comes from a fork" if request.is_fork else "there is no token"
        _say(job, "notice", f"no comment is written on the pull request, since {why}: the summary says the same")
        return
    try:
        done = Comments(job.api, job.repository, request.number, job.token).upsert(body_of(page, key, job.url), key)
        click.echo(f"comment {done}")
    except Refused as refused:
        hint = "; give the job 'permissions: pull-requests: write'" if refused.status in (401, 403, 404) else ""
        _say(job, "warning", f"no comment on the pull request: {refused}{hint}")


@ci.command()
@click.argument("parts", type=PATH)
@click.option("--ledger", envvar="SCIAGENT_LEDGER", type=PATH, default=Path("verdicts"), show_default=True)
def merge(parts: Path, ledger: Path) -> None:
    """Merge the records of a sharded session (PARTS has a folder for each) into the ledger, to replay them as one.

    \b
    Example:
        sciagent ci merge parts/
    """
    from ..ci.records import merge_parts

    click.echo(f"{merge_parts(parts, ledger)} records in {ledger}")


@ci.command("restore-records")
@click.argument("cache", type=PATH)
@click.option("--ledger", envvar="SCIAGENT_LEDGER", type=PATH, default=Path("verdicts"), show_default=True)
def restore_records(cache: Path, ledger: Path) -> None:
    """Add the answers in CACHE to the ledger, which keeps its own. A cache that can't be read is told and left out.

    \b
    Example:
        sciagent ci restore-records .sciagent/records-cache
    """
    from ..ci.records import restore

    added, problems = restore(cache, ledger)
    click.echo(f"{counted(added, 'answer')} out of the cache")
    for problem in problems:
        _say(_job(), "warning", problem)


@ci.command("keep-records")
@click.argument("cache", type=PATH)
@click.option("--ledger", envvar="SCIAGENT_LEDGER", type=PATH, default=Path("verdicts"), show_default=True)
def keep_records(cache: Path, ledger: Path) -> None:
    """Copy the ledger to CACHE, for later jobs.

    \b
    Example:
        sciagent ci keep-records .sciagent/records-cache
    """
    from ..ci.records import keep

    click.echo(f"{keep(ledger, cache)} records kept")
