"""Options of the gates and their ini twins."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

DEFAULT_MARGIN = 4.0
NEEDS_BASELINE = ("margin", "power", "no_fall", "allow_mixed")


@dataclass(frozen=True, slots=True)
class GateOptions:
    """The gates that a session has. None, or nothing in it: not this one.

    min_score, min_task_score: points. min_executed, min_tested: percent of the points of a layer of acceptance.
    min_dimension: ids with percent. min_criterion: ids with levels (0..1).
    baseline: frozen runs or a results file; margin (points), power (percent), no_fall and allow_mixed belong to it.
    max_not_assessed, max_judge_errors: percent. max_run_cost: US dollars. prompts_from: where the prompts of the head
    lie, changed_prompts: files that some run must have been made with. calibration: how far the judge agrees with
    people; min_kappa belongs to it. origins: by the name of each option that is given (of one with ids: `NAME ID`), how
    and where the user wrote it.
    """

    min_score: float | None = None
    min_task_score: float | None = None
    min_executed: float | None = None
    min_tested: float | None = None
    min_dimension: tuple[tuple[str, float], ...] = ()
    min_criterion: tuple[tuple[str, float], ...] = ()
    baseline: Path | None = None
    margin: float = DEFAULT_MARGIN
    power: float | None = None
    no_fall: bool = False
    allow_mixed: bool = False
    max_not_assessed: float | None = None
    max_judge_errors: float | None = None
    max_run_cost: float | None = None
    calibration: Path | None = None
    min_kappa: float | None = None
    prompts_from: Path | None = None
    changed_prompts: tuple[Path, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Number:
    """An option that is a number from 0 to `most`."""

    name: str
    metavar: str
    most: float
    help: str


NUMBERS = (
    _Number(
        "min_score",
        "N",
        100,
        "gate: every system's score must be at least N (0..100). Failing criteria are shown, the gates decide: exit 0 "
        "all met, 1 one not met, 10 inconclusive (something not assessed could turn one)",
    ),
    _Number("min_task_score", "N", 100, "gate: every system's score on every task must be at least N (0..100)"),
    _Number(
        "min_executed",
        "PERCENT",
        100,
        "gate, first layer of acceptance: every system must earn at least PERCENT of the points for work that is "
        "executed and traceable (criteria 1.1, 1.3, 1.4), mean over findings",
    ),
    _Number(
        "min_tested",
        "PERCENT",
        100,
        "gate, second layer: every system must earn at least PERCENT of the points for findings that are tested "
        "(robustness, controls, separate data, next test), mean over findings",
    ),
    _Number(
        "margin", "N", 100, f"points by which a system may be worse than the baseline (default {DEFAULT_MARGIN:g})"
    ),
    _Number(
        "power",
        "PERCENT",
        99,
        "with a baseline: nothing is decided on differences that the tasks would not show with this power (say 80), if "
        "that is more than the margin; the gate then tells the smallest difference that they would show",
    ),
    _Number(
        "max_not_assessed",
        "PERCENT",
        100,
        "gate: of every system's criteria, at most PERCENT may have no level (not assessed, or in error)",
    ),
    _Number(
        "max_judge_errors",
        "PERCENT",
        100,
        "gate: judging may have failed for at most PERCENT of the criteria that a judge was asked about",
    ),
    _Number(
        "max_run_cost",
        "USD",
        math.inf,
        "gate: the recorded answers that judged a run may have cost at most USD, for every run; inconclusive where a "
        "cost is not recorded",
    ),
    _Number(
        "min_kappa",
        "K",
        1,
        "gate, with a calibration: the judge's weighted kappa with people must be at least K (0..1); "
        "inconclusive where its 95 percent interval holds K, or where the calibration has expired",
    ),
)
PAIRS = (
    _Number(
        "min_dimension",
        "ID=PERCENT",
        100,
        "gate: every system must earn at least PERCENT of the points of dimension ID, mean over findings (repeatable)",
    ),
    _Number(
        "min_criterion",
        "ID=LEVEL",
        1,
        "gate: every system's mean level (0..1) of criterion ID, over all findings, must be LEVEL or more (repeatable)",
    ),
)
FLAGS = {
    "no_fall": "gate, with a baseline: no criterion that held at level 1 in it may fall to 0 (findings matched by id)",
    "allow_mixed": "compare with a baseline that another rubric or judge has scored; every output then says so",
}
BASELINE = (
    "gate: no system may be worse than the baseline by --sciagent-margin points, in a paired one-sided test over the "
    "shared tasks. Frozen runs, scored as the session's by what is recorded, or a file that --sciagent-json wrote. A "
    "baseline of one system is compared with every system, one of several by name"
)
CALIBRATION = (
    "a file that `sciagent calibrate` wrote, or a folder of such files (default: the folder calibration/ in the root, "
    "where there is one): how far the judge agrees with people is told with every score, and so is that it was not "
    "measured, or has expired (other parameters of the judge, other prompts, another rubric)"
)
NO_GATES = (
    "decide no gate, also none that the configuration asks for: to look at a part (-k, -m, --lf), which decides none. "
    "A failing criterion then fails the session"
)
PROMPTS_FROM = (
    "the prompts that are to be judged: a run whose recorded prompts (path and SHA-256 in run.json) are not the files "
    "in DIR, or that records none, leaves every gate, and a session without a gate, inconclusive (exit 10)"
)
CHANGED_PROMPT = (
    "with --sciagent-prompts-from: a changed prompt that at least one run must have been made with, else inconclusive "
    "(repeatable)"
)


def add_gates(group: Any, parser: pytest.Parser) -> None:
    """Declare the options and their ini twins."""
    for number in NUMBERS:
        group.addoption(_option(number.name), type=float, default=None, metavar=number.metavar, help=number.help)
    for pair in PAIRS:
        group.addoption(_option(pair.name), action="append", default=[], metavar=pair.metavar, help=pair.help)
    group.addoption("--sciagent-baseline", default=None, metavar="RUNS|FILE", help=BASELINE)
    group.addoption("--sciagent-calibration", default=None, metavar="FILE|DIR", help=CALIBRATION)
    for name, text in FLAGS.items():
        group.addoption(_option(name), action="store_true", default=False, help=text)
    group.addoption("--sciagent-no-gates", action="store_true", default=False, help=NO_GATES)
    group.addoption("--sciagent-prompts-from", default=None, metavar="DIR", help=PROMPTS_FROM)
    group.addoption("--sciagent-changed-prompt", action="append", default=[], metavar="FILE", help=CHANGED_PROMPT)
    twins: list[tuple[str, Any]] = [(number.name, "string") for number in NUMBERS] + [
        ("baseline", "string"),
        ("calibration", "string"),
        ("prompts_from", "string"),
    ]
    twins += [(pair.name, "args") for pair in PAIRS] + [(name, "bool") for name in FLAGS]
    for name, kind in twins:
        parser.addini(f"sciagent_{name}", f"gate, as {_option(name)}", type=kind)


def read_gates(config: pytest.Config) -> GateOptions:
    """The gates of this session.

    Raises:
        pytest.UsageError: a value that can't be used.
    """
    if config.getoption("sciagent_no_gates"):
        return GateOptions(calibration=_path(config, "calibration"))
    values: dict[str, Any] = {}
    for number in NUMBERS:
        found = _number(config, number)
        if found is not None:
            values[number.name] = found
    for pair in PAIRS:
        values[pair.name] = _pairs(config, pair)
    for name in FLAGS:
        values[name] = config.getoption(f"sciagent_{name}") or config.getini(f"sciagent_{name}")
    values |= _prompts(config)
    values["calibration"] = _path(config, "calibration")
    baseline = _path(config, "baseline")
    if baseline is not None:
        values["baseline"] = baseline
    else:
        for name in NEEDS_BASELINE:
            if config.getoption(f"sciagent_{name}") not in (None, False):
                raise pytest.UsageError(f"{_option(name)} belongs to a baseline: name it with --sciagent-baseline")
    return GateOptions(**values, origins=_origins(config))


def _origins(config: pytest.Config) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in (*(number.name for number in NUMBERS), "baseline", "prompts_from"):
        given = config.getoption(f"sciagent_{name}")
        value = config.getini(f"sciagent_{name}") if given is None else given
        found[name] = _origin(config, name, f"{value:g}" if isinstance(value, float) else str(value))
    for name in FLAGS:
        found[name] = _origin(config, name, "true")
    for pair in PAIRS:
        key = f"sciagent_{pair.name}"
        for text in config.getoption(key) or config.getini(key):
            found[f"{pair.name} {text.partition('=')[0]}"] = _origin(config, pair.name, text)
    return found


def _origin(config: pytest.Config, name: str, text: str) -> str:
    """How the user wrote the option `name` and its value, and where: `--sciagent-min-score=60 (command line)`."""
    option, key = _option(name), f"sciagent_{name}"
    file = "the configuration" if config.inipath is None else config.inipath.name
    if config.getoption(key) in (None, False, []):
        overridden = any(one.startswith(f"{key}=") for one in config.getoption("override_ini") or ())
        return f"{key} = {text} ({'command line' if overridden else file})"
    written = option if name in FLAGS else f"{option}={text}"
    if any(str(one).startswith(option) for one in config.invocation_params.args):
        return f"{written} (command line)"
    return f"{written} ({'PYTEST_ADDOPTS' if option in os.environ.get('PYTEST_ADDOPTS', '') else f'addopts in {file}'})"


def _path(config: pytest.Config, name: str) -> Path | None:
    """The path given by the option, from where pytest was started; else by its ini twin, from the root."""
    given, base = config.getoption(f"sciagent_{name}"), config.invocation_params.dir
    if not given:
        given, base = str(config.getini(f"sciagent_{name}")), config.rootpath
    return Path(os.path.abspath(base / given)) if given else None  # noqa: PTH100 - links are kept


def _prompts(config: pytest.Config) -> dict[str, Any]:
    folder = _path(config, "prompts_from")
    if folder is not None and not folder.is_dir():
        raise pytest.UsageError(f"--sciagent-prompts-from {folder}: no such folder")
    changed = tuple(config.invocation_params.dir / file for file in config.getoption("sciagent_changed_prompt"))
    if changed and folder is None:
        raise pytest.UsageError("--sciagent-changed-prompt: say where prompts lie with --sciagent-prompts-from")
    return {"prompts_from": folder, "changed_prompts": changed}


def _option(name: str) -> str:
    return f"--sciagent-{name.replace('_', '-')}"


def _number(config: pytest.Config, number: _Number) -> float | None:
    value = config.getoption(f"sciagent_{number.name}")
    if value is None:
        name = f"sciagent_{number.name}"
        text = str(config.getini(name))
        return _parsed(text, name, number) if text else None
    _check(value, _option(number.name), number)
    return float(value)


def _pairs(config: pytest.Config, pair: _Number) -> tuple[tuple[str, float], ...]:
    ini = f"sciagent_{pair.name}"
    option = _option(pair.name) if config.getoption(ini) else ini
    found: dict[str, float] = {}
    for text in config.getoption(ini) or config.getini(ini):
        id, _, value = text.partition("=")
        if not id or not value:
            raise pytest.UsageError(f"{option} {text!r}: write {pair.metavar}")
        if id in found:
            raise pytest.UsageError(f"{option}: {id!r} is given twice")
        found[id] = _parsed(value, f"{option} {id}", pair)
    return tuple(found.items())


def _parsed(text: str, name: str, number: _Number) -> float:
    try:
        value = float(text)
    except ValueError:
        raise pytest.UsageError(f"{name} {text!r} is not a number") from None
    _check(value, name, number)
    return value


def _check(value: float, name: str, number: _Number) -> None:
    if not (math.isfinite(value) and 0 <= value <= number.most):
        range_ = "0 or more" if number.most == math.inf else f"from 0 to {number.most:g}"
        raise pytest.UsageError(f"{name} {value}: a number {range_}")
