"""Verification scripts of TruthInsightBench's evaluator: copied where their hashes are right, with small scripts of
ours that call them as this program does. Nothing is run here; a session runs them in the sandbox."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ...digest import sha256_bytes
from ...errors import SciagentError
from ...runs.files import UnsafeFile, check_relative, read_file, walk
from ..foreign import Folder, Foreign

FAMILIES = ("sample", "method", "definition")
MAX_SCRIPT = 2_000_000
MAX_SCRIPTS = 200
_SUFFIXES = (".py", ".json")
_RUNTIME = "verification_runtime"
_COMMON = '''\
"""Calls the evaluator's own scripts, which read TASK_DATA and print one JSON object."""

from __future__ import annotations

import contextlib
import io
import json
import os
import runpy
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))


def answer(script: str) -> dict[str, object]:
    """What `script` prints."""
    os.environ["TASK_DATA"] = os.path.abspath(sys.argv[1])
    path = os.path.join(HERE, *script.split("/"))
    printed = io.StringIO()
    before, sys.argv = sys.argv, [path]
    sys.path.insert(0, os.path.dirname(path))
    try:
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            runpy.run_path(path, run_name="__main__")
    finally:
        sys.argv = before
        del sys.path[0]
    return json.loads(printed.getvalue())
'''
_RECOMPUTE = '''\
"""Prints the quantities of every reference card, as the evaluator's scripts find them."""

from __future__ import annotations

import json

import common

BINDINGS = json.loads({bindings!r})

values = {{}}
for script, wanted in BINDINGS:
    found = common.answer(script)
    for path, key in wanted:
        value = found
        for step in path.split("."):
            value = value[step]
        values[key] = value
print(json.dumps({{"values": values}}))
'''
_PERTURB = '''\
"""Prints whether the finding of card {card} survives another {family}, as the evaluator's script finds it."""

from __future__ import annotations

import json

import common

found = common.answer({script!r})
print(json.dumps({{"family": {family!r}, "survive": found["survive"], "metrics": found.get("metrics", {{}})}}))
'''


class ScriptBinding(Foreign):
    """A script of the evaluator and its hash."""

    script: str
    script_sha256: str
    family: str | None = None


class _Value(Foreign):
    json_path: str
    quantity_key: str


class Recompute(ScriptBinding):
    """The script that recalculates a card's quantities, and where each stands in what it prints."""

    values: tuple[_Value, ...] = ()


Bindings = Mapping[str, tuple[Recompute | None, Sequence[ScriptBinding]]]
"""By card: the script that recalculates it, and those that perturb it."""


def scripts_of(folder: Folder, task_id: str, bindings: Bindings) -> tuple[dict[str, bytes], list[str]]:
    """The files of `hidden/verify/`, by their path in the task, and notes on what is missing."""
    home = f"evaluator/tasks/{task_id}"
    files: dict[str, bytes] = {}
    recompute = []
    missing = 0
    notes = []
    for card, (script, perturbations) in sorted(bindings.items()):
        for binding in (*([script] if script is not None else []), *perturbations):
            found = _hash_of(folder, binding)
            missing += found is None
            if found is not None and found != binding.script_sha256:
                notes.append(f"{binding.script} is left out: its SHA-256 is not that of the card")
            if found != binding.script_sha256:
                continue
            path = f"{home}/{binding.script}"
            if isinstance(binding, Recompute):
                recompute.append([path, [[v.json_path, v.quantity_key] for v in binding.values]])
            elif binding.family in FAMILIES:
                text = _PERTURB.format(card=card, family=binding.family, script=path)
                files[f"hidden/verify/perturb_{card}_{binding.family}.py"] = text.encode()
    if missing:
        notes.append(f"{missing} verification scripts are not here: nothing is recalculated by them")
    if recompute:
        files["hidden/verify/recompute.py"] = _RECOMPUTE.format(bindings=json.dumps(recompute)).encode()
    if files:
        files["hidden/verify/common.py"] = _COMMON.encode()
        files |= {f"hidden/verify/{home}/{path}": data for path, data in _copies(folder.path, "verification")}
        above = folder.path.parent.parent
        files |= {f"hidden/verify/evaluator/{path}": data for path, data in _copies(above, _RUNTIME)}
    return files, notes


def _hash_of(folder: Folder, binding: ScriptBinding) -> str | None:
    """The SHA-256 of the script, or None where it is not here or can't be read."""
    try:
        check_relative(binding.script)
        return sha256_bytes(folder.bytes(binding.script, MAX_SCRIPT))
    except (UnsafeFile, SciagentError):
        return None


def _copies(root: Path, below: str) -> Iterator[tuple[str, bytes]]:
    if not (root / below).is_dir() or (root / below).is_symlink():
        return
    scripts = (e for e in walk(root, below) if e.problem is None and e.path.endswith(_SUFFIXES))
    for count, entry in enumerate(scripts):
        if count == MAX_SCRIPTS:
            raise SciagentError(f"more than {MAX_SCRIPTS} scripts", path=root / below)
        yield entry.path, read_file(root, entry.path, MAX_SCRIPT)
