"""A task's own verification scripts, run in the sandbox over its visible data."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from ..digest import sha256_bytes, sha256_json
from ..documents import plain_json
from ..errors import SciagentError
from ..evidence.sandbox import Limits, SandboxUnavailable, interpreter, isolation_available, run_sandboxed
from ..ledger.trusted_files import KeptFiles
from ..text import one_line
from .task import Task

RECOMPUTE = "recompute.py"
FAMILIES = ("sample", "method", "definition")
LIMITS = Limits(wall_s=120, cpu_s=120)
_VERIFY, _DATA = "/verify", "/data"


class VerificationFailed(Exception):
    """A verification script that did not give an answer, with the reason."""


@dataclass(frozen=True, slots=True)
class Perturbation:
    """Whether a card's finding survives one change of sample, method or definition."""

    card: str
    family: str
    survive: bool
    metrics: dict[str, JsonValue]


class Scripts:
    """The scripts in `folder`, which work on the `data` of their task.

    A task is the user's own choice, like a conftest file: where no isolation is to be had, its scripts run with limits
    of time and memory only.
    """

    def __init__(self, folder: Path, data: Path) -> None:
        self.folder = folder
        self.data = data

    @classmethod
    def of(cls, task: Task) -> Scripts:
        return cls(task.path / "hidden" / "verify", task.data_dir)

    @property
    def names(self) -> list[str]:
        """Of the files that are run by themselves: `recompute.py`, and `perturb_<card>_<family>.py`."""
        found = (p.name for p in self.folder.glob("*.py") if p.is_file())
        return sorted(name for name in found if name == RECOMPUTE or name.startswith("perturb_"))

    def key(self, script: str) -> str:
        """What the answer of a script follows from: all scripts, the data and the interpreter.

        Raises:
            OSError: a file that can't be read.
        """
        code, data = _hashes(self.folder), _hashes(self.data)
        return sha256_json({"script": script, "code": code, "data": data, "interpreter": interpreter()})

    def run(self, script: str, wanted: Callable[[], None] | None = None) -> dict[str, Any]:
        """What a script prints. `wanted` is called every now and then; whatever it raises ends the script.

        Raises:
            VerificationFailed: it failed, was stopped, could not be run, or printed something else than a JSON object.
        """
        try:
            outcome = run_sandboxed(
                [sys.executable, "-B", f"{_VERIFY}/{script}", _DATA],
                inputs={self.folder: _VERIFY, self.data: _DATA},
                limits=LIMITS,
                unsafe=isolation_available() == "none",
                wanted=wanted,
            )
        except SandboxUnavailable as error:
            raise VerificationFailed(one_line(f"{script} was not run: {error}", 400)) from None
        if outcome.stopped is not None:
            raise VerificationFailed(f"{script} was stopped: {outcome.stopped}")
        if outcome.returncode != 0:
            raise VerificationFailed(f"{script} failed: {one_line(outcome.stderr[-400:], 400)}")
        try:
            answer = plain_json(outcome.stdout, script)
        except SciagentError as error:
            raise VerificationFailed(str(error)) from None
        if not isinstance(answer, dict):
            raise VerificationFailed(f"{script} must print one JSON object")
        return answer


class KeptAnswers:
    """What scripts have printed in earlier sessions."""

    def __init__(self, cache: KeptFiles) -> None:
        self._cache = cache

    def get(self, key: str) -> dict[str, Any] | None:
        content = self._cache.read(_name(key), key)
        return None if content is None else dict(json.loads(content))

    def keep(self, key: str, answer: dict[str, Any]) -> dict[str, Any]:
        """Keep an answer; returns it in the order in which it is kept, so that a first session and a later one write
        the same results."""
        text = json.dumps(answer, sort_keys=True)
        self._cache.write(_name(key), key, text.encode())
        return dict(json.loads(text))


class Verification:
    """What the scripts of one task find. Answers are kept in `cache`, where there is one."""

    def __init__(self, task: Task, cache: KeptFiles | None = None) -> None:
        self._scripts = Scripts.of(task)
        self._kept = KeptAnswers(cache) if cache is not None else None

    def values(self) -> dict[str, float]:
        """The reference quantities, recomputed from the task's data; empty where the task has no script.

        Raises:
            VerificationFailed: the script failed, was stopped, or printed something else.
        """
        answer = self._answer(RECOMPUTE)
        if answer is None:
            return {}
        values = answer.get("values")
        if not isinstance(values, dict) or not all(_is_number(v) for v in values.values()):
            raise VerificationFailed('recompute.py must print {"values": {key: number}}')
        return {key: float(value) for key, value in values.items()}

    def perturbations(self, card: str) -> list[Perturbation]:
        """The perturbations of a card, in the order sample, method, definition; those without a script are left out.

        Raises:
            VerificationFailed: as `values`.
        """
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            answers = list(pool.map(self._answer, [f"perturb_{card}_{family}.py" for family in FAMILIES]))
        found = []
        for family, answer in zip(FAMILIES, answers, strict=True):
            if answer is None:
                continue
            if not isinstance(answer.get("survive"), bool) or answer.get("family") != family:
                raise VerificationFailed(f'perturb_{card}_{family}.py must print "family": "{family}" and "survive"')
            metrics = answer.get("metrics")
            found.append(Perturbation(card, family, answer["survive"], metrics if isinstance(metrics, dict) else {}))
        return found

    def _answer(self, script: str) -> dict[str, Any] | None:
        scripts = self._scripts
        try:
            if not (scripts.folder / script).is_file():
                return None
            key = scripts.key(script)
        except OSError as error:
            raise VerificationFailed(f"{script} and the data can't be read: {error.strerror}") from None
        if self._kept is None:
            return scripts.run(script)
        kept = self._kept.get(key)
        return kept if kept is not None else self._kept.keep(key, scripts.run(script))


def _name(key: str) -> str:
    return f"verify-{key[:32]}.json"


def _hashes(folder: Path) -> dict[str, str]:
    """The files below `folder` as they are on disk."""
    files = (p for p in sorted(folder.rglob("*")) if p.is_file() and "__pycache__" not in p.parts)
    return {str(p.relative_to(folder)): sha256_bytes(p.read_bytes()) for p in files}


def _is_number(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
