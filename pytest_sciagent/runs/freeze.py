"""Freezing: the workspace an agent left becomes a run that is complete, hashed and safe to read."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from ..digest import sha256_bytes, sha256_tree
from ..errors import MachineFault, SciagentError
from ..layout import MANIFEST
from ..models import FileEntry, Inputs, RunManifest, Session, Stage, System, Usage
from ..models.run import RunStatus
from ..text import clean
from .files import Entry, UnsafeFile, read_file, walk
from .roles import REPORT_NAMES, find_report, role_of
from .run import Run
from .secrets import known_secrets, mask_secrets, secret_lines

# What the folder to be frozen is not to blame for; permissions and names may be an agent's doing.
_OF_THE_MACHINE = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE}
)
_ROOT_LOGS = ("commands.log", "stdout.txt", "stderr.txt")


@dataclass(frozen=True)
class FreezeOptions:
    """What a workspace does not say of itself.

    Attributes:
        task_id: the task the run worked on.
        system: harness, model and prompts.
        repeat: which repeat of the same system on the same task, from 1.
        status: how the run ended; `exit_code` is that of the harness, None where unknown.
        started_at: ISO 8601 with a time zone, as `finished_at`; None where unknown.
        usage: tokens and cost.
        report: path of the report (`output/...`, or relative to `output/`); None looks for it by name.
        unit: what is judged, each registered finding or the whole report (see `RunManifest`).
        logs: files to take as logs; empty takes those of the workspace (see `freeze`).
        inputs_before: what `hash_inputs` gave before the run started; None where nobody asked.
        session: how a harness was run; None where this program did not run it.
        stage: what came before a second stage; None for a first one.
    """

    task_id: str
    system: System
    repeat: int = 1
    status: RunStatus = "completed"
    exit_code: int | None = None
    started_at: str | None = None
    finished_at: str | None = None
    usage: Usage = field(default_factory=Usage)
    report: str | None = None
    unit: Literal["finding", "report"] = "finding"
    logs: tuple[Path, ...] = ()
    inputs_before: dict[str, str] | None = None
    session: Session | None = None
    stage: Stage | None = None


@dataclass(frozen=True)
class Frozen:
    """A run just frozen: `masked` secrets were replaced in its logs; `warnings` are for the person who froze it.

    `gaps` are those of the warnings that speak of what the workspace does not hold.
    """

    run: Run
    masked: int
    warnings: tuple[str, ...]
    gaps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Source:
    """A file to freeze: read at `entry.path` below `root`, written at `path` of the run."""

    root: Path
    entry: Entry
    path: str


def freeze(workspace: Path, target: Path, options: FreezeOptions, environ: Mapping[str, str]) -> Frozen:
    """Freeze what an agent left in `workspace` as the run `target`, which appears complete or not at all.

    `output/` is copied byte for byte with its modification times (empty folders are not kept); of a plain folder, which
    has none (`is_plain`), everything but `data/`, logs and hidden files. Logs go to `logs/` with
    secrets masked: `options.logs`, or else `commands.log`, `stdout.txt`, `stderr.txt`, `transcript*` and everything
    below `logs/`. Secrets are told by shape, by name, and by the values of telling variables in `environ`.

    Raises:
        MachineFault: the disk is full, or another fault that is not of the workspace.
        SciagentError: there is nothing to freeze; a link, device, FIFO or other thing that is no regular file; a file
            too large, or with a name that can't be kept; `target` holds something or lies inside what is frozen; two
            files that may be the report; two logs of one name; a bad value in `options`.
    """
    draft = _draft(options)
    try:
        _check_places(workspace, target)
        known = known_secrets(environ)
        after = hash_inputs(workspace)
        outputs = list(_delivered(workspace))
        report = _report(options, {source.path for source in outputs})
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.freezing-") as temporary:
            folder = Path(temporary) / "run"
            folder.mkdir()
            files, warnings = _freeze_outputs(outputs, folder, report, known)
            logs, masked, log_warnings = _freeze_logs(_log_sources(workspace, options.logs), folder, known)
            files = sorted(files + logs, key=lambda file: file.path)
            manifest = draft.model_copy(
                update={
                    "report": report,
                    "inputs": Inputs(before=draft.inputs.before, after=after),
                    "files": tuple(files),
                    "tree_sha256": sha256_tree((file.path, file.bytes, file.sha256) for file in files),
                }
            )
            _write_manifest(manifest, folder)
            _check_frozen(folder)
            folder.rename(target)
    except OSError as error:
        kind = MachineFault if error.errno in _OF_THE_MACHINE else SciagentError
        raise kind(f"can't be frozen: {error.strerror or error}", path=error.filename or workspace) from None
    gaps = tuple(_gaps(manifest))
    return Frozen(Run.load(target), masked, (*gaps, *warnings, *log_warnings), gaps)


def hash_inputs(workspace: Path) -> dict[str, str] | None:
    """The SHA-256 of each file below `workspace/data` by its path (`data/...`), sorted; None without such a folder.

    Raises:
        SciagentError: a file there that is not a plain, readable, regular file.
    """
    if not os.path.lexists(workspace / "data"):
        return None
    entries = sorted(_regular(workspace, "data"), key=lambda entry: entry.path)
    return {entry.path: sha256_bytes(_read(workspace, entry.path)) for entry in entries}


def _draft(options: FreezeOptions) -> RunManifest:
    """The manifest as far as `options` go."""
    for name, value in (("started_at", options.started_at), ("finished_at", options.finished_at)):
        if value is not None and not _is_timestamp(value):
            raise SciagentError(f"{name} is {value!r}: give ISO 8601 with a time zone, such as 2026-01-02T03:04:05Z")
    try:
        return RunManifest(
            task_id=options.task_id,
            system=options.system,
            repeat=options.repeat,
            status=options.status,
            exit_code=options.exit_code,
            started_at=options.started_at,
            finished_at=options.finished_at,
            usage=options.usage,
            unit=options.unit,
            inputs=Inputs(before=_by_path(options.inputs_before)),
            session=options.session,
            stage=options.stage,
            tree_sha256=sha256_tree(()),
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        raise SciagentError(f"{place} is {first['input']!r}: {first['msg']}") from None


def _by_path(hashes: dict[str, str] | None) -> dict[str, str] | None:
    return None if hashes is None else dict(sorted(hashes.items()))


def _is_timestamp(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _check_places(workspace: Path, target: Path) -> None:
    place = target.resolve()
    if is_plain(workspace) and place.is_relative_to(workspace.resolve()):
        raise SciagentError("lies inside the folder that is to be frozen: choose another", path=target)
    for name in ("output", "logs", "data"):
        if place.is_relative_to((workspace / name).resolve()):
            raise SciagentError(
                f"lies inside {name}/ of the workspace that is to be frozen: choose another", path=target
            )
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise SciagentError("exists and is not a folder: choose another", path=target)
    if target.is_dir() and any(target.iterdir()):
        raise SciagentError("exists and is not empty: choose another, or remove it first", path=target)


def _regular(root: Path, folder: str) -> Iterator[Entry]:
    """The regular files below `root/folder`; anything else is an error that names it."""
    if (root / folder).is_symlink() or not (root / folder).is_dir():
        raise SciagentError("is not a folder of its own: put a copy in its place", path=root / folder)
    for entry in walk(root, folder):
        if entry.problem is not None:
            raise _not_regular(root, entry)
        yield entry


def is_plain(workspace: Path) -> bool:
    """Whether a folder has no `output/` and still holds a report, so that all of it is taken for what was delivered."""
    return not os.path.lexists(workspace / "output") and workspace.is_dir() and _top_report(workspace)


def _top_report(workspace: Path) -> bool:
    return any(path.name.lower() in REPORT_NAMES for path in workspace.iterdir())


def _delivered(workspace: Path) -> Iterator[_Source]:
    """What the agent left: `output/`, or everything in a plain folder but data, logs and hidden files.

    Raises:
        SciagentError: there is neither, or something that is no regular file.
    """
    if os.path.lexists(workspace / "output"):
        yield from (_Source(workspace, entry, entry.path) for entry in _regular(workspace, "output"))
        return
    if not is_plain(workspace):
        raise SciagentError(
            f"there is no folder output/ to freeze here, and no report ({' or '.join(REPORT_NAMES)}) either",
            path=workspace,
        )
    for entry in walk(workspace):
        top = entry.path.split("/", 1)[0]
        if top in ("data", "logs", *_ROOT_LOGS) or top.startswith((".", "transcript")):
            continue
        if entry.problem is not None:
            raise _not_regular(workspace, entry)
        yield _Source(workspace, entry, f"output/{entry.path}")


def _not_regular(root: Path, entry: Entry) -> SciagentError:
    return SciagentError(f"is {entry.problem}: a run holds regular files only", path=clean(str(root / entry.path)))


def _read(root: Path, path: str) -> bytes:
    try:
        path.encode()
        return read_file(root, path)
    except UnicodeEncodeError:
        raise SciagentError("the name is not UTF-8: rename the file", path=clean(str(root / path))) from None
    except UnsafeFile as error:
        raise SciagentError(f"can't be frozen: {clean(str(error))}", path=clean(str(root / path))) from None


def _report(options: FreezeOptions, paths: Collection[str]) -> str | None:
    if options.report is None:
        return find_report(paths)
    for path in (options.report, f"output/{options.report}"):
        if path in paths:
            return path
    raise SciagentError(f"the report {options.report!r} is not a file below output/")


def _log_sources(workspace: Path, chosen: tuple[Path, ...]) -> Iterator[_Source]:
    """`chosen` files, else the logs of the workspace."""
    for path in chosen:
        if path.is_symlink() or not path.is_file():
            raise SciagentError("is not a regular file: a log can't be a link or a folder", path=path)
        inside = path.is_relative_to(workspace) and ".." not in path.parts
        root, name = (workspace, path.relative_to(workspace).as_posix()) if inside else (path.parent, path.name)
        yield _Source(root, Entry(name, mtime=path.stat().st_mtime), f"logs/{path.name}")
    if chosen:
        return
    for path in sorted(workspace.iterdir()):
        if path.name == "logs" or (path.name.startswith("transcript") and path.is_dir()):
            for entry in _regular(workspace, path.name):
                yield _Source(workspace, entry, f"logs/{entry.path.removeprefix('logs/')}")
        elif path.name in _ROOT_LOGS or path.name.startswith("transcript"):
            yield from _log_sources(workspace, (path,))


def _freeze_outputs(
    sources: list[_Source], folder: Path, report: str | None, known: Collection[str]
) -> tuple[list[FileEntry], list[str]]:
    files: list[FileEntry] = []
    warnings: list[str] = []
    names = Counter(source.entry.inode for source in sources)
    for source in sources:
        data = _read(source.root, source.entry.path)
        files.append(_write(data, source, folder, report))
        if source.entry.names > names[source.entry.inode]:
            warnings.append(
                f"{clean(source.path)}: has another name outside of what is frozen (a hard link): look whether the "
                "agent wrote it"
            )
        lines = _suspect_lines(data, known)
        if lines:
            more = f" (and {len(lines) - 1} more lines of the file)" if len(lines) > 1 else ""
            warnings.append(
                f"{clean(source.path)}:{lines[0]}: looks like a secret{more}; output/ is frozen as it was left"
            )
    return files, warnings


def _suspect_lines(data: bytes, known: Collection[str]) -> list[int]:
    """The lines of `data` that hold a secret; what is not text is searched for known values only, and is one line."""
    if b"\0" not in data:
        return secret_lines(data.decode("utf-8", "surrogateescape"), known)
    return [1] if any(value.encode("utf-8", "surrogateescape") in data for value in known) else []


def _freeze_logs(
    sources: Iterator[_Source], folder: Path, known: Collection[str]
) -> tuple[list[FileEntry], int, list[str]]:
    files: list[FileEntry] = []
    warnings: list[str] = []
    origin: dict[str, Path] = {}
    masked = 0
    for source in sources:
        place = source.root / source.entry.path
        other = origin.setdefault(source.path, place)
        if other != place:
            raise SciagentError(f"would be {source.path} of the run, as would {other}: rename one", path=place)
        data = _read(source.root, source.entry.path)
        text, count = mask_secrets(data.decode("utf-8", "surrogateescape"), known)
        masked += count
        if b"\0" in data:
            warnings.append(f"{clean(source.path)}: not plain text, so secrets in it may not have been found")
        files.append(_write(text.encode("utf-8", "surrogateescape"), source, folder, None))
    return files, masked, warnings


def _write(data: bytes, source: _Source, folder: Path, report: str | None) -> FileEntry:
    """Write `data` into the run in `folder`, with the modification time of its source."""
    place = folder / source.path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    mtime = _utc(source.entry.mtime)
    if mtime is not None:
        os.utime(place, (source.entry.mtime, source.entry.mtime))
    return FileEntry(
        path=source.path, bytes=len(data), sha256=sha256_bytes(data), mtime=mtime, role=role_of(source.path, report)
    )


def _utc(seconds: float) -> str | None:
    """Seconds since 1970 as `2026-01-02T03:04:05Z`; None for a year that has no four digits."""
    try:
        return datetime.fromtimestamp(seconds // 1, UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return None


def _write_manifest(manifest: RunManifest, folder: Path) -> None:
    with (folder / MANIFEST).open("w", encoding="utf-8", newline="\n") as handle:
        handle.write(json.dumps(manifest.as_json(), indent=2, ensure_ascii=False) + "\n")
        handle.flush()
        os.fsync(handle.fileno())


def _check_frozen(folder: Path) -> None:
    """What is frozen must verify: limits that hold for a whole run are met here, before it is given its name."""
    problems = Run.load(folder).problems()
    if problems:
        raise SciagentError(f"the frozen run would not verify: {problems[0]}")


def _gaps(manifest: RunManifest) -> Iterator[str]:
    if manifest.report is None:
        yield (
            "no report was found in output/: call it Result.md, or name it with --report, or the run counts as one "
            "without a report (the rules of a report: sciagent task contract)"
        )
    if manifest.inputs.after is None:
        yield (
            "no folder data/ in the workspace: whether the inputs were left alone can't be told (sciagent assemble "
            "TASK makes a workspace with it)"
        )
    elif manifest.inputs.before is None:
        yield (
            "no hashes of data/ from before the run: whether the inputs were left alone can't be told (a workspace "
            "that sciagent assemble makes, or sciagent run, has them; else give them with --inputs-before)"
        )
