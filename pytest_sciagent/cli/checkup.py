"""What `sciagent doctor` looks at: this machine, keys and servers of judges, and what sessions will find on disk."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ..errors import SciagentError
from ..text import counted, one_line

if TYPE_CHECKING:
    from ..evaluation import Sources
    from ..judging.prompts import Templates
    from ..models import JudgeIdentity, LedgerEntry, Rubric
    from ..runs import Run
    from ..tasks import Task
    from .settings import Settings

State = Literal["ok", "warning", "fault"]
DISTRIBUTION = "pytest-sciagent"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
_KERNEL = {
    "kernel/unprivileged_userns_clone": ("0", "sysctl kernel.unprivileged_userns_clone=1"),
    "kernel/apparmor_restrict_unprivileged_userns": ("1", "sysctl kernel.apparmor_restrict_unprivileged_userns=0"),
    "user/max_user_namespaces": ("0", "sysctl user.max_user_namespaces=15000"),
}
"""Settings under /proc/sys that forbid namespaces, and what allows them."""


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that was looked at. `fix`: what to do about it, where there is something to do."""

    name: str
    state: State
    text: str
    fix: str | None = None


# ---- this machine


def machine() -> Iterator[Line]:
    """Python, packages, the plugin, the sandbox and a browser."""
    yield Line("python", "ok", f"{platform.python_version()} on {platform.system()} ({sys.executable})")
    yield from _packages()
    yield _extras()
    yield _plugin()
    yield _sandbox()
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is not None:
        yield Line("browser", "ok", f"{browser}, for looking at HTML reports")
    else:
        yield Line(
            "browser", "warning", "no Chromium found; sessions need none", "install chromium to test HTML reports here"
        )


def _packages() -> Iterator[Line]:
    from importlib.metadata import PackageNotFoundError, requires, version

    from packaging.requirements import Requirement

    try:
        wanted = [Requirement(text) for text in requires(DISTRIBUTION) or ()]
    except PackageNotFoundError:
        yield Line("packages", "fault", f"{DISTRIBUTION} is not installed here", f"pip install {DISTRIBUTION}")
        return
    found: list[str] = []
    for requirement in wanted:
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            installed = version(requirement.name)
        except PackageNotFoundError:
            yield Line("packages", "fault", f"{requirement.name} is missing", f"pip install '{requirement}'")
            continue
        if not requirement.specifier.contains(installed, prereleases=True):
            told = f"{requirement.name} {installed} is installed, {requirement.specifier} is needed"
            yield Line("packages", "fault", told, f"pip install '{requirement}'")
        found.append(f"{requirement.name} {installed}")
    yield Line("packages", "ok", ", ".join([f"{DISTRIBUTION} {version(DISTRIBUTION)}", *found]))


def _extras() -> Line:
    from ..extras import EXTRAS, installed

    here = [extra for extra, modules in EXTRAS.items() if all(map(installed, modules))]
    absent = [f"{DISTRIBUTION}[{extra}]" for extra in EXTRAS if extra not in here]
    return Line("extras", "ok", f"{', '.join(here) or 'none'}; not installed: {', '.join(absent) or 'none'}")


def _plugin() -> Line:
    from importlib.metadata import entry_points

    if any(entry.value == "pytest_sciagent.plugin" for entry in entry_points(group="pytest11")):
        if os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
            fix = "unset PYTEST_DISABLE_PLUGIN_AUTOLOAD, or give pytest -p pytest_sciagent.plugin"
            return Line("plugin", "warning", "pytest is told to load no plugin by itself", fix)
        return Line("plugin", "ok", "pytest loads it by itself")
    return Line("plugin", "fault", "pytest does not know the plugin", f"pip install --force-reinstall {DISTRIBUTION}")


def _sandbox() -> Line:
    from ..evidence.sandbox import isolation_available

    method = isolation_available()
    if method != "none":
        return Line("sandbox", "ok", f"scripts of tasks and runs are kept apart by {method}")
    told = "nothing here keeps a script apart: tasks' verification scripts and reruns are left out"
    if sys.platform != "linux":
        return Line("sandbox", "warning", told, "use Linux, or a Linux container that allows user namespaces")
    allow = [fix for name, (bad, fix) in _KERNEL.items() if _kernel(name) == bad]
    install = [] if shutil.which("bwrap") else ["install bubblewrap (apt install bubblewrap)"]
    container = [] if allow else ["in a container, allow user namespaces (docker: --security-opt seccomp=unconfined)"]
    return Line("sandbox", "warning", told, "; ".join([*install, *allow, *container]))


def _kernel(name: str) -> str | None:
    try:
        return (Path("/proc/sys") / name).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None


# ---- judges


def judges(named: Sequence[JudgeIdentity], base_url: str | None, *, online: bool) -> Iterator[Line]:
    """Keys, which are never shown, and servers, which are asked for their models only where `online`: those of the
    judges `named`, and all where none is."""
    from ..judging.clients import KEY_VARIABLES, URL_VARIABLES

    seen: set[str] = set()
    for kind, variable in KEY_VARIABLES.items():
        mine = [judge.model for judge in named if judge.kind == kind]
        if variable in seen and not mine:  # the same key and server under another name
            continue
        seen.add(variable)
        url = (base_url if mine else None) or os.environ.get(URL_VARIABLES[kind]) or None
        has_key = bool(os.environ.get(variable, "").strip())
        problem = _problem(kind, url)
        if problem is not None and (mine or has_key or url):
            yield Line(f"judge {kind}", "fault", problem, f"set {variable}, or give the URL of a server of your own")
        elif problem is not None:
            yield Line(f"judge {kind}", "warning", f"{variable} is not set", f"set it to ask {kind}:MODEL")
        else:
            key = f"{variable} is set" if has_key else "no key, and none needed"
            yield Line(f"judge {kind}", "ok", f"{key}; server: {_shown(url)}")
            if online and (mine or not named):
                models: list[str | None] = [*mine] or [None]
                yield from (_reach(kind, url, model) for model in models)


def _shown(url: str | None) -> str:
    return "the provider's own" if url is None else one_line(url, 200)


def _problem(kind: str, url: str | None) -> str | None:
    """Why no client for judges of this kind can be made; None where one can."""
    from ..judging.clients import make_client
    from ..models import JudgeIdentity

    async def attempt() -> None:
        client = make_client(JudgeIdentity(kind=kind, model="MODEL"), base_url=url, api_key=None)
        await client.close()

    try:
        asyncio.run(attempt())
    except SciagentError as error:
        return str(error)
    return None


def _reach(kind: str, url: str | None, model: str | None) -> Line:
    from ..judging.clients import make_client
    from ..models import JudgeIdentity

    async def attempt() -> tuple[str, ...]:
        identity = JudgeIdentity(kind=kind, model=model or "MODEL")
        client = make_client(identity, base_url=url, api_key=None, timeout_s=15, max_retries=0)
        try:
            return await client.models()
        finally:
            await client.close()

    started = time.monotonic()
    name = f"server {kind}"
    try:
        models = asyncio.run(attempt())
    except SciagentError as error:
        return Line(name, "fault", f"{_shown(url)}: {error}", "check the key, the URL and the network")
    told = f"answers in {time.monotonic() - started:.1f} s, {counted(len(models), 'model')}"
    if model is not None and models and model not in models:
        return Line(name, "warning", f"{told}, without {one_line(model, 100)}", "check the name of the model")
    return Line(name, "ok", told)


# ---- what sessions will find


def settings(found: Settings) -> Iterator[Line]:
    """The configuration file, and names in it that nobody knows."""
    if found.path is None:
        yield Line("settings", "ok", "no configuration of pytest here or above; defaults hold")
        return
    if found.problem is not None:
        yield Line("settings", "fault", f"{found.path}: {one_line(found.problem, 200)}", "mend the file")
        return
    mistakes = list(found.mistakes())
    for mistake in mistakes:
        yield Line("settings", "fault", f"{found.path}: {one_line(mistake, 200)}", "correct the name")
    if not mistakes:
        count = sum(name.startswith("sciagent_") for name in found.values)
        told = (
            f"{counted(count, 'setting')} of sciagent, all known" if count else "no settings of sciagent; defaults hold"
        )
        yield Line("settings", "ok", f"{found.path}: {told}")


def folders(rootdir: Path, ledgers: Iterable[Path]) -> Iterator[Line]:
    """Whether sessions can write what they keep, and what a killed one has left."""
    from ..ledger import work_files

    work = rootdir / ".sciagent"
    for what, folder in [("work folder", work), *(("ledger", ledger) for ledger in ledgers)]:
        above = next(place for place in (folder, *folder.parents) if place.exists())
        if above.is_dir() and os.access(above, os.W_OK | os.X_OK):
            yield Line(what, "ok", f"{folder} can be written to{'' if above == folder else ' (not there yet)'}")
        else:
            yield Line(what, "fault", f"{folder} can't be written to", f"make {above} a folder that you may write to")
    left = work_files(work / "work", "*")
    if left:
        told = f"{counted(len(left), 'file')} of sessions that did not end; the next session takes their answers in"
        yield Line("work folder", "warning", told, "start a session over the same runs")


def rubrics(names: Sequence[str], rootdir: Path, base: Path) -> tuple[list[Rubric], list[Line]]:
    """The rubrics that can be read, and whether all can, their checks included."""
    from ..evaluation.recorded import read_rubric
    from ..profile_names import PROFILES

    found: list[Rubric] = []
    lines: list[Line] = []
    for name in names:
        try:
            rubric = read_rubric(name, None, PROFILES, rootdir if base == rootdir else base)
        except SciagentError as error:
            lines.append(Line("rubric", "fault", one_line(str(error), 300), "name a rubric by its file or its name"))
        else:
            told = f"{rubric.id} {rubric.version}, {len(rubric.criteria)} criteria, profile {rubric.profile}"
            found.append(rubric)
            lines.append(Line("rubric", "ok", told))
    return found, lines


def templates(folder: str | None) -> tuple[Templates, list[Line]]:
    """The prompt templates that sessions have, and whether they can be used."""
    from ..judging.prompts import PACKAGED
    from ..judging.template_check import read_templates

    if folder is None:
        return PACKAGED, []
    try:
        return read_templates(Path(folder)), [Line("templates", "ok", one_line(f"{folder} can be used", 300))]
    except SciagentError as error:
        return PACKAGED, [Line("templates", "fault", one_line(str(error), 300), "mend the template")]


def runs(paths: Iterable[Path]) -> tuple[list[Run], list[Line]]:
    """The runs that can be read, and whether they are what was frozen."""
    from ..runs import Run

    opened: list[Run] = []
    lines: list[Line] = []
    for path in paths:
        try:
            run = Run.load(path)
            problems = run.problems()
        except SciagentError as error:
            lines.append(Line("run", "fault", one_line(str(error), 300), "freeze it again"))
            continue
        opened.append(run)
        if problems:
            more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
            told = f"{run.label} is not what was frozen: {one_line(problems[0], 200)}{more}"
            lines.append(Line("run", "fault", told, "restore the files, or freeze the run again"))
    if opened and not lines:
        lines.append(Line("runs", "ok", f"{len(opened)} sound"))
    return opened, lines


def tasks(opened: Sequence[Run], folders: Sequence[Path]) -> Iterator[Line]:
    """Whether the tasks of the runs are known, whole and readable."""
    from ..tasks import find_task, unfinished_tasks

    found: list[str] = []
    known: list[Task] = []
    for task_id in sorted({run.manifest.task_id for run in opened}):
        try:
            task = find_task(task_id, folders)
            if task is not None:
                task.check()
        except SciagentError as error:
            yield Line("task", "fault", one_line(str(error), 300), "mend the task")
            continue
        if task is None:
            told = f"the task {task_id} is not known: what needs its data or reference is not assessed"
            yield Line("task", "warning", told, f"give the folder that holds {task_id}/ with --sciagent-tasks")
        else:
            found.append(task_id)
            known.append(task)
    if found:
        yield Line("tasks", "ok", f"found: {', '.join(found)}")
    for told in unfinished_tasks(known):
        yield Line("task", "warning", told, "fill it in before anybody is asked: answers count for these words only")


def ledgers(opened: Sequence[Run], folder_of: dict[str, Path], *, chosen: bool) -> Iterator[Line]:
    """Whose answers are recorded for the runs; `folder_of` gives the ledger folder by the run's label. chosen: whether
    a judge is named, so that those of others do no harm."""
    from ..evaluation.recorded import judge_name
    from ..ledger import Ledger

    found: dict[str, JudgeIdentity] = {}
    answers = 0
    for run in opened:
        try:
            ledger = Ledger.load(folder_of[run.label], run.manifest)
        except SciagentError as error:
            yield Line("verdicts", "fault", one_line(str(error), 300), "mend or remove the record")
            continue
        found |= ledger.judges()
        answers += len(ledger.entries)
    names = ", ".join(judge_name(found[key]) for key in sorted(found))
    if len(found) > 1 and not chosen:
        told = f"answers of several judges are recorded: {one_line(names, 300)}"
        yield Line("verdicts", "warning", told, "choose one with --sciagent-judge; they are never mixed")
    elif found:
        told = f"{counted(answers, 'recorded answer')} of {one_line(names, 200)}"
        yield Line("verdicts", "ok", f"{told}: no key needed to replay")
    elif opened:
        yield Line("verdicts", "ok", "none recorded yet")


def answers_to_others(opened: Iterable[Run], sources: Sources, known: Sequence[Rubric]) -> Iterator[Line]:
    """Recorded answers that no prompt asks for now, by what has changed since. A question open again is a warning."""
    from ..evaluation import open_case
    from ..evaluation.unasked import unasked

    def nothing(label: str, entry: LedgerEntry) -> None:
        return None

    counts: Counter[tuple[bool, str]] = Counter()
    for run in opened:
        with suppress(SciagentError):  # told elsewhere
            case = open_case(run.path, sources, nothing)
            found = unasked(case, known) if case.ledger.count else []
            counts.update((one.state == "open", one.why) for one in found if one.state != "unknown")
    for (is_open, why), count in sorted(counts.items(), reverse=True):
        told = one_line(f"of no use now: {counted(count, 'recorded answer')}; {why}", 300)
        if is_open:
            fix = "ask again, or undo the change; sciagent ledger prune RUNS lists them"
            yield Line("verdicts", "warning", told, fix)
        else:
            yield Line("verdicts", "ok", f"{told} (sciagent ledger prune RUNS lists them)")
