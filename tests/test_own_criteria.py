"""Criteria, judges, checks, rubrics and observers that a user brings along."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sample import QUOTE, RUBRIC, Cohort, outcomes, sciagent

OWN = """\
import pytest
from pytest_sciagent import Verdict, criterion

@criterion('own.level', dimension='house', weight=3)
def level(finding, artifacts):
    '''Does the finding name a table?'''
    return 1 if artifacts.of(finding.artifacts, 'result') else 0

@criterion('own.pair')
def pair(run):
    return 0.5, f'only {run.manifest.task_id}'

@criterion('own.bool')
def boolean():
    return True

@criterion('own.zero')
def zero():
    return 0, 'nothing\\nto see'

@criterion('own.verdict')
def verdict(finding):
    return Verdict(criterion_id='ignored', status='not_assessed', reason='no idea', reason_code='unsure')

@criterion('own.assert')
def asserts(finding):
    value = 3
    assert value == finding.number, 'not this one'

@criterion('own.fail')
def fails():
    pytest.fail('given up')

@criterion('own.skip')
def skips():
    pytest.skip('not here')

@criterion('own.raises')
def raises():
    raise ValueError('oh dear')

@pytest.fixture
def broken(artifacts):
    return artifacts.of(3)

@criterion('own.fixture')
def with_fixture(broken):
    return 1

@criterion('own.unknown')
def unknown(artefacts):
    return 1

@criterion('own.role')
def role(finding, artifacts):
    return 1 if artifacts.of(finding.artifacts, 'code') else 0

@criterion('own.wrong')
def wrong():
    return 'good'

@criterion('own.run', scope='run')
def whole(run, finding, task, criterion, artifacts):
    '''Is the run whole?'''
    assert finding is None
    assert criterion.question == 'Is the run whole?'
    return 1, f'{task.id} {len(run.files)} {type(artifacts).__name__}'
"""


def own_verdicts(cohort: Cohort, *args: str, **how: bool) -> dict[str, dict[str, object]]:
    (run,) = cohort.results("--sciagent-run=runs", *args, **how)["runs"]
    found = {v["criterion_id"]: v for finding in run["findings"] for v in finding["criteria"]}
    return found | {v["criterion_id"]: v for v in run["criteria"]}


@pytest.mark.parametrize("extra", [[], ["-n1"]], ids=["n0", "n1"])
@pytest.mark.parametrize("where", ["conftest.py", "house.py"])
def test_own_criteria_end_at_their_outcome(cohort: Cohort, where: str, extra: list[str]) -> None:
    cohort.run(findings=1)
    cohort.record()
    (cohort.root / where).write_text(OWN)
    fresh = where == "house.py"  # its workers take sys.path from a process of its own
    if fresh:
        extra = [*extra, "-p", "house"]
    result = cohort.pytest("--sciagent-run=runs", "-k", "own", *extra, fresh=fresh)
    expected = {"passed": 3, "half": 1, "failed": 3, "not assessed": 2, "error": 5}
    assert {k: v for k, v in outcomes(result).items() if k != "deselected"} == expected
    result.stdout.fnmatch_lines_random(
        [
            "nothing to see",
            "E*AssertionError: not this one",
            "E*Failed: given up",
            "E*ValueError: oh dear",
            f"check_error: criterion 'own.wrong' ({where}:58) must return 1, 0.5 or 0, (level, reason) or a Verdict, *",
            f"  1 x own.raises: check_error: ValueError: oh dear ({where}:40)",
            "criteria of your own (beside the score; -m own_criterion selects them)",
            "  own.pair: 1 at 0.5",
            "  own.wrong: 1 in error",
        ]
    )
    # What the user's code called of this package is not shown, and what calls it neither.
    assert "of(self" not in result.stdout.str()
    assert "items.py" not in result.stdout.str()
    found = own_verdicts(cohort, *(["-p", "house"] if fresh else []), fresh=fresh)
    assert {name: (v["status"], v["level"]) for name, v in found.items() if name.startswith("own")} == {
        "own.level": ("assessed", 1),
        "own.pair": ("assessed", 0.5),
        "own.bool": ("assessed", 1),
        "own.zero": ("assessed", 0),
        "own.verdict": ("not_assessed", None),
        "own.assert": ("assessed", 0),
        "own.fail": ("assessed", 0),
        "own.skip": ("not_assessed", None),
        "own.raises": ("check_error", None),
        "own.fixture": ("check_error", None),
        "own.unknown": ("check_error", None),
        "own.role": ("check_error", None),
        "own.wrong": ("check_error", None),
        "own.run": ("assessed", 1),
    }
    assert found["own.pair"]["reason"] == "only t1"
    assert found["own.run"]["reason"] == "t1 3 Artifacts"
    assert found["own.raises"]["reason"] == f"ValueError: oh dear ({where}:40)"
    assert found["own.fixture"]["reason"] == f"TypeError: 'int' object is not iterable ({where}:44)"
    assert str(found["own.role"]["reason"]).startswith("ValueError: files have no role 'code': choose from analysis_s")
    assert found["own.unknown"]["reason"] == f"there is no fixture 'artefacts' ({where}:50)"


def test_own_criteria_never_change_the_score_of_the_rubric(cohort: Cohort) -> None:
    cohort.run(findings=1)
    cohort.record()
    before = cohort.results("--sciagent-run=runs")
    (cohort.root / "conftest.py").write_text(OWN)
    after = cohort.results("--sciagent-run=runs")
    assert after["systems"] == before["systems"]
    assert after["runs"][0]["score"] == before["runs"][0]["score"]


def test_marks_names_and_selection_of_own_criteria(cohort: Cohort) -> None:
    cohort.run()
    (cohort.root / "conftest.py").write_text(OWN)
    for args in (
        ["-m", 'dimension(id="house")'],
        ["-k", "own.level"],
        ["-m", "weight(value=3)"],
        ["-m", "own_criterion", "-k", "level"],
    ):
        assert outcomes(cohort.pytest("--sciagent-run=runs", *args))["passed"] == 2, args
    result = cohort.pytest("runs/alpha/t1/run.json::finding_2::own.pair")
    assert outcomes(result) == {"half": 1}
    result = cohort.pytest("runs/alpha/t1/run.json::run::own.run")
    assert outcomes(result) == {"passed": 1}


def test_fixtures_of_the_users_own_in_every_scope(cohort: Cohort) -> None:
    cohort.run("alpha")
    cohort.run("beta")
    (cohort.root / "conftest.py").write_text(
        "import pytest\nfrom pytest_sciagent import criterion\n\n"
        + "".join(
            f"@pytest.fixture(scope='{scope}')\ndef per_{scope}(request):\n"
            f"    print('\\nMADE {scope}', request.node.name)\n    yield '{scope}'\n    print('\\nGONE {scope}')\n\n"
            for scope in ("function", "class", "module", "package", "session")
        )
        + "@criterion('own.scopes')\n"
        "def scopes(finding, per_function, per_class, per_module, per_package, per_session, tmp_path, capsys):\n"
        "    return 1\n"
    )
    result = cohort.pytest("--sciagent-run=runs", "-k", "own", "-s")
    assert {k: v for k, v in outcomes(result).items() if k != "deselected"} == {"passed": 4}
    text = result.stdout.str()
    counts = {s: text.count(f"MADE {s}") for s in ("function", "class", "module", "package", "session")}
    assert counts == {"function": 4, "class": 4, "module": 2, "package": 1, "session": 1}
    assert all(text.count(f"GONE {s}") == n for s, n in counts.items())


def test_output_of_an_own_criterion_is_shown_where_it_fails(cohort: Cohort) -> None:
    cohort.run(findings=1)
    (cohort.root / "conftest.py").write_text(
        "from pytest_sciagent import criterion\n\n"
        "@criterion('own.loud')\ndef loud():\n    print('LOUD')\n    return 0\n"
    )
    result = cohort.pytest("--sciagent-run=runs", "-k", "own")
    result.stdout.fnmatch_lines(["*Captured stdout setup*", "LOUD"])


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("@criterion('a b')\ndef one(): return 1", "your criterion 'a b' (conftest.py:3): id: *"),
        (
            "@criterion('a', weight=0)\ndef one(): return 1",
            "your criterion 'a' (conftest.py:3): weight: *must not be 0*",
        ),
        (
            "@criterion('a', weight=float('nan'))\ndef one(): return 1",
            "your criterion 'a' (conftest.py:3): weight: *finite*",
        ),
        ("@criterion('a', scope='team')\ndef one(): return 1", "your criterion 'a' (conftest.py:3): scope: *"),
        (
            "@criterion('a')\ndef one(): return 1\n\n@criterion('a')\ndef two(): return 1",
            "two criteria of your own are called 'a', in conftest.py:3 and in conftest.py:6: rename one",
        ),
        (
            "@criterion('ev.full')\ndef one(): return 1",
            "your criterion 'ev.full' (conftest.py:3) has the id of a rubric's criterion*",
        ),
    ],
)
def test_own_criteria_that_can_not_be_used(cohort: Cohort, code: str, message: str) -> None:
    cohort.run()
    (cohort.root / "conftest.py").write_text(f"from pytest_sciagent import criterion\n\n{code}\n")
    result = cohort.pytest("--sciagent-run=runs")
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: {message}"])
    assert "Traceback" not in result.stdout.str() + result.stderr.str()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("house.one", "two criteria of your own are called 'house.one', in conftest.py:3 and in {place}:3*"),
        ("ev.full", "your criterion 'ev.full' ({place}:3) has the id of a rubric's criterion*"),
    ],
)
@pytest.mark.parametrize("extra", [[], ["-n1"]], ids=["n0", "n1"])
def test_criteria_of_a_conftest_beside_the_runs_that_can_not_be_used(
    cohort: Cohort, name: str, message: str, extra: list[str]
) -> None:
    """It is found while collecting: pytest would only say that it found no collectors."""
    cohort.run()
    code = "from pytest_sciagent import criterion\n\n@criterion({!r})\ndef one(): return 1\n"
    (cohort.root / "conftest.py").write_text(code.format("house.one"))
    (cohort.root / "runs" / "conftest.py").write_text(code.format(name))
    result = cohort.pytest("--sciagent-run=runs", *extra)
    wanted = message.format(place="runs/conftest.py")
    if extra:
        result.stdout.fnmatch_lines([wanted])
    else:
        assert result.ret == 4
        result.stderr.fnmatch_lines([f"ERROR: {wanted}"])
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    assert "collectors" not in result.stderr.str()


def test_fixtures_are_for_criteria_only(cohort: Cohort) -> None:
    cohort.run()
    (cohort.root / "test_own.py").write_text("def test_it(finding): pass\n\ndef test_judge(judge): assert judge\n")
    result = cohort.pytest("test_own.py")
    assert outcomes(result) == {"passed": 1, "error": 1}
    result.stdout.fnmatch_lines(["*fixture 'finding' of pytest-sciagent is for criteria; *test_it is none"])


# ---- a judge of the user's own

JUDGE = f"""\
import json, pathlib, pytest
from pytest_sciagent import Judge, JudgeIdentity

class Scripted(Judge):
    identity = JudgeIdentity(kind='house', model='scripted')

    def ask(self, prompt):
        with open(pathlib.Path(__file__).parent / 'asked.txt', 'a') as log:
            log.write(prompt.schema_name + '\\n')
        if prompt.schema_name == 'verdict':
            return {{'rationale': 'because', 'citations': [{{'file': 'output/Result.md', 'quote': {QUOTE!r}}}],
                    'zero': False, 'full': True, 'half': False}}
        if prompt.schema_name == 'grouping':
            return json.dumps({{'rationale': 'all alike', 'groups': []}})
        if prompt.schema_name == 'plan':
            return {{'rationale': 'nothing to recalculate', 'plans': []}}
        return None
"""
BY_FIXTURE = JUDGE + "\n@pytest.fixture(scope='session')\ndef judge():\n    return Scripted()\n"
BY_HOOK = JUDGE + (
    "\ndef pytest_sciagent_judge(config, kind, model):\n    return Scripted() if kind == 'house' else None\n"
)


def asked(cohort: Cohort) -> list[str]:
    log = cohort.root / "asked.txt"
    return sorted(log.read_text().split()) if log.exists() else []


HOOK = ["--sciagent-judge=house:scripted"]
RECORD = ["--sciagent-ledger-mode=record"]
WAYS = [(BY_FIXTURE, []), (BY_HOOK, HOOK)]
PARALLEL = pytest.mark.parametrize(
    ("code", "options", "extra"),
    [(BY_FIXTURE, [], []), (BY_HOOK, HOOK, []), (BY_HOOK, HOOK, ["-n1"])],
    ids=["fixture", "hook", "hook-n1"],
)


@pytest.mark.parametrize(
    ("code", "options", "extra"),
    [(BY_FIXTURE, RECORD, []), (BY_HOOK, HOOK, []), (BY_HOOK, HOOK, ["-n1"])],
    ids=["fixture", "hook", "hook-n1"],
)
def test_an_own_judge_is_asked_once_checked_and_recorded(
    cohort: Cohort, code: str, options: list[str], extra: list[str]
) -> None:
    cohort.run()
    (cohort.root / "conftest.py").write_text(code)
    found = cohort.results("--sciagent-run=runs", "--sciagent-profile=truthinsight", *options, *extra, code=0)
    assert found.pop("spending")["spent"]["calls"] == 11
    assert found["judge"] == {"kind": "house", "model": "scripted", "parameters": {}}
    (run,) = found["runs"]
    # 0.60 * 100 + 0.20 * 100 + 4 + 2; the task has no reference, so the target stays open
    assert run["score"] == {"low": 86, "high": 96}
    assert run["groups"] == [["finding_1"], ["finding_2"]]
    verdict = run["findings"][0]["criteria"][0]
    assert verdict["citations"] == [{"file": "output/Result.md", "place": "line 5", "quote": QUOTE, "verified": True}]
    assert asked(cohort) == ["grouping", "plan", "plan", *["verdict"] * 8]

    record = json.loads((cohort.root / "verdicts" / "alpha" / "t1.json").read_text())
    assert len(record["entries"]) == 11
    assert {e["judge"]["kind"] for e in record["entries"]} == {"house"}
    assert not list((cohort.root / ".sciagent" / "work").glob("*"))

    again = cohort.results("--sciagent-run=runs", "--sciagent-profile=truthinsight", *options, code=0)
    assert again.pop("spending")["saved"]["answers"] == 11
    assert again == found
    assert len(asked(cohort)) == 11

    (cohort.root / "conftest.py").unlink()
    replayed = cohort.results("--sciagent-run=runs", "--sciagent-profile=truthinsight", code=0)
    assert replayed.pop("spending")["saved"]["answers"] == 11
    assert replayed == found


@pytest.mark.parametrize(("code", "options"), WAYS, ids=["fixture", "hook"])
def test_what_an_own_judge_says_is_checked(cohort: Cohort, code: str, options: list[str]) -> None:
    cohort.run(findings=1)
    (cohort.root / "conftest.py").write_text(code.replace(repr(QUOTE), "'words that stand nowhere'"))
    result = cohort.pytest("--sciagent-run=runs", *options)
    assert outcomes(result) == {"error": 4}
    result.stdout.fnmatch_lines(
        ["unverified: no cited passage above level 0 was found in the frozen files (*): because"]
    )


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ("raise RuntimeError('down')", "provider_error: RuntimeError: down (conftest.py:*)"),
        ("return 'no json'", "invalid: not_json: *"),
        ("return {'zero': True}", "invalid: wrong_shape: *"),
        ("return {'a': object()}", "provider_error: TypeError: *"),
        ("return 5", "invalid: wrong_shape: *"),
    ],
)
def test_a_judge_that_fails_is_an_error_and_asked_again(cohort: Cohort, answer: str, status: str) -> None:
    cohort.run(findings=1)
    code = BY_FIXTURE.replace("        if prompt.schema_name == 'verdict':", f"        {answer}\n        if True:")
    (cohort.root / "conftest.py").write_text(code)
    result = cohort.pytest("--sciagent-run=runs")
    assert outcomes(result) == {"error": 4}
    result.stdout.fnmatch_lines([status])
    assert outcomes(cohort.pytest("--sciagent-run=runs")) == {"error": 4}
    assert asked(cohort).count("verdict") == 8
    (cohort.root / "conftest.py").write_text(BY_FIXTURE)
    assert outcomes(cohort.pytest("--sciagent-run=runs")) == {"passed": 4}


def test_a_judge_that_does_not_answer_leaves_it_open(cohort: Cohort) -> None:
    cohort.run(findings=1)
    code = BY_FIXTURE.replace("        if prompt.schema_name == 'verdict':", "        return None\n        if True:")
    (cohort.root / "conftest.py").write_text(code)
    assert outcomes(cohort.pytest("--sciagent-run=runs")) == {"not assessed": 4}


@pytest.mark.parametrize("extra", [[], ["-n1"]], ids=["n0", "n1"])
def test_what_a_fixture_judges_is_not_recorded_unless_the_user_says_so(cohort: Cohort, extra: list[str]) -> None:
    """Recording follows naming: a session that nobody asked to record leaves no second judge for the next one."""
    cohort.run()
    cohort.record()
    record = cohort.root / "verdicts" / "alpha" / "t1.json"
    before = record.read_bytes()
    plain = cohort.results("--sciagent-run=runs", "--sciagent-profile=truthinsight")
    (cohort.root / "conftest.py").write_text(BY_FIXTURE)
    found = cohort.results("--sciagent-run=runs", "--sciagent-profile=truthinsight", *extra, code=0)
    # Who is told to have judged is who did, also where another judge is recorded.
    assert found["judge"] == {"kind": "house", "model": "scripted", "parameters": {}}
    assert found["runs"][0]["score"] == {"low": 86, "high": 96}
    told = "new answers of house:scripted (a judge fixture) are not recorded; --sciagent-ledger-mode=record does so"
    assert found["notes"] == [told]
    assert record.read_bytes() == before
    assert not list(cohort.root.glob(".sciagent/*/*.jsonl"))
    (cohort.root / "conftest.py").unlink()
    assert cohort.results("--sciagent-run=runs", "--sciagent-profile=truthinsight") == plain


@pytest.mark.parametrize(("code", "options"), [(BY_FIXTURE, RECORD), (BY_HOOK, HOOK)], ids=["fixture", "hook"])
def test_replay_asks_nobody(cohort: Cohort, code: str, options: list[str]) -> None:
    cohort.run(findings=1)
    (cohort.root / "conftest.py").write_text(code)
    cohort.pytest("--sciagent-run=runs", *options, "-k", "ev.full")
    assert asked(cohort) == ["verdict"]  # a single item is not asked for the score of its run
    result = cohort.pytest("--sciagent-run=runs", *options, "--sciagent-ledger-mode=replay")
    assert outcomes(result) == {"passed": 1, "not assessed": 3}
    assert asked(cohort) == ["verdict"]


@PARALLEL
def test_refresh_asks_everything_once_more(cohort: Cohort, code: str, options: list[str], extra: list[str]) -> None:
    cohort.run(findings=1)
    (cohort.root / "conftest.py").write_text(code)
    cohort.pytest("--sciagent-run=runs", *options)
    assert asked(cohort) == ["plan", *["verdict"] * 4]
    refresh = "--sciagent-ledger-mode=refresh"
    assert outcomes(cohort.pytest("--sciagent-run=runs", *options, *extra, refresh)) == {"passed": 4}
    assert asked(cohort) == ["plan", "plan", *["verdict"] * 8]


@PARALLEL
def test_live_leaves_no_trace(cohort: Cohort, code: str, options: list[str], extra: list[str]) -> None:
    cohort.run(findings=1)
    (cohort.root / "conftest.py").write_text(code)
    found = cohort.results(
        "--sciagent-run=runs", "--sciagent-profile=truthinsight", "--sciagent-ledger-mode=live", *options, *extra
    )
    assert found["runs"][0]["score"] == {"low": 64, "high": 74}
    assert not (cohort.root / "verdicts").exists()
    assert not (cohort.root / ".sciagent").exists()
    assert outcomes(cohort.pytest("--sciagent-run=runs", "--sciagent-ledger-mode=replay")) == {"not assessed": 4}


def test_a_fixture_that_gives_no_judge_is_told(cohort: Cohort) -> None:
    cohort.run(findings=1)
    (cohort.root / "conftest.py").write_text("import pytest\n\n@pytest.fixture\ndef judge():\n    return 'me'\n")
    result = cohort.pytest("--sciagent-run=runs")
    assert outcomes(result) == {"error": 4}
    result.stdout.fnmatch_lines(["the fixture 'judge' must give a pytest_sciagent.Judge, not str"])


def test_a_hook_that_gives_no_judge_is_told(cohort: Cohort) -> None:
    cohort.run(findings=1)
    (cohort.root / "conftest.py").write_text("def pytest_sciagent_judge(config, kind, model):\n    return 'me'\n")
    result = cohort.pytest("--sciagent-run=runs", "--sciagent-judge=house:x")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: the hook pytest_sciagent_judge must return a Judge that has an identity"])


def test_an_own_criterion_may_ask_the_judge(cohort: Cohort) -> None:
    cohort.run(findings=1)
    (cohort.root / "conftest.py").write_text(
        BY_FIXTURE
        + "\nfrom pytest_sciagent import criterion\n\n"
        + "@criterion('own.asks')\ndef asks(judge):\n    return 1, judge.identity.label\n"
    )
    result = cohort.pytest("--sciagent-run=runs", "-k", "own")
    assert outcomes(result) == {"passed": 1, "deselected": 4}


# ---- hooks

CHECK = """\
from pytest_sciagent import Citation, decided, not_assessed

def tables(context):
    tables = [f.path for f in context.run.with_role('result')]
    if context.finding is not None and context.finding.number == 2:
        return not_assessed('only the first', 'second', {'n': len(tables)})
    quote = Citation(file='output/results/table.csv', quote='2000,2.50')
    return decided(1, f'{len(tables)} tables', 'tables', {'n': len(tables)}, (quote,))

def pytest_sciagent_checks(config):
    return {'own.tables': tables}
"""


def one_check(name: str, **more: object) -> str:
    values = "".join(f", {key}: {value}" for key, value in more.items())
    levels = "{1: a, 0.5: b, 0: c}"
    return f"  - {{id: c.one, dimension: evidence, weight: 5, question: q, levels: {levels}, check: {name}{values}}}\n"


def test_own_checks_need_a_passage_that_code_finds(cohort: Cohort) -> None:
    cohort.run()
    (cohort.root / "rubrics" / "small.yaml").write_text(RUBRIC + one_check("own.tables"))
    (cohort.root / "conftest.py").write_text(CHECK)
    assert outcomes(cohort.pytest("--sciagent-run=runs")) == {"passed": 1, "not assessed": 1}
    (cohort.root / "conftest.py").write_text(CHECK.replace("2000,2.50", "2000,9.99"))
    result = cohort.pytest("--sciagent-run=runs")
    assert outcomes(result) == {"error": 1, "not assessed": 1}
    cites = "the check cites no passage that stands in a frozen file"
    where = "'2000,9.99' in output/results/table.csv: these words do not stand there"
    result.stdout.fnmatch_lines(
        [f"unverified: {cites} ({where}; *: 1 tables", f"  1 x c.one: unverified: {cites} ({where}*"]
    )
    (cohort.root / "conftest.py").write_text(CHECK.replace("2000,2.50", "50"))
    short = cohort.pytest("--sciagent-run=runs")
    short.stdout.fnmatch_lines([f"*{cites} ('50' in output/results/table.csv: 2 characters are too short; *"])


def test_checks_of_criteria_of_the_run(cohort: Cohort) -> None:
    cohort.run()
    (cohort.root / "rubrics" / "small.yaml").write_text(RUBRIC + one_check("own.tables", scope="run"))
    (cohort.root / "conftest.py").write_text(CHECK)
    found = cohort.results("--sciagent-run=runs", code=0)
    (verdict,) = found["runs"][0]["criteria"]
    assert (verdict["criterion_id"], verdict["level"]) == ("c.one", 1)
    assert found["runs"][0]["score"] == {"low": 100, "high": 100}


@pytest.mark.parametrize("name", ["evidence.data_identity", "twice"])
def test_a_check_can_not_replace_another(cohort: Cohort, name: str) -> None:
    cohort.run()
    (cohort.root / "conftest.py").write_text(f"def pytest_sciagent_checks(config):\n    return {{{name!r}: print}}\n")
    (cohort.root / "more.py").write_text("def pytest_sciagent_checks(config):\n    return {'twice': print}\n")
    (cohort.root / "rubrics" / "small.yaml").write_text(RUBRIC + one_check("own.tables"))
    cohort.pytester.syspathinsert()
    result = cohort.pytest("--sciagent-run=runs", "-p", "more")
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: a check named '{name}' exists already; give yours another name"])


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "def pytest_sciagent_checks(config):\n    return {}['x']",
            "pytest_sciagent_checks failed: KeyError: 'x' *:2)",
        ),
        ("def pytest_sciagent_checks(config):\n    return ['x']", "pytest_sciagent_checks must return a dict *"),
        ("def pytest_sciagent_rubrics(config):\n    return 'x'", "pytest_sciagent_rubrics must return a list, not str"),
        ("def pytest_sciagent_rubrics(config):\n    1 / 0", "pytest_sciagent_rubrics failed: ZeroDivisionError: *:2)"),
        (
            "def pytest_sciagent_scores(config, results):\n    1 / 0",
            "pytest_sciagent_scores failed: ZeroDivisionError: division by zero (conftest.py:2)",
        ),
        (
            "def pytest_sciagent_verdict(config, run):\n    1 / 0",
            "pytest_sciagent_verdict failed: ZeroDivisionError: *:2)",
        ),
    ],
)
def test_a_hook_that_fails_is_told_with_its_line(cohort: Cohort, code: str, message: str) -> None:
    cohort.run(findings=1)
    cohort.record()
    (cohort.root / "conftest.py").write_text(code)
    result = cohort.pytest("--sciagent-run=runs")
    assert result.ret == 4
    told = result.stdout if "results" in code or "run)" in code else result.stderr  # observers cost no result
    told.fnmatch_lines([f"ERROR: the hook {message}"])
    assert "alpha: 55.0..65.0" in result.stdout.str() or told is result.stderr
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()


RUBRICS = """\
from pathlib import Path
from pytest_sciagent import Rubric

MORE = Rubric.model_validate({
    'schema': 'sciagent-rubric/1', 'id': 'more', 'version': '1', 'kind': 'curated',
    'dimensions': [{'id': 'extra', 'weight': 1}],
    'criteria': [{'id': 'extra.one', 'dimension': 'extra', 'weight': 1, 'question': 'q',
                  'levels': {'1': 'a', '0.5': 'b', '0': 'c'}, 'judge': True}]})

def pytest_sciagent_rubrics(config):
    return [MORE, 'named', Path('files/third.yaml')]
"""


@pytest.mark.parametrize("extra", [[], ["-n1"]], ids=["n0", "n1"])
def test_rubrics_brought_by_a_hook_stand_beside_the_others(cohort: Cohort, extra: list[str]) -> None:
    cohort.run(findings=1)
    cohort.record()
    (cohort.root / "conftest.py").write_text(RUBRICS)
    text = (cohort.root / "rubrics" / "small.yaml").read_text()
    for path, id in (("rubrics/named.yaml", "named"), ("files/third.yaml", "third")):
        file = cohort.root / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(
            text.replace("id: small", f"id: {id}")
            .replace("id: ev.", f"id: {id}.")
            .replace("id: rob.", f"id: {id}_rob.")
        )
    found = cohort.results("--sciagent-run=runs", *extra, code=1)
    assert [r["id"] for r in found["rubrics"]] == ["small", "more", "named", "third"]
    assert [v["criterion_id"] for v in found["runs"][0]["findings"][0]["criteria"]][3:6] == [
        "rob.open",
        "extra.one",
        "named.full",
    ]
    assert found["runs"][0]["score"] == {"low": 55, "high": 65}  # the first rubric's


OBSERVER = """\
import json
from pathlib import Path

def pytest_sciagent_verdict(config, run, finding, verdict):
    with open('seen.txt', 'a') as log:
        log.write(f'{run} {finding} {verdict.criterion_id} {verdict.level}\\n')

def pytest_sciagent_scores(config, results):
    scores = {s.name: s.score.show() for s in results.systems}
    Path('scores.json').write_text(json.dumps([scores, results.decision.outcome]))
"""


@pytest.mark.parametrize("extra", [[], ["-n1"]], ids=["n0", "n1"])
def test_observers_hear_of_verdicts_and_scores_in_the_controller(cohort: Cohort, extra: list[str]) -> None:
    cohort.run(findings=1)
    cohort.record()
    (cohort.root / "conftest.py").write_text(OBSERVER)
    cohort.pytest("--sciagent-run=runs", "--sciagent-min-score=50", *extra)
    assert Path("seen.txt").read_text().splitlines() == [
        "alpha/t1 finding_1 ev.full 1.0",
        "alpha/t1 finding_1 ev.half 0.5",
        "alpha/t1 finding_1 rob.zero 0.0",
        "alpha/t1 finding_1 rob.open None",
    ]
    assert json.loads(Path("scores.json").read_text()) == [{"alpha": "55.0..65.0"}, "met"]


def test_a_task_with_placeholders_is_told_by_sessions_and_exports(cohort: Cohort) -> None:
    """It is part of each prompt: somebody would be asked about it, perhaps for money."""
    cohort.run()
    objective = cohort.root / "tasks" / "t1" / "objective.md"
    assert not [note for note in cohort.results("--sciagent-run=runs").get("notes", []) if "REPLACE" in note]
    objective.write_text(objective.read_text("utf-8") + "\nREPLACE: say what to investigate.\n", "utf-8")
    told = "task t1 still says REPLACE, also to judges; what is left: sciagent task check t1"
    assert told in cohort.results("--sciagent-run=runs")["notes"]
    code, _, err = sciagent("ledger", "export", "runs", "--as", "me", "--rubric", "small", "-o", "out.jsonl")
    assert (code, err.strip()) == (0, f"warning: {told}")


def test_a_task_without_a_study_needs_no_facts_of_one(cohort: Cohort) -> None:
    (cohort.root / "levels.csv").write_text("year,level\n2000,1.0\n")
    made = ("task", "new", "tasks/mine", "--data=levels.csv", "--title=Levels", "--domain=water", "--licence=own")
    code, out, err = cohort.sciagent(*made)
    assert (code, err) == (0, "")
    assert "sciagent assemble mine work/" in out
    task = cohort.root / "tasks" / "mine"
    assert not (task / "hidden").exists()
    assert "t0" not in (task / "task.yaml").read_text()
    for path in (p for p in task.rglob("*") if p.suffix in (".md", ".yaml")):
        path.write_text(path.read_text().replace("REPLACE", "year"))
    assert cohort.sciagent("assemble", "mine", "work")[0] == 0
    (cohort.root / "work" / "output" / "Result.md").write_text("## Finding 1: it rises\n\nBy 2.50.\n")
    code, _, err = cohort.sciagent("freeze", "work", "--task=mine", "--system=me", "-o", "runs/me/mine")
    assert (code, err) == (0, "")
    assert outcomes(cohort.pytest("--sciagent-run=runs", "-o", "sciagent_rubric=truthinsight")).keys() >= {
        "not assessed"
    }
