"""A new task from data files: the folder with everything that a task needs, and placeholders where words are due."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

from ..digest import sha256_bytes
from ..documents import read_text
from ..errors import SciagentError
from ..ledger.store import write_atomically
from .task import PLACEHOLDER, Task
from .verification import FAMILIES

_DATA_SUFFIXES = (".csv", ".tsv")

_OBJECTIVE = f"""# {PLACEHOLDER}: a neutral title
{PLACEHOLDER}: one paragraph. Say what to investigate and which explanations to compare; name neither the source nor
its result.
"""
_GUIDE = f"""# Data guide
{PLACEHOLDER}: for each file, its columns with units, how missing values are written, what one row is, and which rows
are not independent of each other.
"""
_REFERENCE = """schema: sciagent-reference/1
cards:
"""
_CARD = """  - id: {card}
    object: {word}
    scope: {word}
    direction: {word}
    quantities:
      - {{key: {key}, value: 0.0, unit: '1', tolerance: {{relative: 0.05}}, role: core}}
"""
_SOURCE = """schema: sciagent-source/1
title: {word}
authors: []
first_public: '{day}'
fingerprints: []
"""
_PROVENANCE = """schema: sciagent-provenance/1
origin: {word}
licence: {licence}
"""
_RECOMPUTE = '''"""Recompute the quantities of the reference cards: prints {"values": {key: number}}, given DATA_DIR."""

import json
import sys
from pathlib import Path

data = Path(sys.argv[1])
raise SystemExit("REPLACE: read the files below data, compute, and print as the next line does")
print(json.dumps({"values": {"quantity_a": 0.0, "quantity_b": 0.0}}))
'''
_PERTURB = '''"""Card @CARD@, @FAMILY@: say here what is changed, and when the finding counts as surviving it."""

import json
import sys
from pathlib import Path

data = Path(sys.argv[1])
raise SystemExit("REPLACE: recompute with a changed @FAMILY@, and print as the next line does")
print(json.dumps({"card": "@CARD@", "family": "@FAMILY@", "survive": False, "metrics": {}}))
'''


def new_task(folder: Path, data: Sequence[Path], *, title: str, domain: str, t0: str | None, licence: str) -> Task:
    """Make the task `folder` (its name is the id) from copies of the files `data`. Without `t0` no published study
    stands behind it, and it has no hidden half.

    Raises:
        SciagentError: the folder exists; a file that can't be read; two files of one name; a bad id, T0 or licence.
    """
    if folder.exists():
        raise SciagentError("exists already: choose another folder, or remove it first", path=folder)
    if not data:
        raise SciagentError("a task needs at least one data file: give it with --data FILE")
    contents: dict[str, bytes] = {}
    for path in data:
        if path.name in contents:
            raise SciagentError("two data files have this name: rename one", path=path)
        try:
            contents[path.name] = path.read_bytes()
        except OSError as error:
            raise SciagentError(f"can't be read: {error.strerror}", path=path) from None
    texts = _texts(folder.name, contents, title=title, domain=domain, t0=t0, licence=licence)
    from ..documents import parse_yaml
    from ..models import TaskManifest

    parse_yaml(
        texts["task.yaml"], TaskManifest, folder / "task.yaml"
    )  # a bad id or date is told before anything is made
    for name, content in contents.items():
        write_atomically(folder / "data" / name, content)
    for name, text in texts.items():
        write_atomically(folder / name, text)
    return Task.load(folder)


def _texts(
    task_id: str, contents: dict[str, bytes], *, title: str, domain: str, t0: str | None, licence: str
) -> dict[str, str]:
    visible = {
        "task.yaml": _manifest(task_id, contents, title, domain, t0, licence),
        "objective.md": _OBJECTIVE,
        "DATA_GUIDE.md": _GUIDE,
    }
    return visible if t0 is None else visible | _hidden_texts(t0, licence)


def _hidden_texts(t0: str, licence: str) -> dict[str, str]:
    words = {"word": PLACEHOLDER, "day": t0, "licence": json.dumps(licence)}
    texts = {
        "hidden/reference.yaml": _REFERENCE
        + "".join(_CARD.format(card=card, key=f"quantity_{card.lower()}", **words) for card in "AB"),
        "hidden/source.yaml": _SOURCE.format(**words),
        "hidden/provenance.yaml": _PROVENANCE.format(**words),
        "hidden/verify/recompute.py": _RECOMPUTE,
    }
    for card in "AB":
        for family in FAMILIES:
            script = _PERTURB.replace("@CARD@", card).replace("@FAMILY@", family)
            texts[f"hidden/verify/perturb_{card}_{family}.py"] = script
    return texts


def _manifest(task_id: str, contents: dict[str, bytes], title: str, domain: str, t0: str | None, licence: str) -> str:
    lines = ["schema: sciagent-task/1"]
    told = {"id": task_id, "title": title, "domain": domain, "t0": t0, "analysis_unit": PLACEHOLDER, "licence": licence}
    lines += [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in told.items() if value is not None]
    tables = {name: data for name, data in contents.items() if Path(name).suffix.lower() in _DATA_SUFFIXES}
    lines.append("variables:" if tables else "variables: {}")
    for name, content in tables.items():
        lines.append(f"  {json.dumps(name)}:")
        first = content.decode("utf-8-sig", "replace").split("\n")[0].strip()
        for column in next(csv.reader([first], delimiter="\t" if name.endswith(".tsv") else ","), []):
            lines.append(f"    {json.dumps(column)}: {{unit: {PLACEHOLDER}, meaning: {PLACEHOLDER}}}")
    lines += [
        "feasibility:",
        f"  cross_dataset_generalization: {{feasible: true, why: {PLACEHOLDER}}}",
        *_file_lines({f"data/{name}": content for name, content in contents.items()}),
    ]
    return "\n".join(lines) + "\n"


def _file_lines(contents: dict[str, bytes]) -> list[str]:
    entries = [
        f"  - {{path: {json.dumps(path)}, bytes: {len(data)}, sha256: {sha256_bytes(data)}}}"
        for path, data in sorted(contents.items())
    ]
    return ["files:", *entries]


def register_data(folder: Path) -> int:
    """Write bytes and hashes of all files below `data/` into `task.yaml`, whose `files` must come last; how many.

    Raises:
        SciagentError: there is no task, or something stands after `files`.
    """
    path = folder / "task.yaml"
    lines = read_text(path).rstrip("\n").split("\n")
    at = next((i for i, line in enumerate(lines) if line.startswith("files:")), len(lines))
    after = next((i for i in range(at + 1, len(lines)) if lines[i] and lines[i][0] not in " -#"), None)
    if after is not None:
        raise SciagentError("files: must be the last key, so that it can be written anew", path=path, line=after + 1)
    found = sorted(p for p in (folder / "data").rglob("*") if p.is_file() and not p.is_symlink())
    if not found:
        raise SciagentError("there is no file in data/", path=folder)
    contents = {p.relative_to(folder).as_posix(): p.read_bytes() for p in found}
    write_atomically(path, "\n".join([*lines[:at], *_file_lines(contents)]) + "\n")
    Task.load(folder)
    return len(contents)
