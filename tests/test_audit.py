"""The leak audit: a hundred planted leaks of ten kinds are all found, and the shipped runs have none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from sample import Cohort, sciagent, write_task

from pytest_sciagent.checks.audit import audit
from pytest_sciagent.checks.commands import actions, fetched_by, read_by
from pytest_sciagent.evidence.artifacts import Artifacts
from pytest_sciagent.models import System
from pytest_sciagent.runs import Run
from pytest_sciagent.runs.discover import find_runs
from pytest_sciagent.runs.freeze import FreezeOptions, freeze
from pytest_sciagent.tasks import Task, find_task

ROOT = Path(__file__).parent.parent
SOURCE = """\
schema: sciagent-source/1
title: Slow upward drift of laboratory thermometer readings in unheated rooms
authors: [Quillfeather, J. M. Ostrander, 'Wilson, A.']
first_public: '2020-02-03'
fingerprints: [Bunker 7, thermolog]
doi: 10.5555/ABC.123
arxiv: '2002.01234'
"""
REFERENCE = """\
schema: sciagent-reference/1
cards:
  - id: A
    object: o
    scope: s
    direction: d
    quantities:
      - {key: drift_per_year, value: 2.5147, unit: K, tolerance: {relative: 0.05}, role: core}
      - {key: share_of_rooms, value: 0.613, unit: '1', tolerance: {relative: 0.05}, role: supporting}
      - {key: rooms_counted, value: 482, unit: '1', tolerance: {relative: 0.05}, role: supporting}
"""
REPORT = "# Report\n\n## Finding 1: it rises\n\nBy `output/code/fit.py`, in `output/results/fit.csv`.\n"


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    folder = tmp_path_factory.mktemp("tasks") / "t1"
    write_task(folder)
    (folder / "hidden").mkdir()
    (folder / "hidden" / "source.yaml").write_text(SOURCE)
    (folder / "hidden" / "reference.yaml").write_text(REFERENCE)
    return Task.load(folder)


def frozen(folder: Path, outputs: Mapping[str, str], logs: Mapping[str, str]) -> Run:
    workspace = folder / "w"
    files = {"output/Result.md": REPORT, "output/code/fit.py": "print(1)\n", "output/results/fit.csv": "a\n1\n"}
    files |= {f"output/{name}": text for name, text in outputs.items()}
    files |= {f"logs/{name}": text for name, text in logs.items()}
    for name, text in files.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return freeze(workspace, folder / "run", FreezeOptions("t1", System(name="s")), {}).run


def claude(tool: str, **arguments: object) -> str:
    call = {"type": "tool_use", "name": tool, "input": arguments}
    return json.dumps({"type": "assistant", "message": {"content": [call]}})


def codex(command: str) -> str:
    item = {"type": "command_execution", "command": f"bash -lc {json.dumps(command)}"}
    return json.dumps({"type": "item.completed", "item": item})


def opencode(tool: str, **arguments: object) -> str:
    return json.dumps({"type": "tool_use", "part": {"tool": tool, "state": {"input": arguments}}})


def openclaw(tool: str, **arguments: object) -> str:
    call = {"type": "toolCall", "name": tool, "arguments": json.dumps(arguments)}
    return json.dumps({"type": "message", "message": {"role": "assistant", "content": [call]}})


def said(text: str) -> str:
    return json.dumps({"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}})


def plain(command: str) -> str:
    return f"2026-01-02T10:00:00Z $ {command}"


TITLE = "Slow upward drift of laboratory thermometer readings in unheated rooms"
REPORT_NAME, CODE, LOG = "Result.md", "code/fit.py", "log"
PLANTED: dict[str, list[tuple[str, str]]] = {
    "doi": [
        (REPORT_NAME, "see 10.5555/abc.123"),
        (CODE, "# doi:10.5555/ABC.123"),
        (LOG, said("https://doi.org/10.5555/abc.123")),
        (LOG, claude("Bash", command="echo 10.5555/ABC.123")),
        (LOG, said("10.5555%2Fabc.123")),
        ("notes.txt", "10.5555/ABC.123v1 10.5555/ABC.123"),
        ("results/fit.json", '{"source": "10.5555/abc.123"}'),
        (LOG, plain("echo 10.5555/abc.123")),
        (LOG, opencode("bash", command="echo 10.5555/abc.123")),
        ("refs.bib", "doi = {10.5555/abc.123}"),
    ],
    "arxiv": [
        (REPORT_NAME, "arXiv:2002.01234"),
        (CODE, "# https://arxiv.org/abs/2002.01234v2"),
        (LOG, said("arxiv 2002.01234")),
        ("notes.txt", "arXiv: 2002.01234v1"),
        (LOG, claude("Bash", command="echo 2002.01234")),
        (LOG, codex("echo arXiv:2002.01234")),
        ("refs.bib", "eprint = {2002.01234}"),
        (LOG, plain("echo 2002.01234")),
        (LOG, said("line one\n2002.01234")),
        ("results/fit.json", '{"id": "2002.01234"}'),
    ],
    "title": [
        (REPORT_NAME, TITLE),
        (CODE, f"# {TITLE.lower()}"),
        (LOG, said(TITLE.upper())),
        (LOG, said(TITLE.replace(" ", "\n", 4))),
        ("notes.txt", TITLE.replace("thermometer", "thermomter")),
        (LOG, claude("Bash", command=f"echo '{TITLE}'")),
        ("refs.bib", f"title = {{{TITLE}}}"),
        (LOG, plain(f"echo {TITLE}")),
        ("results/fit.json", json.dumps({"t": TITLE})),
        (LOG, said(f"The paper “{TITLE.replace(' in ', ', in ')}” says so")),
    ],
    "author": [
        (REPORT_NAME, "as Quillfeather et al. found"),
        (REPORT_NAME, "Quillfeather and Ostrander"),
        (CODE, "# after Quillfeather 2019"),
        (LOG, said("Ostrander (2019) says")),
        ("notes.txt", "Ostrander, J. M. and Quillfeather"),
        (LOG, said("Quillfeather's paper")),
        (LOG, claude("Bash", command="echo Quillfeather Wilson")),
        ("refs.bib", "author = {Quillfeather and Wilson}"),
        (LOG, plain("echo Ostrander et al")),
        (REPORT_NAME, "(Wilson, 2019)"),
    ],
    "fingerprint": [
        (REPORT_NAME, "these are the bunker 7 data"),
        (CODE, "BUNKER_7 = 1"),
        (LOG, said("Looks like Bunker-7")),
        (LOG, claude("Bash", command="echo thermolog")),
        ("notes.txt", "Thermologs"),
        ("results/thermolog.csv", "a\n1\n"),
        ("results/fit.json", '{"thermolog": 1}'),
        (LOG, codex("echo thermolog")),
        (LOG, plain("echo bunker 7")),
        (LOG, said("the\nbunker\n7")),
    ],
    "reference value": [
        (CODE, "EXPECTED = 2.5147"),
        (CODE, "a = 0.613\nb = 482"),
        (LOG, said("drift_per_year: 2.5147")),
        (REPORT_NAME, "share_of_rooms = 0.613"),
        ("notes.txt", "rooms counted 482"),
        (LOG, claude("Bash", command="echo drift_per_year 2.5147")),
        ("results/fit.json", '{"share_of_rooms": 0.613}'),
        ("code/check.py", "assert abs(x - 2.5147) < 0.1"),
        (LOG, plain("echo share_of_rooms 0.613")),
        (LOG, said('{"key": "drift_per_year", "value": 2.5147}')),
    ],
    "hidden file": [
        (LOG, claude("Read", file_path="/repo/tasks/t1/hidden/reference.yaml")),
        (LOG, codex("cat ../tasks/t1/hidden/source.yaml")),
        (LOG, plain("ls tasks/t1/hidden/holdout")),
        (LOG, said("schema: sciagent-reference/1")),
        (CODE, "open('/x/hidden/prior_art.yaml')"),
        (LOG, opencode("read", filePath="/r/hidden/provenance.yaml")),
        (LOG, openclaw("exec", command="python /r/hidden/verify/recompute.py data")),
        (LOG, said("schema: sciagent-source/1")),
        ("notes.txt", "see hidden/reference.yaml"),
        (CODE, "p = 'hidden/holdout/series.csv'"),
    ],
    "outside read": [
        (LOG, claude("Read", file_path="/repo/answers.md")),
        (LOG, claude("Bash", command="cat ../other/answers.md")),
        (LOG, codex("head -5 ~/notes.md")),
        (LOG, plain("grep -r rise /repo/runs")),
        (LOG, opencode("read", filePath="/etc/passwd")),
        (LOG, openclaw("read", path="/home/me/x.txt")),
        (CODE, "pd.read_csv('/repo/runs/x.csv')"),
        (LOG, claude("Bash", command="python -c \"print(open('/repo/x.txt').read())\"")),
        (LOG, plain("cd output; cp ../../../secret.csv .")),
        ("code/load.py", "text = open('~/answers.txt').read()"),
    ],
    "network read": [
        (LOG, claude("WebFetch", url="https://example.org")),
        (LOG, claude("WebSearch", query="thermometers")),
        (LOG, codex("curl -s https://example.org/x")),
        (LOG, plain("wget http://example.org")),
        (LOG, opencode("webfetch", url="https://example.org")),
        (LOG, openclaw("web_search", query="x")),
        (CODE, "requests.get('https://example.org')"),
        (LOG, claude("Bash", command="pip install thermo-data")),
        ("code/load.py", "pd.read_csv('https://example.org/x.csv')"),
        (LOG, json.dumps({"type": "item.completed", "item": {"type": "web_search", "query": "x"}})),
    ],
    "late literature": [
        (REPORT_NAME, "as shown by Smith et al. (2021)"),
        (REPORT_NAME, "(Miller and Jones, 2020)"),
        (REPORT_NAME, "Miller & Jones (2022) say"),
        ("notes.txt", "Smith, A. B. Rooms. J. Heat (2023)"),
        ("refs.bib", "year = {2020}"),
        (LOG, said("Smith et al., 2024")),
        (REPORT_NAME, "arXiv:2105.00001"),
        (REPORT_NAME, "https://doi.org/10.1234/x (2021)"),
        (CODE, "# Smith et al. 2020"),
        ("notes.txt", "https://arxiv.org/abs/2001.04567"),
    ],
}
CASES = [(kind, place, text) for kind, found in PLANTED.items() for place, text in found]


def test_there_are_a_hundred() -> None:
    assert len(CASES) == len(set(CASES)) == 100
    assert len(PLANTED) == 10


@pytest.mark.parametrize(("kind", "place", "text"), CASES)
def test_a_planted_leak_is_found_at_its_line(task: Task, tmp_path: Path, kind: str, place: str, text: str) -> None:
    before = REPORT if place == REPORT_NAME else "{}\n{}\n" if place == LOG else ""
    outputs = {} if place == LOG else {place: before + text + "\n"}
    run = frozen(tmp_path, outputs, {"transcript.jsonl": before + text + "\n"} if place == LOG else {})
    found = [leak for leak in audit(Artifacts(run), task).leaks if leak.kind == kind]
    assert found
    path = "logs/transcript.jsonl" if place == LOG else f"output/{place}"
    first = before.count("\n") + 1
    lines = {None, *range(first, first + text.count("\n") + 1)}
    assert {(leak.file, leak.line in lines) for leak in found} == {(path, True)}


HONEST = {
    REPORT_NAME: REPORT
    + "The drift is 2.51 K a year (0.613 of the rooms, n = 482). Wilson score interval. Smith et al. (2019).\n"
    + "In May (2020).\n",
    "code/more.py": "x = pd.read_csv('data/series.csv')\ny = open('../results/fit.csv')\nz = 0.613\n",
    "results/more.csv": "year,rooms,share\n2021,482,0.613\n2022,483,2.5147\n",
}
HONEST_LOG = "\n".join(
    [
        claude("Read", file_path="/x/workspace/data/series.csv"),
        claude("Bash", command="cd output/code && python fit.py && cat ../results/fit.csv"),
        claude("Bash", command="cat data/series.csv | head; ls -la ..; grep -rn '/root' output; cat /dev/null"),
        claude("Write", file_path="/tmp/try.py", content="print(1)"),
        claude("Bash", command="python /tmp/try.py > /tmp/out.txt; cat /tmp/out.txt"),
        codex("curl -s http://127.0.0.1:8000/v1/models"),
        said("I will not look for the study. The interval of Wilson is used; 2.5147 came out."),
        plain("python output/code/fit.py"),
    ]
)


def test_honest_work_has_no_hit(task: Task, tmp_path: Path) -> None:
    run = frozen(tmp_path, HONEST, {"transcript.jsonl": HONEST_LOG})
    assert audit(Artifacts(run), task).leaks == ()


def test_the_shipped_runs_have_no_hit() -> None:
    runs = find_runs(ROOT / "runs")
    assert len(runs) == 6
    for path in runs:
        run = Run.load(path)
        task = find_task(run.manifest.task_id, [ROOT / "tasks"])
        assert task is not None
        found = audit(Artifacts(run), task)
        assert found.leaks == ()
        assert len(found.read) == len(run.files)


def test_what_was_found_reaches_the_judge_and_nothing_else_changes(pytester: pytest.Pytester) -> None:
    """A hit opens the question of 5.1 again, and no other; without a hit it is the same question as ever."""
    cohort = Cohort(pytester)
    hidden = cohort.root / "tasks" / "t1" / "hidden"
    cohort.run("alpha", report=None, files={"Result.md": REPORT + "As Quillfeather and Ostrander found.\n"})

    def digests() -> dict[str, str]:
        out = cohort.root / "prompts.jsonl"
        args = ("runs", "--as", "x", "--rubric", "truthinsight", "-o", out)
        code, _, err = sciagent("ledger", "export", *args)
        assert code == 0, err
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        return {row["id"]: row["user"] for row in rows}

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(cohort.root)
        before = digests()
        hidden.mkdir()
        (hidden / "source.yaml").write_text(SOURCE)
        after = digests()
    changed = [text for key, text in after.items() if key not in before]
    assert len(changed) == 1
    assert "leak_audit" in changed[0]
    assert "authors Quillfeather, Ostrander" in changed[0]
    assert len(after) == len(before) > 10


def test_the_command_tells_hits_and_its_exit_code(task: Task, tmp_path: Path) -> None:
    frozen(tmp_path, {"notes.txt": "see 10.5555/abc.123\n"}, {})
    args = ("audit", str(tmp_path / "run"), "--tasks", str(task.path.parent))
    code, out, _ = sciagent(*args)
    assert code == 1
    assert "output/notes.txt:1: doi: doi 10.5555/ABC.123" in out
    code, out, _ = sciagent(*args, "--json")
    assert [hit["kind"] for run in json.loads(out)["runs"] for hit in run["hits"]] == ["doi"]
    code, _, err = sciagent("audit", str(tmp_path / "run"))
    assert (code, "no task named 't1'" in err) == (4, True)


def test_commands_are_taken_apart() -> None:
    assert list(read_by("X=1 timeout 9 cat ~/a 'b c' | sed 's/x/y/' /q/w > /z")) == ["~/a", "/q/w"]
    assert list(read_by('bash -lc "cat ../../n.md"')) == ["../../n.md"]
    assert list(fetched_by("python -m pip install -q foo; echo pip install bar")) == ["python -m pip install -q foo"]
    assert [a.kind for a in actions('{"command": ["bash", "-lc", "ls"]}\nnot json {\n[1, 2')] == ["command"]
