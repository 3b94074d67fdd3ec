"""Any value becomes plain, bounded data, and nothing that a verdict holds can end a session."""

from __future__ import annotations

import json
import math
import pathlib
from collections import OrderedDict, namedtuple
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from types import MappingProxyType
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample import RUBRIC, Cohort, outcomes

from pytest_sciagent.digest import sha256_json
from pytest_sciagent.plain import MAX_NODES, MAX_TEXT, to_plain


class Colour(Enum):
    RED = "red"


class Count(IntEnum):
    TWO = 2


class Loud(str):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Silent:
    def __repr__(self) -> str:
        raise RuntimeError("nothing to say")


Pair = namedtuple("Pair", "a b")
CYCLE: list[Any] = []
CYCLE.append(CYCLE)
WIDE: Any = 0
for _ in range(30):
    WIDE = [WIDE] * 200
DEEP: Any = 0
for _ in range(5000):
    DEEP = {"in": DEEP}

AWKWARD = {
    "surrogate": "a\ud800b",
    "nan": math.nan,
    "infinity": -math.inf,
    "decimal": Decimal("1.50"),
    "fraction": Fraction(1, 4),
    "path": pathlib.Path("/a/b"),
    "enum": Colour.RED,
    "int enum": Count.TWO,
    "text that refuses": Loud("loud"),
    "refuses": Silent(),
    "date": datetime(2026, 1, 2, tzinfo=UTC),
    "uuid": UUID(int=1),
    "bytes": b"\xff",
    "set": {3, 1, 2},
    "mixed set": {1, "a", None},
    "ordered": OrderedDict(a=1),
    "proxy": MappingProxyType({"a": 1}),
    "named": Pair(1, 2),
    "tuple keys": {(1, 2): "x", None: "y", 1.5: "z", "a\udcff": 1},
    "large": 10**30,
    "huge": 10**6000,
    "complex": 1 + 2j,
    "cycle": CYCLE,
    "wide": WIDE,
    "deep": DEEP,
    "long": "x" * 1_000_000,
    "many": list(range(100_000)),
    "numpy integer": np.int64(7),
    "numpy float": np.float32(0.5),
    "numpy nan": np.float64("nan"),
    "array": np.arange(3),
    "function": len,
    "class": Colour,
}


def check_plain(value: Any) -> None:
    """All types exact, text clean; counts nodes."""
    nodes = [value]
    count = 0
    while nodes:
        node = nodes.pop()
        count += 1
        assert node is None or type(node) in (bool, int, float, str, list, dict)
        if isinstance(node, dict):
            assert all(type(key) is str for key in node)
            nodes += [*node.keys(), *node.values()]
        elif isinstance(node, list):
            nodes += node
        elif isinstance(node, str):
            node.encode("utf-8")
            assert len(node) <= MAX_TEXT
    assert count <= 3 * MAX_NODES
    json.dumps(value, allow_nan=False)
    sha256_json(value)


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_values(name: str) -> None:
    check_plain(to_plain(AWKWARD[name]))
    check_plain(to_plain({"in": [AWKWARD[name], "after"]}))


def test_what_awkward_values_become() -> None:
    assert to_plain("a\ud800b") == "a?b"
    assert to_plain(math.nan) == "nan"
    assert to_plain(Decimal("1.50")) == "1.50"
    assert to_plain(Fraction(1, 4)) == 0.25
    assert to_plain(Colour.RED) == "red"
    assert to_plain(Count.TWO) == 2
    assert to_plain(Loud("loud")) == "loud"
    assert to_plain({3, 1, 2}) == [1, 2, 3]
    assert to_plain(Pair(1, 2)) == [1, 2]
    assert to_plain(np.int64(7)) == 7
    assert to_plain(10**30) == "1" + "0" * 30
    assert to_plain(2**53 - 1) == 2**53 - 1
    assert to_plain(Silent()) == "<Silent: RuntimeError>"
    assert to_plain([True, False, None, 0, 1.5]) == [True, False, None, 0, 1.5]


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.decimals()
    | st.fractions()
    | st.text(st.characters(exclude_categories=()))
    | st.binary()
    | st.datetimes()
    | st.sampled_from([*Colour, *Count])
    | st.complex_numbers(),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(st.characters(exclude_categories=())) | st.integers() | st.none(), inner)
        | st.frozensets(st.integers() | st.text())
    ),
    max_leaves=30,
)


@given(values)
def test_every_value_becomes_plain_and_then_stays_as_it_is(value: Any) -> None:
    plain = to_plain(value)
    check_plain(plain)
    assert to_plain(plain) == plain


AWKWARD_CONFTEST = """\
import math, enum, pathlib, decimal
from pytest_sciagent import CheckResult, Citation, Verdict, criterion

class Colour(enum.Enum):
    RED = 'red'

DEEP = 0
for _ in range(3000):
    DEEP = [DEEP]
FACTS = {'nan': math.nan, 'negative': -2**40, 'path': pathlib.Path('/a'), 'decimal': decimal.Decimal(1),
         'enum': Colour.RED,
         'surrogate': 'a\\ud800', 'deep': DEEP, 'wide': [[['x'] * 300] * 300] * 300, 'text': 'y' * 10**6,
         'large': 10**400, 5: 'key'}

def full(context):
    quote = Citation(file='output/Result.md', quote='The slope of the series is 2.50 units per year')
    return CheckResult('decided', 'z' * 10**6 + '\\ud800', 'fine', 1.0, FACTS, (quote,))

def facts(context):
    return CheckResult('facts', 'some', 'facts', facts=FACTS)

def broken(context):
    raise RuntimeError('no \\ud800 luck ' + 'z' * 10**5)

def nothing(context):
    return None

def bad_citation(context):
    return CheckResult('decided', 'r', 'c', 1.0, {}, ('not a citation',))

def bad_level(context):
    return CheckResult('decided', 'r', 'c', 0.7, {})

def pytest_sciagent_checks(config):
    return {'own.full': full, 'own.facts': facts, 'own.broken': broken, 'own.nothing': nothing,
            'own.citation': bad_citation, 'own.level': bad_level}

@criterion('own.verdict')
def verdict(finding):
    return Verdict.model_construct(criterion_id='x', status='assessed', level=decimal.Decimal('0.5'),
                                   reason='r\\ud800' * 10**5, reason_code='own', citations=(), receipt=None)

@criterion('own.bad')
def bad(finding):
    return Verdict.model_construct(status='assessed', level=0.7, reason=pathlib.Path('/a'))

@criterion('own.reason')
def reason(finding):
    return 1, 'a\\ud800\\x1b[31m' + 'b' * 10**6
"""
AWKWARD_RUBRIC = RUBRIC + "".join(
    f"  - {{id: {name}, dimension: evidence, weight: 1, question: q, levels: {{1: a, 0.5: b, 0: c}}, "
    f"check: {name}{', judge: true' if name == 'own.facts' else ''}}}\n"
    for name in ("own.full", "own.facts", "own.broken", "own.nothing", "own.citation", "own.level")
)


@pytest.mark.parametrize("extra", [[], ["-n1"], ["--setup-show"]], ids=["n0", "n1", "full"])
def test_no_content_of_a_verdict_ends_the_session(cohort: Cohort, extra: list[str]) -> None:
    cohort.run(findings=1)
    (cohort.root / "rubrics" / "small.yaml").write_text(AWKWARD_RUBRIC)
    (cohort.root / "conftest.py").write_text(AWKWARD_CONFTEST)
    result = cohort.pytest("--sciagent-run=runs", "--junitxml=junit.xml", "--sciagent-json=results.json", *extra)
    # own.full, own.reason pass; own.facts waits for a judge; own.verdict is half; the rest is in error
    assert outcomes(result) == {"passed": 2, "not assessed": 1, "half": 1, "error": 5}
    assert result.ret == 1
    (run,) = json.loads((cohort.root / "results.json").read_text("utf-8"))["runs"]
    verdicts = {v["criterion_id"]: v for v in run["findings"][0]["criteria"]}
    assert verdicts["own.full"]["level"] == 1
    assert verdicts["own.full"]["receipt"]["facts"]["nan"] == "nan"
    assert verdicts["own.verdict"]["level"] == 0.5
    for name in ("own.broken", "own.nothing", "own.citation", "own.level"):
        assert verdicts[name]["status"] == "check_error", name
    assert (cohort.root / "results.json").stat().st_size < 200_000
    assert (cohort.root / "junit.xml").stat().st_size < 200_000
