"""The deterministic checks: what earns a level, and above all what does not."""

from __future__ import annotations

import json
import textwrap
import time
from pathlib import Path

import pytest
from check_runs import FINISHED, STARTED, level, make_run, make_task, run_check
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_sciagent.checks.recompute import Recalculated, Recomputation
from pytest_sciagent.evidence import QuoteIndex
from pytest_sciagent.evidence.artifacts import Artifacts
from pytest_sciagent.models import Citation
from pytest_sciagent.runs import Run

IDENTITY, EXECUTION = "evidence.data_identity", "evidence.execution_receipt"
UNCERTAINTY, REPLICATION = "stability.uncertainty", "stability.replication"
SAMPLE, METHOD = "stability.sample_perturbation", "stability.method_perturbation"
SETS, CHECKED, RULE = (f"separated_validation.{name}" for name in ("provenance", "execution", "prefrozen_decision"))
NEXT = "next_test.prefrozen_executable_rule"

NAMED = "Evidence: `code/fit.py`, `results/fit.csv`."
PLAIN_CODE = "import pandas as pd\nd = pd.read_csv('data/cases.csv')\nd.to_csv('output/results/fit.csv')\n"
PLAIN_TABLE = "group,slope\na,0.21\nb,0.34\n"
PLAIN = {"code/fit.py": PLAIN_CODE, "results/fit.csv": PLAIN_TABLE}


def notebook(code: str, output: str | None) -> str:
    cell: dict[str, object] = {
        "cell_type": "code",
        "source": code,
        "metadata": {},
        "execution_count": None if output is None else 1,
    }
    shown = [] if output is None else [{"output_type": "stream", "name": "stdout", "text": output}]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{**cell, "outputs": shown}]})


# ---- 1.4 where numbers stand

SLOPES = {"results/fit.csv": "group,slope\na,-0.3127\nb,0.34\n"}


@pytest.mark.parametrize(
    "words", ["falls by", "decreased by about", "a decline of", "a mean reduction of", "a negative slope of", "minus"]
)
def test_a_number_whose_sign_stands_in_words_is_found_with_the_opposite_sign(tmp_path: Path, words: str) -> None:
    run = make_run(tmp_path, SLOPES, f"It is {words} **0.3127** mm, see `results/fit.csv`.")
    facts = run_check("evidence.artifact_traceability", run).facts
    assert facts["found_with_the_opposite_sign"] == [
        {
            "number": "0.3127",
            "words": words.removeprefix("a ").removeprefix("mean "),
            "stored": -0.3127,
            "file": "output/results/fit.csv",
            "place": "row 1, column slope",
        }
    ]
    assert (facts["not_found"], facts["numbers_stated"], facts["found_in_named_artifacts"]) == ([], 1, 0)


@pytest.mark.parametrize(
    "text",
    ["It rises by 0.3127.", "It falls to 0.3127.", "It falls by -0.34.", "It falls by 0.9127.", "It is +0.3127."],
)
def test_a_number_that_words_do_not_turn_is_not_found(tmp_path: Path, text: str) -> None:
    facts = run_check("evidence.artifact_traceability", make_run(tmp_path, SLOPES, f"{text} `results/fit.csv`")).facts
    assert "found_with_the_opposite_sign" not in facts
    assert len(facts["not_found"]) == 1


# ---- 1.1 data identity


def test_intact_inputs_code_and_result_earn_full_identity(tmp_path: Path) -> None:
    assert level(IDENTITY, make_run(tmp_path, PLAIN, NAMED), task=make_task(tmp_path)) == 1


def test_code_without_result_earns_half(tmp_path: Path) -> None:
    assert level(IDENTITY, make_run(tmp_path, PLAIN, "Evidence: `code/fit.py`."), task=make_task(tmp_path)) == 0.5


def test_a_finding_without_code_earns_nothing(tmp_path: Path) -> None:
    run = make_run(tmp_path, {"results/fit.csv": PLAIN_TABLE}, "Evidence: `results/fit.csv`.")
    assert level(IDENTITY, run, task=make_task(tmp_path)) == 0


def test_code_that_writes_a_named_result_is_linked_and_said_to_be(tmp_path: Path) -> None:
    result = run_check(IDENTITY, make_run(tmp_path, PLAIN, "See `results/fit.csv`."), task=make_task(tmp_path))
    assert result.level == 1
    assert result.facts["analysis_source_paths"] == []
    assert result.facts["sources_linked_through_results"] == ["output/code/fit.py:3 names fit.csv"]


def test_code_that_only_reads_a_result_is_not_linked(tmp_path: Path) -> None:
    files = {"plot.py": "import pandas as pd\npd.read_csv('output/fit.csv')\n", "fit.csv": PLAIN_TABLE}
    assert level(IDENTITY, make_run(tmp_path, files, "See `fit.csv`."), task=make_task(tmp_path)) == 0


@pytest.mark.parametrize(
    "after", [{"data/cases.csv": "id,x\n1,0.5\n"}, {"data/more.csv": "id,x\n3,0.1\n"}], ids=["changed", "added"]
)
def test_changed_or_added_inputs_earn_nothing(tmp_path: Path, after: dict[str, str]) -> None:
    result = run_check(IDENTITY, make_run(tmp_path, PLAIN, NAMED, after=after), task=make_task(tmp_path))
    assert (result.level, result.reason_code) == (0, "inputs_differ")


def test_identity_is_not_assessed_without_a_task_or_hashes(tmp_path: Path) -> None:
    assert run_check(IDENTITY, make_run(tmp_path, PLAIN, NAMED)).reason_code == "task_unknown"
    unhashed = run_check(IDENTITY, make_run(tmp_path, PLAIN, NAMED, hashed=False), task=make_task(tmp_path))
    assert (unhashed.outcome, unhashed.reason_code) == ("not_assessed", "inputs_not_hashed")


def test_an_executed_notebook_is_code_and_result(tmp_path: Path) -> None:
    executed = make_run(tmp_path, {"fit.ipynb": notebook("print(1 + 1)", "2\n")}, "See `fit.ipynb`.")
    assert level(IDENTITY, executed, task=make_task(tmp_path)) == 1
    assert level(EXECUTION, executed) == 0.5
    plain = make_run(tmp_path, {"fit.ipynb": notebook("print(1 + 1)", None)}, "See `fit.ipynb`.")
    assert level(IDENTITY, plain, task=make_task(tmp_path)) == 0.5
    assert level(EXECUTION, plain) == 0


def test_prose_is_no_result(tmp_path: Path) -> None:
    files = {"fit.py": PLAIN_CODE, "notes.md": "slope_ci_low 0.1, bootstrap, leave-one-out, seed 1, seed 2, seed 3"}
    run = make_run(tmp_path, files, "See `fit.py` and `notes.md`.")
    assert level(IDENTITY, run, task=make_task(tmp_path)) == 0.5
    assert [level(name, run) for name in (UNCERTAINTY, REPLICATION, SAMPLE, METHOD, SETS)] == [0, 0, 0, 0, 0]


# ---- what a check says that found nothing

ADVICE = [
    (UNCERTAINTY, "slope_se", "a,0.21,0.02\n", "group,slope,slope_se\n"),
    (REPLICATION, "seed", "1,0.21\n2,0.22\n", "seed,slope\n"),
    (SAMPLE, "left_out_site", "a,0.21\nb,0.22\n", "left_out_site,slope\n"),
    (METHOD, "method", "ols,0.21\nhuber,0.22\n", "method,slope\n"),
]


@pytest.mark.parametrize(("check", "word", "rows", "head"), ADVICE, ids=[check for check, *_ in ADVICE])
def test_a_check_says_where_it_looked_and_what_would_do_and_that_does(
    tmp_path: Path, check: str, word: str, rows: str, head: str
) -> None:
    reason = run_check(check, make_run(tmp_path, PLAIN, NAMED)).reason
    assert "output/results/fit.csv (columns group, slope)" in reason
    assert word in reason
    assert len(reason) <= 500
    followed = make_run(tmp_path, {**PLAIN, "results/fit.csv": head + rows}, NAMED)
    found = run_check(check, followed)
    assert found.level == 0.5
    assert check == REPLICATION or "output/code/fit.py" in found.reason


def test_checks_of_separate_data_say_where_they_looked_and_what_would_do(tmp_path: Path) -> None:
    run = make_run(tmp_path, PLAIN, NAMED)
    assert (
        "output/code/fit.py. What would do: two sets with names such as train and heldout"
        in run_check(SETS, run).reason
    )
    assert "output/results/fit.csv (columns group, slope)" in run_check(RULE, run).reason
    made = "train, heldout = d[:5], d[5:]\n"
    split = make_run(tmp_path, {**PLAIN, "code/fit.py": PLAIN_CODE + made}, NAMED)
    assert "split that says train or heldout" in run_check(SETS, split).reason
    labelled = {"code/fit.py": PLAIN_CODE + made, "results/fit.csv": "split,slope\ntrain,0.21\nheldout,0.34\n"}
    both = make_run(tmp_path, labelled, NAMED)
    assert level(SETS, both) == 0.5
    assert "rule_fixed_at" in run_check(CHECKED, both).reason


def test_a_path_keeps_its_case_in_what_is_said(tmp_path: Path) -> None:
    files = {"Code/Future_test.py": "print(1)\n", "results/fit.csv": PLAIN_TABLE}
    run = make_run(tmp_path, files, "Evidence: `Code/Future_test.py`, `results/fit.csv`.")
    reason = run_check(NEXT, run).reason
    assert "looked through output/Code/Future_test.py" in reason
    assert "future_test_1.py" in reason


def test_what_a_finding_names_and_the_run_has_not_is_told(tmp_path: Path) -> None:
    run = make_run(tmp_path, {"fit.py": PLAIN_CODE, "empty.csv": "a,b\n"}, "See `fit.py`, `output/results/gone.csv`.")
    assert "it names `output/results/gone.csv`, which the run has not" in run_check(UNCERTAINTY, run).reason
    assert "`output/results/fit.csv`" in run_check(IDENTITY, run, task=make_task(tmp_path)).reason
    empty = make_run(tmp_path, {"fit.py": PLAIN_CODE, "empty.csv": "a,b\n"}, "See `fit.py`, `empty.csv`.")
    assert "it names output/empty.csv: empty" in run_check(EXECUTION, empty).reason


# ---- 1.3 execution


def recomputed(*outcomes: str, known: bool = True) -> Recomputation:
    numbers = [Recalculated("core", "plan", "slope 0.21", "0.21", o, 0.21, "mean") for o in outcomes]  # type: ignore[arg-type]
    return Recomputation(tuple(numbers), known)


def test_execution_is_half_without_a_recomputation_and_full_with_one(tmp_path: Path) -> None:
    run = make_run(tmp_path, PLAIN, NAMED)
    assert level(EXECUTION, run) == 0.5
    assert run_check(EXECUTION, run, recomputation=recomputed("confirmed")).level == 1
    assert run_check(EXECUTION, run, recomputation=recomputed("refuted")).level == 0.5
    assert run_check(EXECUTION, run, recomputation=recomputed()).level == 0.5
    assert run_check(EXECUTION, run, recomputation=recomputed(known=False)).outcome == "waiting"


def test_a_table_that_repeats_the_claim_is_no_recomputation(tmp_path: Path) -> None:
    files = {"fit.py": PLAIN_CODE, "claim.csv": "slope\n0.21\n"}
    result = run_check(EXECUTION, make_run(tmp_path, files, "The slope is 0.21 (`fit.py`, `claim.csv`)."))
    assert result.level == 0.5
    assert result.facts["results_that_no_code_names"] == ["output/claim.csv"]
    assert "no log shows" in str(result.facts["note"])


def test_a_failed_run_earns_nothing(tmp_path: Path) -> None:
    assert level(EXECUTION, make_run(tmp_path, PLAIN, NAMED, status="timed_out", exit_code=None)) == 0
    assert level(EXECUTION, make_run(tmp_path, PLAIN, NAMED, exit_code=3)) == 0
    unknown = run_check(EXECUTION, make_run(tmp_path, PLAIN, NAMED, exit_code=None))
    assert unknown.level == 0.5
    assert "judged by the run's status" in str(unknown.facts["exit_code_note"])


def test_logged_commands_are_told(tmp_path: Path) -> None:
    log = json.dumps({"time": STARTED, "command": "cd /w && python -u output/code/fit.py", "exit_code": 0}) + "\n"
    log += json.dumps({"time": STARTED, "command": "cat output/code/fit.py", "exit_code": 0})
    result = run_check(EXECUTION, make_run(tmp_path, PLAIN, NAMED, log=log))
    assert [entry["log"] for entry in result.facts["logged_runs"]] == ["logs/commands.log:1"]  # type: ignore[union-attr,index,call-overload]


# ---- 2.1 uncertainty

BOOTSTRAP = """
import numpy as np, pandas as pd
rng = np.random.default_rng(1)
d = pd.read_csv('data/cases.csv')
draws = [d.x.sample(len(d), replace=True).mean() for _ in range(500)]
low, high = np.percentile(draws, [2.5, 97.5])
pd.DataFrame({'slope': [0.2], 'low': low, 'high': high}).to_csv('output/results/fit.csv')
"""


@pytest.mark.parametrize(
    "header",
    [
        "slope_std",
        "slope_ci_low",
        "slope_se",
        "sem",
        "sigma",
        "variance",
        "slopeStdErr",
        "standard error",
        "x_sd",
        "moe",
    ],
)
def test_one_column_of_uncertainty_is_recognised(tmp_path: Path, header: str) -> None:
    table = f"group,slope,{header}\na,0.21,0.02\nb,0.34,0.05\n"
    assert level(UNCERTAINTY, make_run(tmp_path, {**PLAIN, "results/fit.csv": table}, NAMED)) == 0.5


@pytest.mark.parametrize(
    "pair",
    [
        "lo,hi",
        "lower,upper",
        "p2.5,p97.5",
        "q025,q975",
        "2.5%,97.5%",
        "[0.025,0.975]",
        "ci_low,ci_high",
        "slope_lo,slope_hi",
    ],
)
def test_a_pair_of_limits_with_the_code_behind_it_is_full(tmp_path: Path, pair: str) -> None:
    table = f"group,slope,{pair}\na,0.21,0.1,0.3\nb,0.34,0.2,0.5\n"
    files = {"code/fit.py": BOOTSTRAP, "results/fit.csv": table}
    result = run_check(UNCERTAINTY, make_run(tmp_path, files, NAMED))
    assert result.level == 1
    assert result.citations[1].quote == "low, high = np.percentile(draws, [2.5, 97.5])"


@pytest.mark.parametrize(
    "table",
    [
        "lo,hi,count\n0,10,57\n10,20,61\n",  # edges of bins
        "group,rmse,base\na,0.1,3\n",
        "group,explained_variance,slope\na,0.9,0.2\n",
        "group,slope,null_lo,null_hi\na,0.21,-0.1,0.1\n",  # what chance alone gives
        "group,slope,err_linear\na,0.21,0.5\n",  # a residual
        "group,slope,slope_se\na,0.21,\nb,0.34,\n",  # named but never filled
        "note,slope\nbootstrap confidence interval of the slope,0.21\n",
        "group,p_value,sentence,research\na,0.1,2,3\n",
        "group,temp_25,temp_75\na,1.2,1.4\n",  # settings, no percentiles
    ],
)
def test_what_is_no_uncertainty(tmp_path: Path, table: str) -> None:
    assert level(UNCERTAINTY, make_run(tmp_path, {"code/fit.py": BOOTSTRAP, "results/fit.csv": table}, NAMED)) == 0


@pytest.mark.parametrize(
    "document",
    [
        {"slope": 0.2, "ci": [0.1, 0.3]},
        {"slope": 0.2, "slope_lo": 0.1, "slope_hi": 0.3},
        {"slope": {"est": 0.2, "ci95": {"low": 0.1, "high": 0.3}}},
        {"a": [0.2, 0.1, 0.3], "b": [1.2, 1.1, 1.5], "c": [7.0, 5.0, 9.0]},
        [{"group": "a", "slope": 0.2, "p2_5": 0.1, "p97_5": 0.3}],
    ],
)
def test_uncertainty_in_json(tmp_path: Path, document: object) -> None:
    files = {"code/fit.py": BOOTSTRAP, "fit.json": json.dumps(document, indent=1)}
    assert level(UNCERTAINTY, make_run(tmp_path, files, "See `code/fit.py`, `fit.json`.")) == 1


@pytest.mark.parametrize(
    "code",
    [
        "from scipy.stats import linregress\nslope, b, r, p, se = linregress(x, y)\n",
        "import statsmodels.api as sm\nfit = sm.OLS(y, x).fit()\nout = fit.bse\n",
        "import numpy as np\nfrom scipy import optimize\np, c = optimize.curve_fit(f, x, y)\nse = np.sqrt(np.diag(c))",
        "from scipy import stats\nse = stats.sem(x)\n",
        "import numpy as np\nse = x.std(ddof=1) / np.sqrt(len(x))\n",
    ],
)
def test_code_that_calculates_a_standard_error(tmp_path: Path, code: str) -> None:
    files = {"code/fit.py": code, "results/fit.csv": "slope,se\n0.21,0.02\n"}
    assert level(UNCERTAINTY, make_run(tmp_path, files, NAMED)) == 1


@pytest.mark.parametrize(
    "code",
    [
        "# np.percentile(draws, [2.5, 97.5]), a bootstrap confidence interval\nlo, hi = 0.1, 0.3\n",
        '"""Bootstrap: np.percentile(draws, [2.5, 97.5])."""\nlo, hi = 0.1, 0.3\n',
        "import numpy as np\nmiddle = np.percentile(x, 50)\n",
        "label = 'bootstrap percentile confidence interval'\nprint(label)\n",
        "def broken(:\n    np.percentile(x, [2.5, 97.5])\n",
        "def bootstrap(x):\n    return 0.1, 0.3\nlo, hi = bootstrap(x)\n",
    ],
    ids=["comment", "docstring", "median", "string", "does not parse", "name of an own function"],
)
def test_words_about_a_calculation_are_none(tmp_path: Path, code: str) -> None:
    files = {"code/fit.py": code, "results/bootstrap_ci.csv": "slope,lo,hi\n0.2,0.1,0.3\n"}
    assert level(UNCERTAINTY, make_run(tmp_path, files, "See `code/fit.py`, `results/bootstrap_ci.csv`.")) == 0.5


def test_a_file_name_is_no_uncertainty(tmp_path: Path) -> None:
    files = {"code/bootstrap_ci_std.py": PLAIN_CODE, "results/bootstrap_std_ci.csv": PLAIN_TABLE}
    run = make_run(tmp_path, files, "See `code/bootstrap_ci_std.py`, `results/bootstrap_std_ci.csv`.")
    assert level(UNCERTAINTY, run) == 0


def test_rows_of_another_finding_do_not_help(tmp_path: Path) -> None:
    table = "finding,slope,lo,hi\nF1,0.21,,\nF2,0.34,0.2,0.5\n"
    run = make_run(tmp_path, {"code/fit.py": BOOTSTRAP, "results/fit.csv": table}, NAMED, NAMED)
    assert [level(UNCERTAINTY, run, number) for number in (1, 2)] == [0, 1]
    document = json.dumps({"F1": {"slope": 0.2}, "F2": {"slope": 0.3, "ci": [0.2, 0.4]}})
    run = make_run(
        tmp_path,
        {"code/fit.py": BOOTSTRAP, "results/fit.csv": "", "f.json": document},
        NAMED,
        "`f.json`, `code/fit.py`",
    )
    assert [level(UNCERTAINTY, run, number) for number in (1, 2)] == [0, 1]


def test_rows_that_carry_the_number_belong_to_the_finding(tmp_path: Path) -> None:
    files = {**PLAIN, "all.csv": "finding,slope,se\nF1,0.21,0.02\nF2,0.3,\n"}
    run = make_run(tmp_path, files, NAMED, NAMED, shared="All variants are in `all.csv`.")
    assert [level(UNCERTAINTY, run, number) for number in (1, 2)] == [0.5, 0]


def test_keys_listed_with_a_file_bound_what_is_the_findings_own(tmp_path: Path) -> None:
    document = json.dumps({"n": 9, "slope": {"est": 0.2}, "control": {"est": 0.1, "ci": [0, 0.2]}})
    files = {"code/fit.py": BOOTSTRAP, "all.json": document}
    texts = ("`code/fit.py`, `all.json` (`slope`)", "`code/fit.py`, `all.json` (`slope`, `control`)", "`all.json`")
    run = make_run(tmp_path, files, *texts)
    assert [level(UNCERTAINTY, run, number) for number in (1, 2, 3)] == [0, 1, 0.5]


def test_an_imported_module_is_the_findings_code(tmp_path: Path) -> None:
    files = {
        "code/common.py": "import numpy as np\ndef ci(x):\n    return np.percentile(x, [2.5, 97.5])\n",
        "code/fit.py": "from common import *\nsave(ci(draws), 'fit.csv')\n",
        "results/fit.csv": "slope,lo,hi\n0.21,0.1,0.3\n",
    }
    result = run_check(UNCERTAINTY, make_run(tmp_path, files, NAMED))
    assert result.level == 1
    assert result.facts["imported_helpers"] == ["output/code/common.py"]


def test_notebooks_count_as_code_and_their_printed_tables_as_results(tmp_path: Path) -> None:
    quantiles = "table['lo'], table['hi'] = np.quantile(draws, [0.025, 0.975])"
    code = f"%matplotlib inline\nimport numpy as np\n{quantiles}\nprint(table)"
    shown = "   group  slope    lo    hi\n0      a   0.21  0.10  0.30\n1      b   0.34  0.20  0.50\n"
    run = make_run(tmp_path, {"fit.ipynb": notebook(code, shown)}, "See `fit.ipynb`.")
    assert level(UNCERTAINTY, run) == 1
    assert level(UNCERTAINTY, make_run(tmp_path, {"fit.ipynb": notebook(code, "0.1 0.3\n")}, "See `fit.ipynb`.")) == 0


def test_other_languages_are_read_by_tokens_without_comments_and_strings(tmp_path: Path) -> None:
    table = {"fit.csv": "slope,lo,hi\n0.2,0.1,0.3\n"}
    real = "d <- read.csv('data/cases.csv') # data\nci <- quantile(draws, c(0.025, 0.975))\n"
    result = run_check(UNCERTAINTY, make_run(tmp_path, {"fit.R": real, **table}, "See `fit.R`, `fit.csv`."))
    assert result.level == 1
    assert result.facts["read_by_tokenizer_only"] == ["output/fit.R"]
    words = "# quantile(draws, c(0.025, 0.975))\nprint('quantile(draws)')\n"
    assert level(UNCERTAINTY, make_run(tmp_path, {"fit.R": words, **table}, "See `fit.R`, `fit.csv`.")) == 0.5


def test_a_binary_result_is_cited_by_the_words_that_name_it(tmp_path: Path) -> None:
    import io

    import pandas as pd

    buffer = io.BytesIO()
    pd.DataFrame({"slope": [0.2], "slope_se": [0.1]}).to_parquet(buffer)
    run = make_run(tmp_path, {"fit.parquet": buffer.getvalue()}, "The slope stands in `fit.parquet`, first row.")
    assert level(UNCERTAINTY, run) == 0.5


FITTED = "slope,lo,hi\n0.21,0.1,0.3\n"
LIMITS = """
import csv, json, random
import numpy as np, pandas as pd
def limits(values):
    return np.percentile(values, [2.5, 97.5])
def leave_out(values):
    for n in range(len(values)):
        yield np.mean([v for m, v in enumerate(values) if m != n])
def add(table, *row):
    table.append(row)
def keep(what, name):
    json.dump(what, open(name, 'w'))
class Fit:
    def run(self, x):
        self.low, self.high = limits(x)
        return self
x = list(pd.read_csv('data/cases.csv').x)
rows = [('slope', 'lo', 'hi')]
"""
WRITE = "csv.writer(open('output/results/fit.csv', 'w')).writerows(rows)\n"


@pytest.mark.parametrize(
    "code",
    [
        "rows.append((1, *limits(x)))\n" + WRITE,
        "add(rows, 1, *limits(x))\n" + WRITE,
        "low, high = limits(x)\nfor name in 'ab':\n    row = {}\n    row[name] = low\n    rows += [row, high]\n"
        + WRITE,
        "fit = Fit()\nfit.run(x)\nrows.append((1, fit.low, fit.high))\n" + WRITE,
        "keep({'ci': list(limits(x))}, 'output/results/fit.csv')\n",
        "span = map(limits, [x])\npd.DataFrame(span).to_csv('output/results/fit.csv')\n",
        "f = open('output/results/fit.csv', 'w')\nprint(*limits(x), file=f)\n",
        "low, high = limits(x)\nif low > 0:\n    rows.append('above')\n" + WRITE,
        "rows.append(low := limits(x)[0])\n" + WRITE,
    ],
)
def test_limits_that_go_into_what_is_written_count(tmp_path: Path, code: str) -> None:
    files = {"code/fit.py": LIMITS + code, "results/fit.csv": FITTED}
    assert level(UNCERTAINTY, make_run(tmp_path, files, NAMED)) == 1


@pytest.mark.parametrize(
    "code",
    [
        "limits(x)\nrows.append(('0.21', '0.1', '0.3'))\n" + WRITE,
        "low, high = limits(x)\nrows.append(('0.21', '0.1', '0.3'))\n" + WRITE,
        "print('limits', limits(x))\nrows.append(('0.21', '0.1', '0.3'))\n" + WRITE,
        "np.percentile(rows, 2.5)\n" + WRITE,
        "assert limits(x)[0] < 1\nfor one in limits(x):\n    pass\n" + WRITE,
        "fit = Fit().run(x)\nprint(fit.low)\n" + WRITE,
    ],
)
def test_limits_that_go_nowhere_do_not_count(tmp_path: Path, code: str) -> None:
    files = {"code/fit.py": LIMITS + code, "results/fit.csv": FITTED}
    result = run_check(UNCERTAINTY, make_run(tmp_path, files, NAMED))
    assert (result.level, result.reason_code) == (0.5, "uncertainty_without_code")
    assert "nothing that is written comes of it" in result.reason
    assert result.facts["code_without_use"]


def test_what_is_printed_counts_where_no_code_names_the_result(tmp_path: Path) -> None:
    code = LIMITS + "print('slope,lo,hi')\nprint(0.21, *limits(x), sep=',')\n"
    for name, expected in (("printed.csv", 1), ("fit.csv", 0.5)):
        more = "" if name == "printed.csv" else WRITE
        files = {"code/fit.py": code + more, f"results/{name}": FITTED}
        run = make_run(tmp_path, files, f"Evidence: `code/fit.py`, `results/{name}`.")
        assert level(UNCERTAINTY, run) == expected


def test_a_changed_sample_that_goes_nowhere_does_not_count(tmp_path: Path) -> None:
    table = "left_out,slope\na,0.21\nb,0.22\n"
    for code, expected in (("rows += list(leave_out(x))\n", 1), ("for one in leave_out(x):\n    print(one)\n", 0.5)):
        files = {"code/fit.py": LIMITS + code + WRITE, "results/fit.csv": table}
        assert level(SAMPLE, make_run(tmp_path, files, NAMED)) == expected


# ---- 2.2 replication


def seeds(*values: int, same: bool = False) -> str:
    return "seed,accuracy\n" + "".join(f"{v},{0.8 if same else 0.8 + v / 1000}\n" for v in values)


@pytest.mark.parametrize(("values", "expected"), [((1, 2, 3), 1), ((1, 2), 0.5), ((1,), 0), ((1, 1, 1), 0)])
def test_distinct_seeds_in_a_table(tmp_path: Path, values: tuple[int, ...], expected: float) -> None:
    run = make_run(tmp_path, {**PLAIN, "results/fit.csv": seeds(*values)}, NAMED)
    assert level(REPLICATION, run) == expected


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"seed": 7, "accuracy": 0.8, "n": 100}, 0),
        ({"seeds": [1, 2, 3]}, 0),
        ({"seeds": [1, 2, 3], "accuracy": [0.8, 0.81, 0.82]}, 1),
        ({"per_seed": {"1": {"accuracy": 0.8}, "2": {"accuracy": 0.81}}}, 0.5),
        ({"seed_1": {"acc": 0.8}, "seed_2": {"acc": 0.7}, "seed_3": {"acc": 0.6}}, 1),
        ([{"run_id": "a", "acc": 0.8}, {"run_id": "b", "acc": 0.7}, {"run_id": "c", "acc": 0.6}], 1),
        ([{"run_id": "a", "acc": 0.8}, {"run_id": "b", "acc": 0.8}, {"run_id": "c", "acc": 0.8}], 0),
        ({"bootstrap": {"seed_1": 0.8, "seed_2": 0.7, "seed_3": 0.6}}, 0),
        ({"main": {"seed": 1, "slope": 0.2}, "control": {"seed": 2, "null": 0.1}}, 0),
    ],
)
def test_distinct_runs_in_json(tmp_path: Path, document: object, expected: float) -> None:
    files = {"code/fit.py": PLAIN_CODE, "runs.json": json.dumps(document, indent=1)}
    assert level(REPLICATION, make_run(tmp_path, files, "See `code/fit.py`, `runs.json`.")) == expected


@pytest.mark.parametrize(
    "table",
    [
        "draw,seed,mean\n1,11,0.8\n2,12,0.7\n3,13,0.6\n",
        "replicate,mass\n1,0.8\n2,0.7\n3,0.6\n",  # animals, not pipeline runs
        "full pipeline,run,seed\nx,y,z\n",
        "seed_mass_mg,height\n1,0.8\n2,0.7\n3,0.6\n",
        seeds(1, 2, 3, same=True),
    ],
)
def test_draws_replicates_and_copies_are_no_runs(tmp_path: Path, table: str) -> None:
    assert level(REPLICATION, make_run(tmp_path, {**PLAIN, "results/fit.csv": table}, NAMED)) == 0


def test_a_column_of_the_task_is_no_pipeline_run(tmp_path: Path) -> None:
    run = make_run(tmp_path, {**PLAIN, "results/fit.csv": "run,bold\n1,0.8\n2,0.7\n3,0.6\n"}, NAMED)
    assert level(REPLICATION, run) == 1
    assert level(REPLICATION, run, task=make_task(tmp_path, "run: {unit: '-', meaning: scanner run}")) == 0


def test_files_of_seeds_count_by_their_content(tmp_path: Path) -> None:
    differing = {f"out/seed_{n}/m.csv": f"accuracy\n0.8{n}\n" for n in (1, 2, 3)}
    same = {f"out/seed_{n}/m.csv": "accuracy\n0.81\n" for n in (1, 2, 3)}
    assert level(REPLICATION, make_run(tmp_path, {**PLAIN, **differing}, f"{NAMED} See `out/seed_*/m.csv`.")) == 1
    assert level(REPLICATION, make_run(tmp_path, {**PLAIN, **same}, f"{NAMED} See `out/seed_*/m.csv`.")) == 0


# ---- 2.3 changed samples

LEAVE_OUT = """
import pandas as pd
d = pd.read_csv('data/cases.csv')
rows = [dict(left_out=u, slope=d[d.id != u].x.mean()) for u in d.id.unique()]
pd.DataFrame(rows).to_csv('output/results/fit.csv')
"""


@pytest.mark.parametrize(
    "table",
    [
        "left_out,slope\na,0.2\nb,0.3\n",
        "held_out,train_slope\n2007,0.2\n2008,0.3\n",
        "kind,scope,slope\nestimate,all,0.2\nleave-out,drop a,0.3\n",
        "group,slope,loo_min,loo_max\na,0.2,0.1,0.3\n",
        "sample,n,slope\nall,20,0.2\nfirst half,10,0.3\n",
        "test,slope\njackknife,0.2\n",
        "subset,slope\nwithout site b,0.2\n",
    ],
)
def test_results_for_changed_samples_with_code(tmp_path: Path, table: str) -> None:
    assert level(SAMPLE, make_run(tmp_path, {"code/fit.py": LEAVE_OUT, "results/fit.csv": table}, NAMED)) == 1


@pytest.mark.parametrize(
    "code",
    [
        "import numpy as np\nout = [f(np.delete(x, i)) for i in range(len(x))]\n",
        "out = [f(d.drop(i)) for i in d.index]\n",
        "for i in range(n):\n    f(x[:i] + x[i + 1:])\n",
        "from sklearn.model_selection import LeaveOneOut\nout = LeaveOneOut().split(x)\n",
        "half = d.sample(frac=0.5)\n",
        "for u in units:\n    keep = np.ones(n, bool)\n    keep[u] = False\n    f(x[keep])\n",
        "for lo, hi in blocks:\n    f(x[(t < lo) | (t > hi)])\n",
        "def leave(d, u):\n    return d[d.unit.ne(u)].x.mean()\n",
    ],
)
def test_ways_to_change_a_sample(tmp_path: Path, code: str) -> None:
    files = {"code/fit.py": code, "results/fit.csv": "left_out,slope\na,0.2\nb,0.3\n"}
    assert level(SAMPLE, make_run(tmp_path, files, NAMED)) == 1


@pytest.mark.parametrize(
    "code",
    [
        "# for u in units: d[d.unit != u]\nprint('leave one out')\n",
        "d = d.drop(columns=['x'])\n",
        "both = d.sample(len(d), replace=True)\n",
        "if __name__ != 'x':\n    print(1)\n",
    ],
)
def test_what_leaves_nobody_out(tmp_path: Path, code: str) -> None:
    files = {"code/fit.py": code, "results/fit.csv": "left_out,slope\na,0.2\nb,0.3\n"}
    assert level(SAMPLE, make_run(tmp_path, files, NAMED)) == 0.5


@pytest.mark.parametrize(
    "table",
    [
        "group,slope\na,0.2\n",
        "kind,slope\nbootstrap leave-one-out,0.2\n",  # a bootstrap does not count
        "kind,slope\nno leave-one-out,0.2\n",
        "slope,note\n0.2,also in every leave-one-out\n",
        "model,loo_rmse\nlinear,0.2\n",  # an error of prediction
        "drop_height_mm,slope\n100,0.2\n200,0.3\n",
        "held_out,slope\nTrue,0.2\nFalse,0.3\n",
        "component,fraction\nstate,0.04\n",
        "group,n_excluded,slope\na,1,0.2\nb,2,0.3\n",
        "left_out,slope\na,\nb,\n",
    ],
)
def test_what_is_no_result_for_a_changed_sample(tmp_path: Path, table: str) -> None:
    assert level(SAMPLE, make_run(tmp_path, {"code/fit.py": LEAVE_OUT, "results/fit.csv": table}, NAMED)) == 0


def test_doubtful_labels_need_code(tmp_path: Path) -> None:
    for table in ("subset,slope\nwithout site b,0.2\n", "sample,n,slope\nall,20,0.2\nfirst half,10,0.3\n"):
        assert level(SAMPLE, make_run(tmp_path, {**PLAIN, "results/fit.csv": table}, NAMED)) == 0


def test_changed_samples_in_json(tmp_path: Path) -> None:
    files = {"code/fit.py": LEAVE_OUT, "fit.json": json.dumps({"slope": 0.2, "leave_one_out": [0.1, 0.3]})}
    assert level(SAMPLE, make_run(tmp_path, files, "See `code/fit.py`, `fit.json`.")) == 1
    files["fit.json"] = json.dumps({"slope": 0.2, "dropped_rows": 3, "dropped_birds": 2, "leave_one_out": None})
    assert level(SAMPLE, make_run(tmp_path, files, "See `code/fit.py`, `fit.json`.")) == 0


# ---- 2.4 changed methods

VARIANTS = """
import pandas as pd
rows = []
for name in ('ols', 'huber', 'theil_sen'):
    for cut in (0.1, 0.2, 0.5):
        rows.append(dict(method=name, threshold=cut, slope=fit(name, cut)))
pd.DataFrame(rows).to_csv('output/results/fit.csv')
"""


@pytest.mark.parametrize(
    "table",
    [
        "method,slope\nols,0.2\nhuber,0.21\n",
        "threshold,slope\n0.1,0.2\n0.2,0.21\n0.5,0.19\n",
        "what,slope\nols,0.2\nhuber,0.21\n",
    ],
)
def test_one_quantity_by_several_methods(tmp_path: Path, table: str) -> None:
    run = make_run(tmp_path, {"code/fit.py": VARIANTS, "results/fit.csv": table}, NAMED)
    assert level(METHOD, run) == 1
    other = make_run(tmp_path, {"code/fit.py": PLAIN_CODE, "results/fit.csv": table}, NAMED)
    assert level(METHOD, other) == 0.5


@pytest.mark.parametrize(
    "table",
    [
        "group,slope\na,0.2\nb,0.3\n",
        "method,slope\nols,0.2\n",
        "method,slope\nols,\nhuber,\n",
        "first_bin,t50\n1,0.2\n2,0.3\n",  # leftovers of other people's tasks
        "statistic,value\nmean,0.2\nsd,0.1\n",
        "note,slope\nrobust to the threshold and to another method,0.2\n",
    ],
)
def test_what_is_no_change_of_method(tmp_path: Path, table: str) -> None:
    assert level(METHOD, make_run(tmp_path, {"code/fit.py": VARIANTS, "results/fit.csv": table}, NAMED)) == 0


def test_a_column_of_the_task_is_no_setting(tmp_path: Path) -> None:
    table = "threshold,slope\n0.1,0.2\n0.2,0.21\n0.5,0.19\n"
    run = make_run(tmp_path, {"code/fit.py": VARIANTS, "results/fit.csv": table}, NAMED)
    assert level(METHOD, run, task=make_task(tmp_path, "threshold: {unit: mV, meaning: measured threshold}")) == 0


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"slope": {"ols": 0.2, "huber": 0.21}}, 1),
        ({"slope_ols": 0.2, "slope_huber": 0.21}, 1),
        ({"slope_ols": 0.2, "p_huber": 0.21}, 0),
        ({"mean": 0.2, "median": 0.3, "sd": 0.1}, 0),
        ({"trend": {"constant": 1.2, "linear": 0.4, "quadratic": 0.03}}, 0),  # coefficients of one polynomial
        ({"methods": "ols and huber agree"}, 0),
    ],
)
def test_methods_in_json(tmp_path: Path, document: object, expected: float) -> None:
    files = {"code/fit.py": VARIANTS.replace("'ols', 'huber'", "'ols', 'slope_ols', 'slope_huber', 'huber'")}
    files["fit.json"] = json.dumps(document)
    assert level(METHOD, make_run(tmp_path, files, "See `code/fit.py`, `fit.json`.")) == expected


# ---- 4.1 two separate sets

SPLIT = """
import json, pandas as pd
from sklearn.model_selection import train_test_split
d = pd.read_csv('data/cases.csv')
train, test = train_test_split(d, random_state=0)
json.dump({'train_ids': list(train.id), 'test_ids': list(test.id)}, open('output/split.json', 'w'))
"""
SPLIT_NAMED = "See `split.py`, `split.json`."


def split_run(tmp_path: Path, document: object, code: str = SPLIT) -> float | None:
    return level(SETS, make_run(tmp_path, {"split.py": code, "split.json": json.dumps(document)}, SPLIT_NAMED))


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"train_ids": [1, 2, 3], "test_ids": [4, 5]}, 1),
        ({"train_ids": ["a", "b"], "test_ids": ["b", "c"]}, 0),
        ({"train": [1959, 1983], "heldout": [1984, 1993]}, 1),
        ({"train_years": "1700-1899", "kept_aside_years": "1900-1979"}, 1),
        ({"training": "season 2007", "held_out": "season 2008, disjoint"}, 0.5),
        ({"n_train": 12, "n_test": 6, "overlap_count": 0}, 0.5),  # stated, never calculated
        ({"n_train": 12, "n_test": 6, "overlap": 0.4}, 0),
        ({"n_train": 12, "n_test": 6, "shared_ids": []}, 0.5),
        ({"n_train": 12, "n_test": 6, "disjoint": False}, 0),
        ({"slope_train": 0.2, "slope_test": 0.3}, 0.5),
        ({"slope_train_ci": [0.1, 0.2], "slope_test_ci": [0.3, 0.4]}, 0.5),  # intervals are no ranges of members
        ({"text": "train and test sets are not disjoint, overlap 0"}, 0),
        ({"test": 0.03}, 0),
        ({"TR": 2.0, "TE": 0.03}, 0),  # times of a scanner
        ({"n_train": 12, "n_test": 6, "common_slope": 0.3, "spectral_overlap": 0.4}, 0.5),
    ],
)
def test_the_sets_that_a_document_stores(tmp_path: Path, document: object, expected: float) -> None:
    assert split_run(tmp_path, document) == expected


def test_a_stored_overlap_counts_with_the_code_that_calculates_it(tmp_path: Path) -> None:
    code = SPLIT + "shared = len(set(train.id) & set(test.id))\n"
    assert split_run(tmp_path, {"n_train": 12, "n_test": 6, "overlap_count": 0}, code) == 1


@pytest.mark.parametrize(
    "code",
    [
        "# train, test = train_test_split(d)\nprint(1)\n",
        '"""Splits into train and test."""\n',
        "text = 'the train and test sets are disjoint, as the plan says'\n",
        "from scipy import stats\ntest = stats.ttest_1samp(x, 0)\n",
    ],
)
def test_words_are_no_split(tmp_path: Path, code: str) -> None:
    assert split_run(tmp_path, {"train_ids": [1, 2], "test_ids": [3]}, code) == 0


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("start,part,length\n1712,development,11\n1723,kept_aside,10\n", 1),
        ("sample_id,split\na,train\nb,test\n", 1),
        ("sample_id,split\na,train\na,test\n", 0),
        ("row,held_out\n0,True\n1,False\n2,False\n", 1),
        ("row,kept\n0,True\n1,False\n2,False\n", 0),  # what a filter kept
        ("split,model,rmse\ntrain,ols,0.1\ntest,ols,0.2\n", 0.5),  # a model is no member
        ("quantity,value\ntrain mean,0.1\ntest mean,0.2\n", 0.5),
        ("quantity,value\nt test,0.1\nF test,0.2\n", 0),
    ],
)
def test_the_sets_that_a_table_stores(tmp_path: Path, table: str, expected: float) -> None:
    run = make_run(tmp_path, {"split.py": SPLIT, "split.csv": table}, "See `split.py`, `split.csv`.")
    assert level(SETS, run) == expected


def test_two_tables_are_compared_by_their_ids(tmp_path: Path) -> None:
    def both(second: str) -> float | None:
        files = {"split.py": SPLIT, "train_cases.csv": "case_id,x\n1,5\n2,6\n", "test_cases.csv": second}
        return level(SETS, make_run(tmp_path, files, "See `split.py`, `train_cases.csv`, `test_cases.csv`."))

    assert both("case_id,x\n3,5\n") == 1
    assert both("case_id,x\n2,5\n") == 0


def test_result_tables_of_two_sets_show_no_overlap_of_members(tmp_path: Path) -> None:
    files = {"split.py": SPLIT, "map_dev.csv": "lag,skew\n1,0.5\n", "map_held.csv": "lag,skew\n1,0.6\n"}
    assert level(SETS, make_run(tmp_path, files, "See `split.py`, `map_dev.csv`, `map_held.csv`.")) == 0.5


def test_a_left_out_unit_names_both_sets_where_the_code_takes_the_rest(tmp_path: Path) -> None:
    code = "for v in units:\n    tr, te = d[d.site != v], d[d.site == v]\n"
    files = {"split.py": code, "t.csv": "held_out,skill\ns1,0.2\ns2,0.3\n"}
    assert level(SETS, make_run(tmp_path, files, "See `split.py`, `t.csv`.")) == 0.5
    files["split.py"] = "for v in units:\n    tr, te = load(v)\n"
    assert level(SETS, make_run(tmp_path, files, "See `split.py`, `t.csv`.")) == 0


# ---- 4.2 and 4.3: the check, and the rule before it

FIX = "import json\ntrain = load(2007)\njson.dump({'fixed_at': now()}, open('output/rule.json', 'w'))\n"
APPLY = """
import json
rule = json.load(open('output/rule.json'))
test = load(2008)
json.dump(out, open('output/check.json', 'w'))
"""
BOTH_NAMED = "Rule `fix.py`, `rule.json`; check `apply.py`, `check.json`."


def check_files(rule: dict[str, object], check: dict[str, object]) -> dict[str, str]:
    sets = {"train_years": [1, 5], "test_years": [6, 9]}
    return {
        "fix.py": FIX,
        "apply.py": APPLY,
        "rule.json": json.dumps({**sets, **rule}, indent=1),
        "check.json": json.dumps(check, indent=1),
    }


def times_run(
    tmp_path: Path,
    fixed: object,
    applied: object,
    log: str = "",
    times: tuple[str | None, str | None] = (STARTED, FINISHED),
    more: dict[str, object] | None = None,
) -> tuple[float | None, float | None]:
    check = {"applied_at": applied, "slope": 0.3, "verdict": "supported", **(more or {})}
    run = make_run(tmp_path, check_files({"fixed_at": fixed}, check), BOTH_NAMED, log=log, times=times)
    return level(CHECKED, run), level(RULE, run)


def test_a_check_after_the_rule_is_full(tmp_path: Path) -> None:
    assert times_run(tmp_path, "2026-01-02T10:10:00Z", "2026-01-02T10:20:00Z") == (1, 1)
    assert times_run(tmp_path, "2026-01-02T11:10:00+01:00", "2026-01-02T10:20:00Z") == (1, 1)


@pytest.mark.parametrize(
    ("fixed", "applied"),
    [
        ("2026-01-02T10:30:00Z", "2026-01-02T10:20:00Z"),
        ("2026-01-02T10:20:00Z", "2026-01-02T10:20:00Z"),
        ("2026-01-02", "2026-01-02"),  # a day alone puts nothing before the other
        ("2026", "2026-01-02T10:20:00Z"),
        (None, "2026-01-02T10:20:00Z"),
    ],
)
def test_times_are_compared_as_times(tmp_path: Path, fixed: object, applied: object) -> None:
    assert times_run(tmp_path, fixed, applied) == (0, 0.5)  # the decision is stored all the same


def test_words_about_time_are_no_times(tmp_path: Path) -> None:
    assert times_run(tmp_path, "before the result was unlocked", "afterwards") == (0, 0)


def test_times_outside_the_run_are_no_execution(tmp_path: Path) -> None:
    assert times_run(tmp_path, "2026-01-01T10:10:00Z", "2026-01-01T10:20:00Z")[0] == 0
    result = times_run(tmp_path, "2026-01-02T10:10:00Z", "2026-01-02T10:20:00Z", times=(None, None))
    assert result == (None, 1)


def test_an_earlier_logged_run_of_the_check_counts_as_its_opening(tmp_path: Path) -> None:
    peek = json.dumps({"time": "2026-01-02T10:05:00Z", "command": "python output/apply.py", "exit_code": 0})
    assert times_run(tmp_path, "2026-01-02T10:10:00Z", "2026-01-02T10:20:00Z", log=peek)[1] == 0.5
    together = json.dumps({"time": "2026-01-02T10:05:00Z", "command": "python output/fix.py; python output/apply.py"})
    assert times_run(tmp_path, "2026-01-02T10:10:00Z", "2026-01-02T10:20:00Z", log=together) == (1, 1)
    written = json.dumps(
        {"time": "2026-01-02T10:05:00Z", "command": "cat > output/apply.py <<'E'\npython output/apply.py\nE"}
    )
    assert times_run(tmp_path, "2026-01-02T10:10:00Z", "2026-01-02T10:20:00Z", log=written) == (1, 1)


def test_the_last_exit_code_of_the_check_counts(tmp_path: Path) -> None:
    def log(*codes: int) -> str:
        entry = {"time": "2026-01-02T10:20:00Z", "command": "python output/apply.py"}
        return "\n".join(json.dumps({**entry, "exit_code": code}) for code in codes)

    at = ("2026-01-02T10:10:00Z", "2026-01-02T10:20:00Z")
    assert times_run(tmp_path, *at, log=log(1, 0))[0] == 1
    assert times_run(tmp_path, *at, log=log(0, 1))[0] == 0
    assert times_run(tmp_path, *at, more={"exit_codes": [0, 2]})[0] == 0


def test_recorded_hashes_must_be_those_of_the_artifacts(tmp_path: Path) -> None:
    at = ("2026-01-02T10:10:00Z", "2026-01-02T10:20:00Z")
    import hashlib

    true = hashlib.sha256(FIX.encode()).hexdigest()
    assert times_run(tmp_path, *at, more={"code_sha256": {"fix.py": true}})[0] == 1
    assert times_run(tmp_path, *at, more={"code_sha256": {"fix.py": "0" * 64}})[0] == 0


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ({"required_steps": ["a", "b"], "completed_steps": ["a", "b"]}, 1),
        ({"required_steps": ["a", "b"], "completed_steps": ["a"]}, 0.5),
        ({"required_steps": ["a", "b", "c"], "completed_steps": ["a"]}, 0),
        ({"required_steps": ["a", "b"], "completed_steps": ["a"], "critical_steps": ["b"]}, 0),
        ({"steps": [{"name": "a", "status": "done"}, {"name": "b", "status": "failed"}]}, 0.5),
    ],
)
def test_steps_of_the_check(tmp_path: Path, steps: dict[str, object], expected: float) -> None:
    assert times_run(tmp_path, "2026-01-02T10:10:00Z", "2026-01-02T10:20:00Z", more=steps)[0] == expected


def test_a_plan_alone_is_no_check(tmp_path: Path) -> None:
    files = check_files({"fixed_at": "2026-01-02T10:10:00Z", "rule": "supported if slope > 0"}, {"plan": "apply later"})
    run = make_run(tmp_path, files, BOTH_NAMED)
    assert (level(CHECKED, run), level(RULE, run)) == (0, 0)


def test_a_check_without_a_result_is_none(tmp_path: Path) -> None:
    files = check_files(
        {"fixed_at": "2026-01-02T10:10:00Z"}, {"applied_at": "2026-01-02T10:20:00Z", "note": "went well"}
    )
    run = make_run(tmp_path, files, BOTH_NAMED)
    assert (level(CHECKED, run), level(RULE, run)) == (0, 0.5)


def test_receipts_under_any_name_and_event_logs_are_read(tmp_path: Path) -> None:
    events = "\n".join(
        json.dumps(event)
        for event in (
            {"event": "decision rule frozen", "time": "2026-01-02T10:10:00Z"},
            {"event": "holdout opened", "time": "2026-01-02T10:20:00Z", "decision": "refuted", "slope": -0.1},
        )
    )
    files = {**check_files({}, {"x": 1}), "events.jsonl": events}
    run = make_run(tmp_path, files, f"{BOTH_NAMED} Order: `events.jsonl`.")
    assert (level(CHECKED, run), level(RULE, run)) == (1, 1)
    reversed_order = "\n".join(reversed(events.split("\n")))
    assert (
        level(RULE, make_run(tmp_path, {**files, "events.jsonl": reversed_order}, f"{BOTH_NAMED} `events.jsonl`")) == 1
    )


def test_the_order_of_words_in_a_text_shows_nothing(tmp_path: Path) -> None:
    text = '"decision_rule_frozen_at": "yes", then "validation_result_unlocked_at": "yes"'
    files = {**PLAIN, "prevention.csv": PLAIN_TABLE, "event_ledger.json": json.dumps({"text": text}), "freeze.md": text}
    run = make_run(tmp_path, files, f"{NAMED} See `event_ledger.json`, `freeze.md`, `prevention.csv`.")
    assert level(RULE, run) == 0


def test_one_record_does_not_lift_every_finding(tmp_path: Path) -> None:
    check: dict[str, object] = {
        "rule_fixed_at": "2026-01-02T10:10:00Z",
        "applied_at": "2026-01-02T10:20:00Z",
        "F1": {"slope": 0.3, "verdict": "supported"},
    }
    files = check_files({"fixed_at": "2026-01-02T10:10:00Z", "F1": "supported if slope > 0"}, check)
    shared = "The rule is in `rule.json`, its outcome in `check.json`."
    run = make_run(tmp_path, files, "See `apply.py`.", "See `apply.py`.", shared=shared)
    assert [level(RULE, run, number) for number in (1, 2)] == [1, 0]
    assert [level(CHECKED, run, number) for number in (1, 2)] == [1, 0]


def test_rule_labels_tie_a_record_to_the_finding_that_quotes_them(tmp_path: Path) -> None:
    at = "2026-01-02T10:20:00Z"
    table = f"rule,estimate,outcome,applied_at\nR1,0.3,SUPPORTED,{at}\nR2,0.1,REJECTED,{at}\n"
    rule: dict[str, object] = {"fixed_at": "2026-01-02T10:10:00Z", "R1": "SUPPORTED if > 0", "R2": "REJECTED if < 0.2"}
    files = {**check_files(rule, {}), "check.csv": table}
    named = "See `fix.py`, `apply.py`, `check.csv`."
    run = make_run(tmp_path, files, f"{named} R1 is met.", f"{named} R2 is not.", named, shared="See `rule.json`.")
    results = [run_check(RULE, run, number) for number in (1, 2, 3)]
    assert [result.level for result in results] == [1, 1, 0]
    assert "'SUPPORTED'" in results[0].reason
    assert "'REJECTED'" in results[1].reason


# ---- 6.5 the rule for the next test


def next_run(tmp_path: Path, code: str, name: str = "future_test_1.py", text: str = "Falsifier: `{}`.") -> float | None:
    return level(NEXT, make_run(tmp_path, {**PLAIN, name: textwrap.dedent(code)}, text.format(name)))


CHAIN = "'supported' if slope > 0.5 else 'refuted' if slope < 0 else 'unresolved'"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (f"import sys\nslope = float(sys.argv[1])\nprint({CHAIN})\n", 1),
        ("def decide(s):\n    if s > 0.5:\n        return 'yes'\n    return 'no' if s < 0 else 'open'\n", 1),
        ("def decide(s):\n    if s > 0.5:\n        print('supported')\n    else:\n        print('rejected')\n", 1),
        ("import numpy as np\ndef decide(s):\n    return np.where(s > 0.5, 'supported', 'rejected')\n", 1),
        ("def decide(s):\n    return ['failed', 'narrowed', 'supported'][int(s > 0) + int(s > 1)]\n", 1),
        ("def decide(ok):\n    return 'supported' if ok else 'rejected'\n", 0.5),
        ("def decide(slope):\n    return slope > 0.5\n", 0.5),
        ("def decide(s):\n    match s:\n        case 0: return 'a'\n        case 1: return 'b'", 0.5),
        ("# if slope > 0.5: supported else: rejected\ndef decide(slope):\n    return slope\n", 0),
        ('"""if slope > 0.5: support, else reject and revise."""\nimport sys\nprint(sys.argv[1])\n', 0),
        ("import sys\nif len(sys.argv) < 2:\n    print('usage')\nelse:\n    print('thanks')\n", 0),
        ("def decide(rows):\n    if len(rows) > 5:\n        return 1\n    return 2\n", 0),
        ("slope = 0.7\nprint('supported' if slope > 0.5 else 'rejected')\n", 0),  # no new outcome comes in
    ],
)
def test_the_shape_of_a_rule(tmp_path: Path, code: str, expected: float) -> None:
    assert next_run(tmp_path, code) == expected


def test_only_code_for_a_future_test_counts(tmp_path: Path) -> None:
    code = f"def verdict(slope):\n    return {CHAIN}\n"
    assert next_run(tmp_path, code, "analysis.py") == 0
    assert next_run(tmp_path, code.replace("verdict(slope)", "future_verdict(slope)"), "analysis.py") == 1
    assert next_run(tmp_path, code, "future_test.md") == 0


def test_a_rule_belongs_to_one_finding(tmp_path: Path) -> None:
    rule = f"import sys\nslope = float(sys.argv[1])\nprint({CHAIN})\n"
    run = make_run(tmp_path, {**PLAIN, "future_test_1.py": rule, "future_F2.py": rule}, NAMED, NAMED, NAMED)
    assert [level(NEXT, run, number) for number in (1, 2, 3)] == [1, 1, 0]
    shared = {**PLAIN, "future_tests.py": f"def future_test_1(slope):\n    return {CHAIN}\n"}
    named = make_run(tmp_path, shared, "See `future_tests.py`.", "See `future_tests.py`.")
    assert [level(NEXT, named, number) for number in (1, 2)] == [1, 0]


def test_a_rule_in_another_language_is_read_by_tokens(tmp_path: Path) -> None:
    code = 'decide <- function(s) {\n  if (s > 0.5) {\n    "supported"\n  } else {\n    "rejected"\n  }\n}\n'
    assert next_run(tmp_path, code, "future_test_1.R") == 1
    assert next_run(tmp_path, "# if (s > 0.5) supported else rejected\nprint(1)\n", "future_test_1.R") == 0


# ---- the runs of this repository

RUNS = Path(__file__).parents[1] / "runs"
BY_HAND = {
    # levels of 2.1, 2.2, 2.3, 2.4, 4.1, 4.2, 4.3 and 6.5, agreed on by reading the runs
    "guided/astronomy_activity_cycle": [(1, 0, 1, 1, 1, 1, 1, 1)] * 3,
    "guided/earth_carbon_record": [(1, 0, 1, 1, 1, 1, 1, 1)] * 3,
    "guided/life_bill_shape": [(1, 0, 1, 1, 0.5, 1, 1, 1)] * 3,
    "plain/astronomy_activity_cycle": [
        (1, 0, 1, 1, 1, 0, 0, 0),
        (1, 0, 0, 1, 1, 0, 0, 0),
        (1, 0, 0, 0, 1, 0, 0, 0),
    ],
    "plain/earth_carbon_record": [(1, 0, 1, 1, 0.5, 0, 0, 0)] * 3,
    "plain/life_bill_shape": [(1, 0, 1, 0, 0.5, 0, 0, 0), *[(1, 0, 1, 1, 0.5, 0, 0, 0)] * 2],
}


@pytest.mark.parametrize("name", BY_HAND)
def test_levels_of_real_runs(name: str) -> None:
    path = RUNS / name
    if not path.is_dir():
        pytest.skip("the runs of the repository are not here")
    run = Run.load(path)
    names = (UNCERTAINTY, REPLICATION, SAMPLE, METHOD, SETS, CHECKED, RULE, NEXT)
    found = [tuple(level(check, run, number) for check in names) for number in (1, 2, 3)]
    assert found == BY_HAND[name]


# ---- whatever is in the files

ALL = (IDENTITY, EXECUTION, UNCERTAINTY, REPLICATION, SAMPLE, METHOD, SETS, CHECKED, RULE, NEXT)
WORDS = """slope se lo hi ci p2.5 97.5% seed run left_out held_out method threshold train test overlap fixed_at
applied_at verdict finding n drop leave_one_out window_3 F1 F2_x split id ids"""
NAMES = st.sampled_from(WORDS.split()) | st.text(max_size=8)
VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
DOCUMENTS = st.recursive(VALUES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4))


@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)
@given(
    document=DOCUMENTS,
    header=st.lists(NAMES, min_size=1, max_size=5),
    rows=st.lists(st.lists(VALUES, max_size=5), max_size=4),
)
def test_no_result_breaks_a_check(
    tmp_path: Path, document: object, header: list[str], rows: list[list[object]]
) -> None:
    import csv
    import io

    text = io.StringIO()
    csv.writer(text).writerows([header, *rows])
    content = text.getvalue().encode("utf-8", "replace")
    files: dict[str, str | bytes] = {
        "code/fit.py": BOOTSTRAP + SPLIT,
        "results/fit.csv": content,
        "d.json": json.dumps(document),
    }
    run = make_run(tmp_path, files, f"{NAMED} See `d.json`.", NAMED)
    for name in ALL:
        run_check(name, run)


@pytest.mark.parametrize(
    "code",
    ["(" * 5_000, "x = " + "-" * 3_000 + "1", "a" * 1_200_000, "\0", "def f(:", "x = 1" + "0" * 6_000, "\\", "if x\n"],
    ids=lambda code: repr(code[:6]),
)
def test_no_source_breaks_a_check(tmp_path: Path, code: str) -> None:
    files = {"code/fit.py": code, "future_test_1.py": code, "fit.R": code, "results/fit.csv": "slope,se\n0.21,0.02\n"}
    run = make_run(tmp_path, files, f"{NAMED} `future_test_1.py` `fit.R`")
    assert [run_check(name, run).outcome for name in ALL] == ["not_assessed", *["decided"] * 9]


# ---- what an agent may write to stall, break or please a check


SLOW = {
    "placeholders": {"fit.py": 'open(f"' + "{a}" * 40 + 'xyz.csv")\n', "q" * 60 + ".json": "{}"},
    "many limits": {"d.json": json.dumps({f"k{i}_{end}": 1 for i in range(5_000) for end in ("lo", "p2.5")})},
    "wide": {"fit.csv": ",".join(f"model_{i}_lo" for i in range(600)) + "\n" + (",".join(["1.5"] * 600) + "\n") * 300},
    "many rules": {
        "future_test_1.py": "".join(f"def next_1_{i}(x): return 'a' if x<{i} else 'b'\n" for i in range(600))
    },
}
LOGS = {
    "long word": "a" * 100_000 + " fit.py",
    "here-document": "<<A\n" + "\n" * 50_000 + "x",
    "nested": "<<A\n" * 20_000,
}


@pytest.mark.parametrize("files", SLOW.values(), ids=SLOW)
def test_no_result_or_code_stalls_a_check(tmp_path: Path, files: dict[str, str | bytes]) -> None:
    run = make_run(tmp_path, {"fit.py": PLAIN_CODE, **files}, " ".join(f"`{name}`" for name in ("fit.py", *files)))
    started = time.process_time()
    for name in ALL:
        run_check(name, run)
    assert time.process_time() - started < 20


@pytest.mark.parametrize("command", LOGS.values(), ids=LOGS)
def test_no_log_stalls_a_check(tmp_path: Path, command: str) -> None:
    run = make_run(tmp_path, PLAIN, NAMED, log=json.dumps({"time": STARTED, "command": command}) + "\n")
    started = time.process_time()
    assert level(EXECUTION, run) == 0.5
    assert time.process_time() - started < 10


def test_columns_that_are_not_looked_at_are_told(tmp_path: Path) -> None:
    table = ",".join(f"g{i}" for i in range(201)) + "\n" + ",".join(["1.5"] * 201) + "\n"
    result = run_check(UNCERTAINTY, make_run(tmp_path, {**PLAIN, "results/fit.csv": table}, NAMED))
    assert result.facts["only_first_200_columns_looked_at"] == ["output/results/fit.csv"]


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        ("out_{a}{b}.csv", True),
        ("{a}out_{b}.csv", True),
        ("{a}_{b}_1.csv", True),
        ("out_{a}1.csv{b}1.csv", False),
        ("in_{a}.csv", False),
    ],
)
def test_formatted_names_mean_the_files_they_may_become(tmp_path: Path, pattern: str, named: bool) -> None:
    files = {"fit.py": f'import pandas as pd\npd.x.to_csv(f"{pattern}")\n', "out_x_1.csv": PLAIN_TABLE}
    result = run_check(IDENTITY, make_run(tmp_path, files, "`out_x_1.csv`"), task=make_task(tmp_path))
    assert (result.reason_code == "traceable") is named


BAD_CELLS: tuple[object, ...] = (5, {"a": 1}, True)


@pytest.mark.parametrize("source", BAD_CELLS, ids=repr)
def test_a_broken_notebook_leaves_the_others_alone(tmp_path: Path, source: object) -> None:
    broken = json.loads(notebook("x", "a  sd\n1  2\n"))
    broken["cells"][0]["source"] = source
    files = {**PLAIN, "bad.ipynb": json.dumps(broken), "good.ipynb": notebook("print(1)", "slope  sd\n0.2  0.1\n")}
    run = make_run(tmp_path, files, f"{NAMED} `bad.ipynb`, `good.ipynb`")
    assert level(UNCERTAINTY, run) == 0.5
    assert [run_check(name, run).outcome for name in ALL] == ["not_assessed", *["decided"] * 9]


def test_numbers_beyond_floats_and_deep_sums_break_nothing(tmp_path: Path) -> None:
    huge = "1" + "0" * 400
    document = f'{{"ci": [1, {huge}], "seed": 1, "x": {huge}, "train": [1, {huge}], "test": [2, 3], "overlap": {huge}}}'
    deep = "+".join(["a"] * 900)
    code = f"train = d[:{deep}] + d[{deep}:]\ntest = d[({deep}) != 1]\n"
    run = make_run(tmp_path, {"fit.py": code, "d.json": document}, "`fit.py` `d.json`")
    assert [run_check(name, run).outcome for name in ALL] == ["not_assessed", *["decided"] * 9]


def test_only_logs_of_the_platform_are_believed(tmp_path: Path) -> None:
    entry = {"time": "2026-01-02T10:20:00Z", "command": "python code/fit.py", "exit_code": 0}
    run = make_run(tmp_path, {**PLAIN, "x.log": json.dumps(entry) + "\n"}, NAMED)
    assert run_check(EXECUTION, run).facts["logged_runs"] == []


@pytest.mark.parametrize(
    ("fixed", "applied"),
    [("1990-01-01T00:00:00Z", "2026-01-02T10:20:00Z"), ("2026-01-02T10:10:00Z", "2090-01-01T00:00:00Z")],
)
def test_times_outside_the_run_order_nothing(tmp_path: Path, fixed: str, applied: str) -> None:
    assert times_run(tmp_path, fixed, applied) == (0, 0.5)


def test_weak_words_of_time_give_way_to_strong_ones(tmp_path: Path) -> None:
    at = ("2026-01-02T10:10:00Z", "2026-01-02T10:20:00Z")
    late, early = "2026-01-02T10:30:00Z", "2026-01-02T10:05:00Z"
    assert times_run(tmp_path, *at, more={"written_at": late}) == (1, 1)
    assert times_run(tmp_path, *at, more={"opened_at": at[1], "generated_at": early}) == (1, 1)
    assert times_run(tmp_path, *at, more={"exit_velocity": 3})[0] == 1


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (",seed,slope\n0,1,2.5\n1,2,2.5\n2,3,2.5\n", 0),
        ("seed,slope,elapsed_s\n1,2.5,0.11\n2,2.5,0.12\n3,2.5,0.13\n", 0),
        ("seed,slope,start_time\n1,2.5,7\n2,2.5,8\n3,2.5,9\n", 0),
        ("seed,row,slope\n4,1,2.5\n5,2,2.5\n6,3,2.5\n", 0),
        ("seed,slope,path\n4,2.5,a\n5,2.5,b\n6,2.5,c\n", 0),
        ("seed,row,slope\n4,1,2.5\n5,2,2.6\n6,3,2.7\n", 1),
    ],
)
def test_what_numbers_rows_or_tells_time_is_no_result_of_a_run(tmp_path: Path, table: str, expected: float) -> None:
    assert level(REPLICATION, make_run(tmp_path, {**PLAIN, "results/fit.csv": table}, NAMED)) == expected
    rows = [
        dict(zip(table.split("\n")[0].split(","), r.split(","), strict=True)) for r in table.strip().split("\n")[1:]
    ]
    records = [{k: float(v) if v[0].isdigit() else v for k, v in row.items()} for row in rows]
    as_json = make_run(tmp_path, {**PLAIN, "results/d.json": json.dumps(records)}, "`code/fit.py` `results/d.json`")
    assert level(REPLICATION, as_json) == expected


@pytest.mark.parametrize(
    "code",
    [
        "if False:\n    d.x.std()\n",
        "while 0:\n    d.x.std()\n",
        "if True:\n    pass\nelse:\n    d.x.std()\n",
        "x = 1 if 1 else d.x.std()\n",
        "np.std([1, 2])\n",
        "pd.Series([1, 2]).std()\n",
        "np.std(np.array([1, 2]))\n",
    ],
)
def test_dead_code_and_calls_on_literals_calculate_nothing(tmp_path: Path, code: str) -> None:
    table = {"results/fit.csv": "slope,sd\n0.2,0.1\n"}
    head = "import numpy as np\nimport pandas as pd\nd = pd.read_csv('data/cases.csv')\n"
    dead, live = ({"code/fit.py": head + text, **table} for text in (code, "d.x.std()\n"))
    assert level(UNCERTAINTY, make_run(tmp_path, dead, NAMED)) == 0.5
    assert level(UNCERTAINTY, make_run(tmp_path, live, NAMED)) == 1


HEAD = "import pandas as pd\nd = pd.read_csv('data/cases.csv')\n"
SPREAD = "def spread(d):\n    return d.x.std()\n"
REACHED: list[tuple[str, dict[str, str], float]] = [
    # what, files, level of 2.1
    ("called", {"fit": HEAD + SPREAD + "spread(d)\n"}, 1),
    ("never called", {"fit": HEAD + SPREAD + "def main():\n    print(d)\nmain()\n"}, 0.5),
    (
        "called by one that is never called",
        {"fit": HEAD + SPREAD + "def more(d):\n    spread(d)\ndef main():\n    print(d)\nmain()\n"},
        0.5,
    ),
    (
        "called by itself only",
        {"fit": HEAD + "def s(d):\n    return d.x.std() or s(d)\nprint(len(d))\ndef m(): 0\nm()"},
        0.5,
    ),
    ("called on a dead arm", {"fit": HEAD + SPREAD + "def m(): 0\nm()\nif False:\n    spread(d)\n"}, 0.5),
    ("handed over", {"fit": HEAD + SPREAD + "d.pipe(spread)\n"}, 1),
    ("by way of another", {"fit": HEAD + SPREAD + "def more(d):\n    spread(d)\nmore(d)\n"}, 1),
    ("by its name in a string", {"fit": HEAD + SPREAD + "globals()['spread'](d)\n"}, 1),
    ("decorated", {"fit": HEAD + "import click\n@click.command()\n" + SPREAD + "def m(): 0\nm()\n"}, 1),
    ("in a class", {"fit": HEAD + "class A:\n    def s(self):\n        return d.x.std()\ndef m(): 0\nm()\n"}, 1),
    ("of a library", {"fit": HEAD + SPREAD}, 1),
    ("imported", {"tool": SPREAD + "def m(): 0\nm()\n", "fit": HEAD + "from tool import spread\nspread(d)\n"}, 1),
    ("not imported", {"tool": SPREAD + "def m(): 0\nm()\n", "fit": HEAD + "import tool\ntool.m()\n"}, 0.5),
]


@pytest.mark.parametrize(("files", "expected"), [case[1:] for case in REACHED], ids=[case[0] for case in REACHED])
def test_a_function_that_nothing_gets_to_calculates_nothing(
    tmp_path: Path, files: dict[str, str], expected: float
) -> None:
    sources = {f"code/{name}.py": text for name, text in files.items()}
    run = make_run(tmp_path, {**sources, "results/fit.csv": "slope,sd\n0.2,0.1\n"}, NAMED)
    assert level(UNCERTAINTY, run) == expected


def test_a_bare_list_of_labels_varies_no_method(tmp_path: Path) -> None:
    table = {"results/fit.csv": "method,slope\nols,0.2\nhuber,0.3\n"}
    bare, used = '["ols", "huber"]\n', 'for m in ["ols", "huber"]:\n    fit(m)\n'
    for code, expected in ((bare, 0.5), (used, 1)):
        assert level(METHOD, make_run(tmp_path, {"code/fit.py": f"import numpy\n{code}", **table}, NAMED)) == expected


@pytest.mark.parametrize(
    "code",
    [
        "def f(x):\n    return 'support' if 1 > 2 else 'reject'\n",
        "LIMIT = 2\nSEEN = 1\ndef f(x):\n    return 'support' if SEEN > LIMIT else 'reject'\n",
        "import argparse\nif 1 > 2:\n    print('support')\nelse:\n    print('reject')\n",
    ],
)
def test_two_constants_decide_no_next_test(tmp_path: Path, code: str) -> None:
    assert next_run(tmp_path, code) == 0
    assert next_run(tmp_path, "LIMIT = 2\ndef f(x):\n    return 'support' if x > LIMIT else 'reject'\n") == 1


@pytest.mark.parametrize("code", ["", "# only words\n", "\n\n"])
def test_a_source_without_a_statement_is_no_source(tmp_path: Path, code: str) -> None:
    run = make_run(tmp_path, {**PLAIN, "code/fit.py": code}, NAMED)
    assert (level(IDENTITY, run, task=make_task(tmp_path)), level(EXECUTION, run)) == (0, 0)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("r.csv", ""),
        ("r.csv", "slope,sd\n"),
        ("r.json", "{}"),
        ("r.json", "{"),
        ("r.json", '{"%s": 1}' % ("k" * 1_001)),
    ],
    ids=["nothing", "header", "object", "broken", "long key"],
)
def test_an_empty_or_unreadable_result_is_no_result(tmp_path: Path, name: str, content: str) -> None:
    run = make_run(tmp_path, {"code/fit.py": PLAIN_CODE, name: content}, f"`code/fit.py` `{name}`")
    result = run_check(IDENTITY, run, task=make_task(tmp_path))
    assert (result.level, result.reason_code) == (0.5, "no_result")
    assert str(result.facts["not_read"]).startswith(f"['output/{name}: ")


def test_a_notebook_is_a_result_only_with_an_executed_cell(tmp_path: Path) -> None:
    planted = json.loads(notebook("print(1)", "slope  sd\n0.2  0.1\n"))
    planted["cells"][0]["execution_count"] = None
    run = make_run(tmp_path, {"fit.ipynb": json.dumps(planted)}, "`fit.ipynb`")
    assert level(UNCERTAINTY, run) == 0


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"columns": {"train": ["x", "y"], "test": ["x", "y"]}}, 1),
        ({"rows_per_site": {"train": [100, 30, 7], "test": [30, 12, 7]}}, 1),
        ({"slope_ci95": {"train": [1, 2], "test": [3, 4]}}, 1),
        ({"folds": [{"train": ["a", "b"], "test": ["c"]}, {"train": ["b", "c"], "test": ["a"]}]}, 1),
        ({"folds": [{"train": ["a", "b"], "test": ["c"]}, {"train": ["b", "c"], "test": ["b"]}]}, 0),
    ],
)
def test_sets_are_compared_within_one_object(tmp_path: Path, document: dict[str, object], expected: float) -> None:
    assert split_run(tmp_path, {"train_ids": ["a", "b", "c"], "test_ids": ["d", "e"], **document}) == expected
    assert split_run(tmp_path, {"slope_ci95": {"train": [1, 2], "test": [3, 4]}}) == 0.5  # limits are no ids


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_results_in_any_encoding_can_be_cited(tmp_path: Path, encoding: str) -> None:
    table = "site,slope,slope_sd\nMéxico,0.21,0.02\n".encode(encoding)
    run = make_run(tmp_path, {**PLAIN, "results/fit.csv": table}, NAMED)
    result = run_check(UNCERTAINTY, run)
    assert result.level == 0.5
    assert (
        QuoteIndex(Artifacts(run)).verify(Citation(file="results/fit.csv", quote="México,0.21,0.02")).place == "line 2"
    )
