"""The agent's own code, run again in the sandbox over the task's data; what it writes is compared with what was frozen.

Only where the user asked for it: it takes time, and it executes an agent's code (apart, without network, limited).
"""

from __future__ import annotations

import io
import json
import math
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..digest import sha256_json
from ..evidence.artifacts import MAX_ARTIFACT_BYTES, Artifacts
from ..evidence.readers import Artifact, Unreadable
from ..evidence.sandbox import Limits, SandboxUnavailable, interpreter, run_sandboxed
from ..findings import ParsedReport
from ..ledger.trusted_files import KeptFiles
from ..runs import Run, UnsafeFile
from ..runs.files import read_file
from ..tasks import Task
from ..text import one_line
from .recompute import Recalculated

RELATIVE = 1e-6
ABSOLUTE = 1e-12
_REPRODUCE = re.compile(r"reprodu|how to (re)?run|rerun", re.IGNORECASE)
_SCRIPT = re.compile(r"[\w./-]+\.py\b")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?")
_NOT_STARTED_WITH = frozenset({"report", "result", "figure", "log"})


@dataclass(frozen=True, slots=True)
class Rerun:
    """What a rerun showed.

    commands: the scripts that were run, in order. seconds: what they took, over the task's data and over other data.
    problem: the first that went wrong, or None. reproduced, different, missing: frozen result files that came out the
    same (numbers within 1e-6, times aside), otherwise, or not at all.
    """

    commands: tuple[str, ...] = ()
    seconds: float = 0.0
    problem: str | None = None
    reproduced: tuple[str, ...] = ()
    different: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def rerun(
    artifacts: Artifacts,
    task: Task,
    report: ParsedReport,
    seconds: float,
    *,
    unsafe: bool = False,
    cache: KeptFiles | None = None,
) -> Rerun:
    """Run the scripts that the report's reproduction section names over the task's data, within `seconds` in all."""
    data = {f.path: f.sha256 for f in task.manifest.files}
    tree = artifacts.run.manifest.tree_sha256
    key = sha256_json({"version": 4, "tree": tree, "data": data, "seconds": seconds, "interpreter": interpreter()})
    name = f"rerun-{key[:32]}.json"
    content = cache.read(name, key) if cache is not None else None
    if content is not None:
        raw = json.loads(content)
        values: dict[str, Any] = {field: tuple(v) if isinstance(v, list) else v for field, v in raw.items()}
        return Rerun(**values)
    folder = Path(tempfile.mkdtemp(prefix="sciagent-rerun-"))
    try:
        found = _rerun(artifacts, task, report, seconds, folder, unsafe)
    except SandboxUnavailable as error:
        return Rerun(problem=one_line(str(error), 300))
    except Exception as error:  # what an agent's code leaves behind may be anything
        return Rerun(problem=one_line(f"the rerun failed: {type(error).__name__}: {error}", 300))
    finally:
        # Not shutil: folders may be nested deeper than it can follow.
        subprocess.run(["rm", "-rf", "--", str(folder)], check=False)  # noqa: S607 - in PATH on every system
    if cache is not None:
        cache.write(name, key, json.dumps(asdict(found), sort_keys=True).encode())
    return found


def scripts_to_run(run: Run, report: ParsedReport) -> list[str]:
    """The run's Python sources in the order in which its reproduction section names them, each once."""
    sources = [entry.path for entry in run.with_role("analysis_source", "reproduction") if entry.path.endswith(".py")]
    text = "\n".join(section.text for section in report.shared if _REPRODUCE.search(section.title))
    named: list[str] = []
    for match in _SCRIPT.findall(text):
        wanted = match.removeprefix("./")
        found = [p for p in sources if p == wanted or p.endswith(f"/{wanted}")]
        if len(found) == 1 and found[0] not in named:
            named.append(found[0])
    return named


def _rerun(artifacts: Artifacts, task: Task, report: ParsedReport, seconds: float, folder: Path, unsafe: bool) -> Rerun:
    """Once over the task's data, and once over a part of them with the values of each column drawn anew: a result that
    comes out the same from both does not follow from the data, and confirms nothing."""
    run = artifacts.run
    scripts = scripts_to_run(run, report)
    if not scripts:
        return Rerun(problem="the reproduction section names no Python script of the run")
    started = time.monotonic()
    ends = started + seconds
    data = {f.path: (task.path / f.path).read_bytes() for f in task.manifest.files}
    true, control = folder / "true", folder / "control"
    commands, problem = _run_scripts(run, scripts, data, true, ends, unsafe)
    _run_scripts(run, scripts, {path: _drawn_anew(path, raw) for path, raw in data.items()}, control, ends, unsafe)
    taken = round(time.monotonic() - started, 1)
    return replace(_compared(artifacts, true, control, commands, problem), seconds=taken)


def _run_scripts(
    run: Run, scripts: Sequence[str], data: Mapping[str, bytes], folder: Path, ends: float, unsafe: bool
) -> tuple[tuple[str, ...], str | None]:
    for entry in run.manifest.files:
        if entry.role not in _NOT_STARTED_WITH:
            _write(folder / entry.path, run.read_bytes(entry.path))
    for result in run.with_role("result", "figure"):
        (folder / result.path).parent.mkdir(parents=True, exist_ok=True)
    for path, raw in data.items():
        _write(folder / path, raw)
    done: list[str] = []
    problem = None
    for script in scripts:
        left = ends - time.monotonic()
        if left <= 0:
            problem = problem or f"the time was over before {script} was run"
            break
        limits = Limits(wall_s=left, cpu_s=math.ceil(left), memory_bytes=4 << 30)
        outcome = run_sandboxed(
            [sys.executable, "-B", f"/scratch/{script}"], inputs={}, scratch=folder, limits=limits, unsafe=unsafe
        )
        done.append(script)
        if outcome.stopped is not None or outcome.returncode != 0:
            why = outcome.stopped or one_line(outcome.stderr[-300:], 300)
            # Others may still run: a script that wants an argument, such as a test of new data, stops nobody.
            problem = problem or f"{script} ended with {outcome.returncode}: {why}"
    return tuple(done), problem


def _drawn_anew(path: str, raw: bytes) -> bytes:
    """A table without its last tenth, the values of each column but the first drawn anew; other files as they are."""
    import numpy as np
    import pandas as pd

    if not path.endswith((".csv", ".tsv")):
        return raw
    separator = "\t" if path.endswith(".tsv") else ","
    frame = pd.read_csv(io.BytesIO(raw), sep=separator, dtype=str, keep_default_na=False)
    frame = frame.iloc[: len(frame) - max(1, len(frame) // 10)] if len(frame) else frame
    generator = np.random.default_rng(0)
    for name in list(frame.columns)[1:]:
        frame = frame.assign(**{name: generator.choice(frame[name].to_numpy(), len(frame))} if len(frame) else {})
    return frame.to_csv(index=False, sep=separator).encode()


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _compared(artifacts: Artifacts, true: Path, control: Path, commands: tuple[str, ...], problem: str | None) -> Rerun:
    groups: dict[str, list[str]] = {"reproduced": [], "different": [], "missing": []}
    run = artifacts.run
    for entry in run.with_role("result"):
        frozen = artifacts.get(entry.path)
        data = _result(true, entry.path)
        if data is None:
            groups["missing"].append(entry.path)
            continue
        other = _result(control, entry.path)
        new = _read(artifacts, entry.path, data)
        same = data == run.read_bytes(entry.path) or _same(frozen, new)
        follows = other is None or not (other == data or _same(new, _read(artifacts, entry.path, other)))
        groups["reproduced" if same and follows else "different"].append(entry.path)
    reproduced, different, missing = (tuple(groups[name]) for name in ("reproduced", "different", "missing"))
    return Rerun(commands, problem=problem, reproduced=reproduced, different=different, missing=missing)


def _result(folder: Path, path: str) -> bytes | None:
    """What a script wrote; a link, or anything that is not a plain file inside, is nothing."""
    try:
        return read_file(folder, path, MAX_ARTIFACT_BYTES)
    except (UnsafeFile, OSError):
        return None


def _read(artifacts: Artifacts, path: str, data: bytes) -> Artifact | None:
    try:
        return artifacts.read(path, data)
    except Unreadable:
        return None


def _same(frozen: Artifact | None, new: Artifact | None) -> bool:
    """Whether two artifacts hold the same values; numbers may differ by rounding."""
    if frozen is None or new is None or frozen.kind != new.kind:
        return False
    if frozen.kind == "json":
        return _equal(frozen.data, new.data)
    if not frozen.tables or len(frozen.tables) != len(new.tables):
        return False
    return all(
        a.columns == b.columns and len(a.rows) == len(b.rows) and _equal(a.rows, b.rows)
        for a, b in zip(frozen.tables, new.tables, strict=True)
    )


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(_equal(x, y) for x, y in zip(a, b, strict=True))
    if (
        isinstance(a, int | float)
        and isinstance(b, int | float)
        and not isinstance(a, bool)
        and not isinstance(b, bool)
    ):
        return math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    if isinstance(a, str) and isinstance(b, str) and _TIME.fullmatch(a) and _TIME.fullmatch(b):
        return True  # the time of a run is not a result
    return bool(a == b)


def from_rerun(found: Rerun, results: Sequence[str]) -> list[Recalculated]:
    """What a rerun says about a finding whose results are the frozen files `results`: one entry, or none."""
    if not results or not found.commands:
        return []
    named = ", ".join(results)
    if all(path in found.reproduced for path in results):
        detail = f"the run's own code, run again on the task's data, wrote the same {named}"
        return [Recalculated("core", "rerun", "", named, "confirmed", None, detail)]
    changed = [path for path in results if path in found.different]
    detail = (
        f"the run's own code, run again, wrote other values: {', '.join(changed)}" if changed else "not all rewritten"
    )
    return [Recalculated("core", "rerun", "", named, "differs", None, found.problem or detail)]
