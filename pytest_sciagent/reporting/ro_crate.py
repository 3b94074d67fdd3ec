"""A frozen run with its verdicts as an RO-Crate: its files, who made them, and how they were judged."""

from __future__ import annotations

import mimetypes
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import SciagentError
from ..extras import need
from ..ledger.store import write_atomically
from ..runs import MANIFEST, Run, UnsafeFile
from ..runs.files import read_file
from .lines_file import verdict_lines
from .results import Results
from .words import Words

if TYPE_CHECKING:
    from rocrate.rocrate import ROCrate

    from ..models import RunManifest, TaskManifest

VERDICTS = "verdicts.jsonl"
METADATA = "ro-crate-metadata.json"
MAX_TEXT = 300
_STATES = {"completed": "CompletedActionStatus", "failed": "FailedActionStatus", "timed_out": "FailedActionStatus"}


def write_crate(folder: Path, run: Run, task: TaskManifest | None, results: Results, words: Words) -> int:
    """Write the crate of `run` to the new `folder`; `results` are of this run alone. Returns the number of its files.

    Every file is checked against its frozen hash as it is copied. The metadata are written last.

    Raises:
        SciagentError: the folder holds something already or can't be written to, a file is not what was frozen, or the
            package is not installed.
    """
    need("ro-crate", "an RO-Crate")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SciagentError("is there already: name a new folder", path=folder)
    _copy(folder, run)
    write_atomically(folder / VERDICTS, "".join(f"{line}\n" for line in verdict_lines(results, words)))
    crate = _crate(folder, run, task, results, words)
    try:
        crate.metadata.write(folder)
    except OSError as error:
        raise SciagentError(f"can't be written: {error.strerror}", path=folder / METADATA) from None
    return len(run.manifest.files) + 2


def _copy(folder: Path, run: Run) -> None:
    try:
        for entry in run.manifest.files:
            write_atomically(folder / entry.path, run.read_bytes(entry.path))
        write_atomically(folder / MANIFEST, read_file(run.path, MANIFEST))
    except UnsafeFile as error:
        raise SciagentError(str(error), path=run.path) from None


def _crate(folder: Path, run: Run, task: TaskManifest | None, results: Results, words: Words) -> ROCrate:
    from rocrate.rocrate import ROCrate

    manifest = run.manifest
    crate = ROCrate()
    crate.name = run.label
    crate.description = f"Frozen run of {manifest.system.name} on the task {manifest.task_id}, with its verdicts"
    if manifest.finished_at is not None:
        crate.datePublished = manifest.finished_at
    files = [_file(crate, folder, entry.path, sha256=entry.sha256) for entry in manifest.files]
    _file(crate, folder, MANIFEST)
    verdicts = _file(crate, folder, VERDICTS, format="application/x-ndjson")
    about = _thing(crate, "#task", "CreativeWork", name=task.title if task is not None else manifest.task_id)
    made = _thing(
        crate,
        "#run",
        "CreateAction",
        name=run.label,
        instrument=_system(crate, manifest, words),
        object=about,
        result=files,
        startTime=manifest.started_at,
        endTime=manifest.finished_at,
        actionStatus=f"http://schema.org/{_STATES[manifest.status]}",
    )
    judged = _thing(
        crate,
        "#evaluation",
        "AssessAction",
        name=f"Evaluation of {run.label}",
        instrument=[_program(crate), *_rubrics(crate, results)],
        agent=_judge(crate, results, words),
        object=crate.root_dataset,
        result=[verdicts, *_score(crate, results)],
    )
    crate.root_dataset["mentions"] = [made, judged]
    return crate


def _file(crate: ROCrate, folder: Path, path: str, format: str | None = None, **properties: Any) -> Any:
    kind = format or mimetypes.guess_type(path)[0] or "application/octet-stream"
    told = {"name": path, "contentSize": str((folder / path).stat().st_size), "encodingFormat": kind, **properties}
    return crate.add_file(folder / path, dest_path=path, properties=told)


def _thing(crate: ROCrate, id: str, kind: str, **properties: Any) -> Any:
    """An entity that is no file. Other entities among its properties become references."""
    from rocrate.model.contextentity import ContextEntity

    entity = crate.add(ContextEntity(crate, id, properties={"@type": kind}))
    for name, value in properties.items():
        if value not in (None, []):
            entity[name] = value
    return entity


def _system(crate: ROCrate, manifest: RunManifest, words: Words) -> Any:
    system = manifest.system
    told = [f"{word} {value}" for word, value in (("harness", system.harness), ("model", system.model)) if value]
    prompts = [
        _thing(crate, f"#prompt-{number}", "DigitalDocument", name=words.line(path, MAX_TEXT), sha256=digest)
        for number, (path, digest) in enumerate(sorted(system.prompts.items()), start=1)
    ]
    return _thing(
        crate,
        "#system",
        "SoftwareApplication",
        name=system.name,
        description=words.line(", ".join(told), MAX_TEXT),
        softwareVersion=system.harness_version,
        hasPart=prompts,
    )


def _program(crate: ROCrate) -> Any:
    told = {"name": "pytest-sciagent", "softwareVersion": version("pytest-sciagent")}
    return _thing(crate, "#pytest-sciagent", "SoftwareApplication", **told)


def _rubrics(crate: ROCrate, results: Results) -> list[Any]:
    return [
        _thing(crate, f"#rubric-{r.id}", "CreativeWork", name=r.id, version=r.version, sha256=r.digest)
        for r in results.rubrics
    ]


def _judge(crate: ROCrate, results: Results, words: Words) -> Any:
    if results.judge is None:
        return None
    told = {"name": results.judge.label, "description": results.believed.sentence}
    return _thing(crate, "#judge", "SoftwareApplication", **{key: words.line(v, MAX_TEXT) for key, v in told.items()})


def _score(crate: ROCrate, results: Results) -> list[Any]:
    """The score as an interval in points of 100; nothing where there is none."""
    total = results.runs[0].total
    if total is None:
        return []
    believed = {"description": results.believed.sentence}
    ends = {"minValue": round(float(total.low), 6), "maxValue": round(float(total.high), 6)}
    return [_thing(crate, "#score", "PropertyValue", name="score", unitText="points of 0..100", **ends, **believed)]
