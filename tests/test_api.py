"""The package in Python: the numbers of a session, judges asked and recorded, nothing hidden in a notebook."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest
from loopback import Answer, Loopback, Raw
from sample import OTHER, Cohort, rubric_text
from test_live_judge import good

import pytest_sciagent
from pytest_sciagent import Judge, JudgeIdentity, Prompt, SciagentError, compare, judge, load_run, score
from pytest_sciagent.models.results import ResultsFile
from pytest_sciagent.rubrics import load_rubric

ROOT = Path(__file__).parent.parent


class Kind(Judge):
    """Gives every criterion level 1; counts how often it is asked."""

    identity = JudgeIdentity(kind="own", model="kind")

    def __init__(self) -> None:
        self.asked = 0

    def ask(self, prompt: Prompt) -> dict[str, object]:
        self.asked += 1
        return good({"prompt": prompt.last, "schema": prompt.schema}, 1)


def session_of(folder: Path, runs: Path | str, *options: str) -> dict[str, Any]:
    target = folder / "session.json"
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", f"--sciagent-run={runs}"]
    done = subprocess.run(
        [*command, f"--sciagent-json={target}", *options], capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: dict[str, Any] = json.loads(target.read_text())
    return found


def test_the_package_stays_light() -> None:
    told = (
        "import sys, pytest_sciagent; print({m.split('.')[0] for m in sys.modules} & {'pandas', 'pydantic', 'pytest'})"
    )
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True, cwd="/")
    assert done.stdout.strip() == "set()"
    assert {"compare", "judge", "load_run", "score"} <= set(dir(pytest_sciagent))


def test_a_session_without_runs_loads_no_models(tmp_path: Path) -> None:
    loaded = "{name.split('.')[0] for name in sys.modules} & {'pydantic', 'yaml'}"
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_own.py").write_text(f"import sys\ndef test_own():\n    assert not {loaded}\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_shipped_runs_score_as_in_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    scores = score("runs")
    assert json.loads(json.dumps(scores.as_json())) == session_of(tmp_path, "runs", "--noconftest")
    assert isinstance(scores.file, ResultsFile)
    assert [s.name for s in scores.systems] == ["claude-guided", "claude-plain"]
    assert len(scores.verdicts()) == 18 * 29
    assert len(scores.table()) == 6
    compared = compare(scores)
    assert compared.leader == "claude-guided"
    assert "71.0..74.2" in scores._repr_html_()
    assert "no difference is shown" in compared._repr_html_()


def test_the_same_for_open_tampered_and_undelivered_runs(cohort: Cohort) -> None:
    cohort.run("alpha")
    (cohort.run("beta") / "output" / "Result.md").write_text("other words")
    cohort.run("gamma", report=None)
    cohort.record(runs="runs/alpha")
    scores = score(cohort.root / "runs", rubric="small")
    assert json.loads(json.dumps(scores.as_json())) == session_of(cohort.root, "runs")
    assert [(run.label, run.state) for run in scores.runs] == [
        ("alpha/t1", "sound"),
        ("beta/t1", "tampered"),
        ("gamma/t1", "undelivered"),
    ]
    assert scores.run("alpha/t1").score != scores.run("gamma/t1").score
    with pytest.raises(SciagentError, match="no run 'delta/t1' here"):
        scores.run("delta/t1")


def test_a_run_is_loaded_only_as_it_was_frozen(cohort: Cohort) -> None:
    path = cohort.run()
    run = load_run(path)
    assert run.label == "alpha/t1"
    assert "series 1 rises" in (run.report_text or "")
    cohort.record()
    assert repr(score(run, rubric="small")) == repr(score([str(path)], rubric="small"))
    (path / "output" / "Result.md").write_text("other words")
    with pytest.raises(SciagentError, match=r"not what was frozen: changed: output/Result\.md"):
        load_run(path)


def test_a_judge_of_ones_own_is_asked_once_and_recorded(cohort: Cohort) -> None:
    cohort.run()
    cohort.record(lambda run, finding, criterion: 0, judge=OTHER)
    own = Kind()
    scores = judge("runs", own, rubric="small")
    assert scores.file.judge == own.identity
    assert own.asked == scores.file.spending["spent"]["calls"] > 0
    assert scores.systems[0].score.low == 100
    again = Kind()
    assert judge("runs", again, rubric="small").systems == scores.systems
    assert again.asked == 0
    assert score("runs", rubric="small", judge="own:kind").systems == scores.systems
    assert score("runs", rubric="small", judge=OTHER).systems[0].score.high == 0
    with pytest.raises(SciagentError, match="several judges are recorded"):
        score("runs", rubric="small")
    assert not list((cohort.root / ".sciagent" / "work").glob("*"))


def test_a_failing_judge_gives_no_score(cohort: Cohort) -> None:
    class Broken(Kind):
        def ask(self, prompt: Prompt) -> dict[str, object]:
            raise RuntimeError("out of order")

    cohort.run()
    scores = judge("runs", Broken(), rubric="small")
    assert (scores.systems[0].score.low, scores.systems[0].score.high) == (0, 100)
    assert set(scores.verdicts()["status"]) == {"provider_error"}
    assert score("runs", rubric="small").file.judge is None  # a failed call is no answer, and not recorded


@pytest.mark.parametrize("in_a_notebook", [False, True])
def test_a_provider_is_asked_also_where_a_loop_runs(cohort: Cohort, in_a_notebook: bool) -> None:
    cohort.run()
    told: list[int] = []
    with Loopback(good) as server:

        def ask() -> Any:
            return judge(
                "runs",
                "openai:some-model",
                rubric="small",
                base_url=server.openai_url,
                max_calls=50,
                on_progress=lambda progress: told.append(progress.done),
            )

        async def within() -> Any:
            return ask()

        scores = asyncio.run(within()) if in_a_notebook else ask()
        calls = len(server.requests)
        assert scores.file.spending["spent"]["calls"] == calls > 0
        assert told
        assert scores.systems[0].score.low == 100
        ask()
        assert len(server.requests) == calls
    assert score("runs", rubric="small").systems == scores.systems


def test_what_can_not_be_asked_is_told(cohort: Cohort) -> None:
    cohort.run()
    with pytest.raises(SciagentError, match=r"handoff:ann can't be asked.*score\(runs, judge="):
        judge("runs", "handoff:ann", rubric="small")
    with pytest.raises(SciagentError, match="OPENAI_API_KEY"):
        judge("runs", "openai:some-model", rubric="small")
    with pytest.raises(SciagentError, match="max_calls 0"):
        judge("runs", "openai:m", rubric="small", base_url="http://127.0.0.1:9", max_calls=0)
    with pytest.raises(SciagentError, match="has no identity"):
        judge("runs", Judge(), rubric="small")
    with pytest.raises(SciagentError, match="name the judge to be asked"):
        judge("runs", None, rubric="small")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("runs", "given", "message"),
    [
        ("runs", {"combine": "most"}, "combine 'most': choose from majority, median, strict, mean, weighted"),
        ("runs", {"judge": 5}, "judge: write 'KIND:MODEL'.*not 5"),
        ("runs", {"ledger": "nowhere"}, "nowhere: there is no such folder of recorded verdicts"),
        ("runs", {"ledger": "pytest.ini"}, "pytest.ini: there is no such folder of recorded verdicts"),
        ("runs", {"tasks": "nowhere"}, "nowhere: there is no such folder of tasks"),
        ("r" * 5000, {}, "can't be searched for runs: File name too long"),
        ("r\0", {}, "there is no such file or folder"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_can_not_be_scored_is_told(cohort: Cohort, runs: str, given: dict[str, Any], message: str) -> None:
    cohort.run()
    with pytest.raises(SciagentError, match=message):
        score(runs, rubric="small", **given)
    with pytest.raises(SciagentError, match="choose item"):
        judge("runs", "openai:m", rubric="small", layout="pairs")
    denied = Raw(401, {"error": {"message": "no such key"}})
    with Loopback(lambda request, number: denied) as server, pytest.raises(SciagentError, match="can't be asked"):
        judge("runs", "openai:m", rubric="small", base_url=server.openai_url)


def test_systems_are_compared_by_scores_or_by_runs(cohort: Cohort) -> None:
    cohort.run("alpha")
    cohort.run("beta")
    cohort.record(lambda run, finding, criterion: 1 if run.startswith("alpha") else 0)
    apart = [score(f"runs/{system}", rubric="small") for system in ("alpha", "beta")]
    assert compare(*apart).as_json() == compare("runs", rubric="small").as_json()
    assert compare(*apart).leader == "alpha"
    assert cohort.sciagent("compare", "runs", "--rubric", "small") == (0, compare(*apart).text, "")
    (cohort.root / "rubrics" / "other.yaml").write_text(rubric_text().replace("id: small", "id: other"))
    cohort.record(rubrics=("other",))
    with pytest.raises(SciagentError):
        compare(apart[0], score("runs/beta", rubric="other"))
    with pytest.raises(SciagentError, match="margin 0"):
        compare(*apart, margin=0)
    with pytest.raises(SciagentError, match="no frozen run"):
        score(cohort.root / "tasks", rubric="small")


def test_a_rubric_object_and_its_profile(cohort: Cohort) -> None:
    cohort.run()
    cohort.record()
    rubric = load_rubric("small", cohort.root, cohort.root)
    assert score("runs", rubric=rubric, profile="best-finding").rubric.profile == "best-finding"
    assert score("runs", rubric=rubric).systems == score("runs", rubric="small").systems


def test_a_notebook_shows_no_markup_of_agents(cohort: Cohort) -> None:
    cohort.run("alpha")
    cohort.record()
    scores = score("runs", rubric="small")
    named = scores.run("alpha/t1")
    assert named.label in scores._repr_html_()
    from pytest_sciagent.api.show import as_table_html, as_text_html

    hostile = "<script>alert(1)</script>\x1b[31m‮"
    shown = as_table_html(hostile, [hostile], [[hostile]]) + as_text_html(hostile)
    assert "<script" not in shown
    assert not {"\x1b", "‮"} & set(shown)


def test_the_example_notebook_runs_without_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for name in ("runs", "verdicts"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "examples").mkdir()
    notebook = nbformat.read(ROOT / "examples" / "notebook.ipynb", as_version=4)
    kept = [cell.source for cell in notebook.cells if cell.cell_type == "code" and cell.outputs]
    assert not kept  # outputs are made, not kept
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path / "examples")}}
    ).execute()
    shown = "".join(
        output.get("text", "") + "".join(output.get("data", {}).values())
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    )
    assert "71.0..74.2" in shown
    assert "no difference is shown" in shown


INTERRUPTED = """
import asyncio, signal, sys
from pytest_sciagent import judge

async def cell():
    if sys.argv[2] == "notebook":  # as its kernel does for each cell; else the loop cancels its task
        signal.signal(signal.SIGINT, signal.default_int_handler)
    judge("runs", "openai:some-model", rubric="small", base_url=sys.argv[1], in_flight=1)

try:
    asyncio.run(cell())
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("where", ["notebook", "program"])
def test_an_interrupt_ends_the_asking_and_keeps_what_was_answered(cohort: Cohort, where: str) -> None:
    cohort.run()
    asked = threading.Event()

    def slow(request: dict[str, Any], number: int) -> Answer:
        if number == 4:
            asked.set()
        return Answer(good(request, number), delay_s=0 if number < 4 else 20)

    with Loopback(slow) as server:
        command = [sys.executable, "-c", INTERRUPTED, server.openai_url, where]
        cell = subprocess.Popen(command, cwd=cohort.root, stdout=subprocess.PIPE, text=True)
        assert asked.wait(60)
        cell.send_signal(signal.SIGINT)
        told, _ = cell.communicate(timeout=60)
        asked_for = len(server.requests)
    assert told == "interrupted\n"
    assert asked_for == 4
    entries = json.loads((cohort.root / "verdicts" / "alpha" / "t1.json").read_text())["entries"]
    assert len(entries) == 3
    assert not list((cohort.root / ".sciagent" / "work").glob("*"))
