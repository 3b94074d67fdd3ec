"""The steps of a job, one by one: the event, what changed, annotations, the comment, records in a cache."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from action_runner import read_outputs
from github_api import BOT, TOKEN, GitHubApi
from hypothesis import given
from hypothesis import strategies as st
from sample import Cohort

from pytest_sciagent.ci.annotations import Annotation
from pytest_sciagent.ci.comment import LIMIT, Comments, Refused, body_of
from pytest_sciagent.ci.event import SUMMARY_LIMIT, read_job
from pytest_sciagent.errors import SciagentError

SHA = "0123456789" * 4


def event(tmp_path: Path, content: object) -> dict[str, str]:
    path = tmp_path / "event.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return {"GITHUB_EVENT_PATH": str(path), "GITHUB_REPOSITORY": "me/lab", "GITHUB_ACTIONS": "true"}


def pull_request(base: str = SHA, source: str | None = "me/lab") -> dict[str, object]:
    repo = {"full_name": source} if source is not None else None
    return {"pull_request": {"number": 7, "base": {"sha": base}, "head": {"repo": repo}}}


# ---- the event


@pytest.mark.parametrize(("source", "fork"), [("me/lab", False), ("they/lab", True), (None, True)])
def test_a_branch_elsewhere_is_a_fork(tmp_path: Path, source: str | None, fork: bool) -> None:
    job = read_job(event(tmp_path, pull_request(source=source)))
    assert job.pull_request is not None
    assert (job.pull_request.number, job.pull_request.is_fork) == (7, fork)


@pytest.mark.parametrize("content", [{}, {"pull_request": None}, {"issue": 3}])
def test_other_events_are_no_pull_request(tmp_path: Path, content: object) -> None:
    assert read_job(event(tmp_path, content)).pull_request is None


@pytest.mark.parametrize(
    "content", [[], None, {"pull_request": 5}, {"pull_request": {"number": "7"}}, pull_request(base="--output=/etc/x")]
)
def test_a_pull_request_that_is_not_understood_is_never_taken_for_none(tmp_path: Path, content: object) -> None:
    with pytest.raises(SciagentError, match=r"event\.json: the event"):
        read_job(event(tmp_path, content))


def test_head_runs_never_take_the_place_of_the_checkout(cohort: Cohort) -> None:
    for place in (".", "..", str(cohort.root)):
        code, _, err = cohort.sciagent("ci", "run", "--system-file", "s.yaml", "--tasks", "t1", "-o", place)
        assert code == 4
        assert "what is in this folder is removed first" in err
    assert (cohort.root / "tasks" / "t1" / "task.yaml").is_file()


def test_an_event_that_can_not_be_read_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(SciagentError, match=r"event\.json: the event can't be read"):
        read_job(event(tmp_path, "{"))


def test_outputs_and_summary(tmp_path: Path) -> None:
    told = {"GITHUB_OUTPUT": str(tmp_path / "out"), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
    job = read_job(told)
    job.tell(exit_code="1", files="a.md\nfake<<x\nchanged=true")
    lines = (tmp_path / "out").read_text().splitlines()
    assert lines[0].startswith("exit-code<<sciagent_")
    assert lines[0].split("<<")[1] == lines[2]
    assert lines[3].startswith("files<<")
    assert lines[3].split("<<")[1] == lines[7]
    assert job.add_summary("x" * (SUMMARY_LIMIT - 10))
    assert not job.add_summary("y" * 11)
    assert job.add_summary("y" * 10)
    assert (tmp_path / "summary").stat().st_size == SUMMARY_LIMIT


# ---- what changed


def git(root: Path, *args: str) -> str:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main", *args]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(cohort: Cohort, monkeypatch: pytest.MonkeyPatch) -> Cohort:
    """A repository whose head changes prompts/a.md, removes prompts/sub/old.md and touches the README."""
    root = cohort.root
    (root / "prompts" / "sub").mkdir(parents=True)
    for name in ("prompts/a.md", "prompts/b.md", "prompts/sub/old.md", "README.md"):
        (root / name).write_text(name)
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "base")
    base = git(root, "rev-parse", "HEAD")
    (root / "prompts" / "a.md").write_text("changed")
    (root / "README.md").write_text("changed")
    (root / "prompts" / "sub" / "old.md").unlink()
    git(root, "commit", "-qam", "head")
    for name, value in event(root / ".git", pull_request(base)).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("GITHUB_OUTPUT", str(root / ".git" / "output"))
    return cohort


def outputs(root: Path) -> dict[str, str]:
    return read_outputs((root / ".git" / "output").read_text())


@pytest.mark.parametrize(
    ("patterns", "changed", "files"),
    [
        ("prompts/**", "true", "prompts/a.md"),
        ("prompts/*.md", "true", "prompts/a.md"),
        ("prompts/sub/**", "true", ""),
        ("prompts/b.md other/**", "false", ""),
        ("", "false", ""),
        ("'with space.md' # a comment", "false", ""),
    ],
)
def test_changed_prompts(repository: Cohort, patterns: str, changed: str, files: str) -> None:
    code, _, err = repository.sciagent("ci", "changed", "--prompts", patterns)
    assert (code, err) == (0, "")
    assert outputs(repository.root) == {"changed": changed, "files": files}


def test_a_shallow_checkout_fetches_the_base(
    repository: Cohort, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repository.root, "config", "uploadpack.allowAnySHA1InWant", "true")
    clone = repository.root / ".git" / "clone"
    git(repository.root, "clone", "-q", "--depth=1", f"file://{repository.root}", str(clone))
    monkeypatch.chdir(clone)
    assert repository.sciagent("ci", "changed", "--prompts", "prompts/**")[0] == 0
    assert outputs(repository.root)["files"] == "prompts/a.md"


def test_a_base_that_is_nowhere_is_one_message(repository: Cohort, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in event(repository.root / ".git", pull_request()).items():
        monkeypatch.setenv(name, value)
    code, _, err = repository.sciagent("ci", "changed", "--prompts", "prompts/**")
    assert code == 4
    assert "check out with 'fetch-depth: 0'" in err


# ---- annotations


@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=40))
def test_an_annotation_is_one_command(path: str, title: str, message: str) -> None:
    line = str(Annotation("error", (path, 3), title, message))
    assert "\n" not in line
    assert "\r" not in line
    head, _, data = line.removeprefix("::error ").partition("::")
    values = dict(part.split("=", 1) for part in head.split(","))
    assert set(values) == {"file", "line", "title"}

    def plain(text: str) -> str:
        for escaped, real in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
            text = text.replace(escaped, real)
        return text

    assert (plain(values["file"]), values["line"], plain(values["title"]), plain(data)) == (path, "3", title, message)


@pytest.fixture
def tested(cohort: Cohort, monkeypatch: pytest.MonkeyPatch) -> Cohort:
    """A session's report against a baseline in which everything was at level 1."""
    cohort.run(findings=1)
    cohort.run("base", place="old/t1", findings=1)
    cohort.record()
    cohort.record(lambda run, finding, criterion: 1, runs="old")
    files = ("--sciagent-json=report/results.json", "--sciagent-summary=report/summary.md")
    cohort.pytest("--sciagent-run=runs", "--sciagent-baseline=old", *files)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    return cohort


def test_what_fell_is_shown_at_the_rubric_the_dearest_first(tested: Cohort) -> None:
    code, out, _ = tested.sciagent("ci", "report", "--report", "report", "--rubric", "small")
    assert code == 0
    lines = (tested.root / "rubrics" / "small.yaml").read_text().splitlines()
    zero, half = (lines.index(f"  - id: {name}") + 1 for name in ("rob.zero", "ev.half"))
    assert [line for line in out.splitlines() if line.startswith("::error")] == [
        f"::error file=rubrics/small.yaml,line={zero},title=sciagent rob.zero::"
        "alpha/t1 finding_1 fell from 1 to 0: The report speaks for level 0.",
        f"::error file=rubrics/small.yaml,line={half},title=sciagent ev.half::"
        "alpha/t1 finding_1 fell from 1 to 0.5: The report speaks for level 0.5.",
    ]
    _, out, _ = tested.sciagent("ci", "report", "--report", "report", "--changed-files", "prompts/a,b.md\n")
    assert out.count("::error file=prompts/a%2Cb.md,line=1,title=sciagent ") == 2


def test_without_a_session_the_summary_says_so(cohort: Cohort, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "s.md"))
    assert cohort.sciagent("ci", "report", "--exit-code", "4")[0] == 0
    assert "ended before there was a score (exit code 4)" in (tmp_path / "s.md").read_text()


# ---- the comment


def test_the_comment_is_written_once_and_then_replaced() -> None:
    with GitHubApi() as api:
        comments = Comments(api.url, "me/lab", 7, TOKEN)
        for n in range(120):
            api.add(f"a remark {n}", {"login": "someone", "type": "User"})
        forged = api.add(body_of("forged", "default", None), {"login": "mallory", "type": "User"})
        other = api.add(body_of("of another job", "nightly", None), BOT)
        assert comments.upsert(body_of("first", "default", None), "default") == "created"
        assert comments.upsert(body_of("second", "default", "https://github.test/run/1"), "default") == "updated"
        bodies = {comment["id"]: comment["body"] for comment in api.comments}
        assert len(bodies) == 123
        assert "forged" in bodies[forged]
        assert "of another job" in bodies[other]
        assert bodies[max(bodies)].startswith("<!-- sciagent: default -->\nsecond\n")
        assert bodies[max(bodies)].endswith("[This job](https://github.test/run/1)")


def test_a_token_of_a_person_replaces_the_persons_own() -> None:
    with GitHubApi(login="dana") as api:
        api.add(body_of("of a bot", "default", None), BOT)
        comments = Comments(api.url, "me/lab", 7, TOKEN)
        assert [comments.upsert(body_of(text, "default", None), "default") for text in "ab"] == ["created", "updated"]


def test_failures_of_the_api_are_told_apart() -> None:
    with GitHubApi() as api:
        api.broken = [502, 500]
        assert Comments(api.url, "me/lab", 7, TOKEN, wait_s=0).upsert("x", "k") == "created"
        api.refuse = True
        with pytest.raises(Refused, match=r"POST /repos/me/lab/issues/7/comments: status 403"):
            Comments(api.url, "me/lab", 7, TOKEN).upsert("x", "k")
        api.broken = [302]
        with pytest.raises(Refused, match="status 302"):
            Comments(api.url, "me/lab", 7, TOKEN).upsert("x", "k")
    with pytest.raises(Refused, match="refused"):
        Comments("http://127.0.0.1:9", "me/lab", 7, TOKEN, wait_s=0).upsert("x", "k")


@given(st.text(alphabet="€a\n", max_size=2000), st.integers(0, 60))
def test_a_comment_is_never_too_long(text: str, times: int) -> None:
    body = body_of(text * times, "k", "https://github.test/run/1")
    assert len(body.encode()) <= LIMIT
    assert body.startswith("<!-- sciagent: k -->")


# ---- records in a cache


def test_a_cache_adds_answers_and_takes_none_away(cohort: Cohort) -> None:
    cohort.run(findings=1)
    cohort.record(lambda run, finding, criterion: 1 if criterion == "ev.full" else None)
    shutil.copytree(cohort.root / "verdicts", cohort.root / "mine")
    shutil.rmtree(cohort.root / "verdicts")
    cohort.record(lambda run, finding, criterion: 0)
    assert cohort.sciagent("ci", "keep-records", "cache")[:2] == (0, "1 records kept\n")
    code, out, err = cohort.sciagent("ci", "restore-records", "cache", "--ledger", "mine")
    assert (code, out, err) == (0, "3 answers out of the cache\n", "")
    found = json.loads((cohort.root / "mine" / "alpha" / "t1.json").read_text())["entries"]
    assert {entry["criterion_id"]: entry["level"] for entry in found} == {
        "ev.full": 1,
        "ev.half": 0,
        "rob.zero": 0,
        "rob.open": 0,
    }


def test_a_broken_cache_costs_answers_not_the_job(cohort: Cohort) -> None:
    cohort.run(findings=1)
    cohort.record()
    cohort.sciagent("ci", "keep-records", "cache")
    (cohort.root / "cache" / "alpha" / "bad.json").write_text("{")
    shutil.copy(cohort.root / "cache" / "alpha" / "t1.json", cohort.root / "cache" / "alpha" / "t2.json")
    shutil.rmtree(cohort.root / "verdicts")
    code, out, _ = cohort.sciagent("ci", "restore-records", "cache")
    assert code == 0
    assert out.startswith("3 answers out of the cache\n")
    assert "bad.json" in out
    assert "t2.json: is the record of alpha/t1" in out
    assert cohort.sciagent("ci", "restore-records", "nowhere")[:2] == (0, "0 answers out of the cache\n")
