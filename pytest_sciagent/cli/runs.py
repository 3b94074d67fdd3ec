"""Commands about runs: freeze, verify, seal; and the schemas of all files."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import SciagentError
from ..text import clean, counted, one_line
from .common import PATH, doubts, find
from .told import Told, tells

if TYPE_CHECKING:
    from ..runs import Run


@click.command()
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
@click.option("--tasks", multiple=True, type=PATH, help="Where the task is looked up first (repeatable).")
@tells("frozen", "guesses", "findings", "warnings")
def freeze(told: Told, workspace: Path, target: Path, tasks: tuple[Path, ...], **options: Any) -> None:
    """Freeze what an agent left in WORKSPACE/output into a run.

    Every file is copied and hashed, logs are copied with secrets masked, and run.json is written last. In a workspace
    of `sciagent assemble`, prompts and hashes of the inputs are taken from its receipt. A plain folder without output/,
    but with a report (Result.md or report.md), is frozen as a whole. Which file is the report and what part the others
    play is guessed from their names, and told; so are the findings that the report registers, with the files that
    each names, and headings that look like a finding and are none.

    \b
    Example:
        sciagent freeze work/ --task my_task --system my-agent --prompt PROMPT.md -o runs/my-agent/my_task
    """
    from ..digest import sha256_bytes
    from ..models import System, Usage
    from ..runs.freeze import FreezeOptions, is_plain
    from ..runs.freeze import freeze as freeze_run
    from ..runs.roles import guesses

    def digest(path: Path) -> str:
        try:
            return sha256_bytes(path.read_bytes())
        except OSError as error:
            raise SciagentError(f"the prompt can't be read: {error.strerror}", path=path) from None

    handed = _handed_out(workspace)
    prompts = {path.name: digest(path) for path in options["prompts"]} or handed.prompts
    known = {key: options[key] for key in ("harness", "harness_version", "model")}
    system = _model(System, {"name": options["system"], "prompts": prompts, **known})
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
            inputs_before=_hashes(before) if before is not None else handed.inputs,
        ),
        os.environ,
    )
    manifest = frozen.run.manifest
    files, tree = len(manifest.files), manifest.tree_sha256
    told.say(
        f"frozen: {frozen.run.label}, {counted(files, 'file')}, tree {tree[:12]}, in {target}",
        run=frozen.run.label,
        files=files,
        tree_sha256=tree,
        path=str(target),
        report=manifest.report,
        masked=frozen.masked,
    )
    if is_plain(workspace):
        told.say(
            "  no output/ here: all of the folder but data/, logs and hidden files is taken for what was delivered"
        )
    for line in guesses(manifest.files, manifest.report, named=options["report"] is not None):
        told.each("guesses", clean(line), f"  {clean(line)}")
    near = _tell_findings(told, frozen.run)
    if frozen.masked:
        told.say(f"{counted(frozen.masked, 'secret')} masked in logs")
    for warning in (*frozen.warnings, *doubts(frozen.run, tasks), *near, *handed.strays):
        told.each("warnings", clean(warning))
        click.echo(f"warning: {clean(warning)}", err=True)


def _tell_findings(told: Told, run: Run) -> list[str]:
    """Tell what the report registers, and by what files; returns what in it looks like a finding and is none."""
    from ..findings import lookalikes, parse_findings
    from ..runs import UnsafeFile

    try:
        report, text = parse_findings(run), run.report_text or ""
    except UnsafeFile:
        return []  # see `doubts`
    for finding in report.findings:
        lost = [mention.text for mention in finding.mentions if not mention.paths]
        fact = {"id": finding.id, "line": finding.section.start, "title": clean(finding.title)}
        named = [one_line(path, 200) for path in finding.artifacts]
        missing = [one_line(name, 200) for name in lost]
        lines = [f"  {finding.id} (line {finding.section.start}): {one_line(finding.title, 100)}"]
        lines.append(f"    {_some(named)}" if named else "    names no file of the run: code and results in backticks")
        lines += [f"    not there: {_some(missing)}"] if missing else []
        told.each("findings", fact | {"artifacts": named, "missing": missing}, *lines)
    near = lookalikes(text, report) if run.manifest.unit == "finding" else []
    return [f"{run.manifest.report}: {one.told()}" for one in near]


def _some(names: list[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


@dataclass(frozen=True)
class _HandedOut:
    """What the receipt of an assembled workspace says: prompts, inputs, and files that came or changed outside output/.

    The agent could have written it anew: what matters is compared with the task's own hashes later.
    """

    prompts: dict[str, str] = field(default_factory=dict)
    inputs: dict[str, str] | None = None
    strays: tuple[str, ...] = ()


def _handed_out(workspace: Path) -> _HandedOut:
    from ..tasks.workspace import RECEIPT, open_workspace

    if not (workspace / RECEIPT).is_file():
        return _HandedOut()
    made = open_workspace(workspace)
    inputs = {path: digest for path, digest in made.files.items() if path.startswith("data/")}
    strays = tuple(f"outside output/, not frozen: {stray}" for stray in made.strays()[:20])
    return _HandedOut(made.prompts, inputs, strays)


def _model(cls: Any, values: dict[str, Any]) -> Any:
    from pydantic import ValidationError

    try:
        return cls(**values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0]) if first["loc"] else ""
        raise SciagentError(f"{cls.__name__.lower()} {name}: {first['msg']} (got {first['input']!r})") from None


def _hashes(path: Path) -> dict[str, str]:
    from ..documents import plain_json, read_text

    data = plain_json(read_text(path), path)
    if not isinstance(data, dict) or not all(isinstance(v, str) for v in data.values()):
        raise SciagentError("expected {path: sha256}", path=path)
    return data


@click.command()
@click.argument("runs", nargs=-1, required=True, type=PATH)
@click.option(
    "--public-key", "keys", multiple=True, type=PATH, help="PEM: each run must bear a seal made with one (repeatable)."
)
@tells("verified", "runs")
def verify(told: Told, runs: tuple[Path, ...], keys: tuple[Path, ...]) -> int:
    """Check that RUNS (runs, or folders of runs) are what was frozen. Names every changed, missing or extra file.

    With --public-key, each run must bear a seal (see sciagent seal) that was made with one of the keys for this run.

    Exit code 0: all sound. 1: a run is not.

    \b
    Examples:
        sciagent verify runs/
        sciagent verify runs/ --public-key lab.pem.pub
    """
    from ..runs import Run
    from ..runs.seal import check_seal

    bad = 0
    for path in find(runs):
        unsealed: list[str] = []
        try:
            run = Run.load(path)
            problems, label = run.problems(), run.label
        except SciagentError as error:
            problems, label = [str(error)], str(path)
        else:
            unsealed = check_seal(run, keys) if keys else []
        bad += bool(problems or unsealed)
        sealed = "" if problems or not keys else ", seal not valid" if unsealed else ", sealed"
        state = "tampered" if problems else "sound"
        found = [clean(problem) for problem in (*problems, *unsealed)]
        fact = {"run": label, "path": str(path), "state": state, "sealed": not unsealed if keys else None}
        told.each("runs", fact | {"problems": found}, f"{label}: {state}{sealed}", *(f"  {one}" for one in found))
    return 1 if bad else 0


@click.command()
@click.argument("runs", nargs=-1, type=PATH)
@click.option("--key", type=PATH, default=None, help="Private key, PEM without a passphrase.")
@click.option("--new-key", type=PATH, default=None, help="Make a key pair: FILE and FILE.pub.")
@tells("sealed", "seals")
def seal(told: Told, runs: tuple[Path, ...], key: Path | None, new_key: Path | None) -> None:
    """Sign RUNS: an in-toto statement over tree digest and manifest, in a DSSE envelope, in RUN.seal.json.

    \b
    Example:
        sciagent seal --new-key lab.pem
        sciagent seal runs/ --key lab.pem
        sciagent verify runs/ --public-key lab.pem.pub
    """
    from ..runs import Run
    from ..runs import seal as seals

    if new_key is not None:
        public = seals.new_key(new_key)
        told.say(f"made: {new_key} (keep it to yourself) and {public}", key=str(new_key), public_key=str(public))
        key = key or new_key
    if runs and key is None:
        raise click.UsageError("name the private key with --key, or make one with --new-key")
    if not runs and new_key is None:
        raise click.UsageError("name runs to seal")
    for path in find(runs) if runs else ():
        assert key is not None
        made = seals.seal(Run.load(path), key)
        told.each("seals", str(made), f"sealed: {made}")


@click.command()
@click.argument("folder", type=PATH)
@tells("schemas", "files")
def schema(told: Told, folder: Path) -> None:
    """Write the JSON Schemas of all files to FOLDER.

    \b
    Example:
        sciagent schema schemas/
    """
    from ..ledger.store import write_atomically
    from ..schemas import schemas

    for name, text in schemas().items():
        write_atomically(folder / name, text)
        told.each("files", str(folder / name), str(folder / name))
