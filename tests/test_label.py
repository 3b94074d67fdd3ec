"""`sciagent label`: a person judges in Chromium, blind; the answers are labels, and two raters are brought together."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest
from pages import start_browser
from sample import OTHER, QUOTE, TESTER, Cohort, sciagent

from pytest_sciagent.cli.label import LabelServer
from pytest_sciagent.errors import SciagentError
from pytest_sciagent.evaluation import Sources, open_case
from pytest_sciagent.evaluation.labelling import Given, Labelling, labels_of_people
from pytest_sciagent.rubrics import load_rubric
from pytest_sciagent.runs.discover import find_runs

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from start_browser()


@pytest.fixture
def cohort(pytester: pytest.Pytester) -> Cohort:
    cohort = Cohort(pytester)
    for system in ("alpha", "secret-system"):
        cohort.run(system, findings=2, files={"results/note.txt": f"{HOSTILE} in a file of the run\n"})
    cohort.record()
    return cohort


def labelling(cohort: Cohort, rater: str = "ann", between: tuple[str, str] | None = None) -> Labelling:
    sources = Sources(cohort.root)
    cases = [open_case(path, sources, lambda label, entry: None) for path in find_runs(cohort.root / "runs")]
    rubric = load_rubric("small", cohort.root, cohort.root)
    return Labelling(cases, rubric, rater, cohort.root / "labels", lead=TESTER, between=between)


@contextmanager
def served(asked: Labelling) -> Iterator[LabelServer]:
    server = LabelServer(asked, 0)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _answer(page: Page, level: str, quote: str = "") -> None:
    page.locator(f"input[name=level][value='{level}']").check()
    page.locator("[name=reason]").fill("as I see it")
    page.locator("[name=file]").select_option("output/Result.md")
    page.locator("[name=quote]").fill(quote)
    page.get_by_role("button", name="Answer", exact=True).click()


def test_ten_criteria_are_labelled_in_chromium_and_kappa_is_computed(cohort: Cohort, browser: Browser) -> None:
    asked = labelling(cohort)
    order = [question.request.criterion_id for question in asked.questions.values()]
    assert order[:4] == ["ev.half"] * 4  # borderline first
    faults: list[str] = []
    with served(asked) as server:
        page = browser.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text))
        page.goto(server.url)
        # blind, escaped, and with the evidence that judges see
        text = page.content()
        assert "secret-system" not in text
        assert "tester" not in text
        assert "speaks for level" not in text
        assert HOSTILE in page.locator("details[data-file='output/results/note.txt'] pre").text_content()  # type: ignore[operator]
        assert page.title() == "sciagent label"
        # a passage is looked up: what stands nowhere earns nothing, and what was typed stays
        _answer(page, "1", "no such words anywhere in it")
        assert "not taken" in page.locator("[role=alert]").inner_text()
        assert page.locator("[name=quote]").input_value() == "no such words anywhere in it"
        assert page.locator("header").inner_text() == "0 of 16 answered, as ann"
        # a passage can be taken from the evidence by selecting it
        page.evaluate(
            "() => { const node = document.querySelector('details[data-file=\"output/Result.md\"] pre').firstChild;"
            f" const at = node.data.indexOf('{QUOTE}'); const range = document.createRange();"
            f" range.setStart(node, at); range.setEnd(node, at + {len(QUOTE)});"
            " getSelection().removeAllRanges(); getSelection().addRange(range); }"
        )
        page.get_by_role("button", name="Take what is selected").click()
        assert faults == []
        assert page.locator("[name=quote]").input_value() == QUOTE
        assert page.locator("[name=file]").input_value() == "output/Result.md"
        page.get_by_role("button", name="Later").click()
        for done in range(10):
            assert page.locator("header").inner_text() == f"{done} of 16 answered, as ann"
            criterion = page.locator("form pre").first.inner_text()
            level = "0.5" if "ev.half" in criterion else "0" if "rob.zero" in criterion else "1"
            _answer(page, level, "" if level == "0" else QUOTE)
        assert page.locator("header").inner_text() == "10 of 16 answered, as ann"
        page.close()
    assert faults == []
    labels = labels_of_people(cohort.root / "labels")
    assert len(labels) == 10
    code, _, err = sciagent(
        *("calibrate", "labels", "--judge", "handoff:tester", "--runs", "runs", "--rubric", "small", "-o", "cal.json")
    )
    assert (code, err) == (0, "")
    whole = next(p for p in json.loads(Path("cal.json").read_text("utf-8"))["slices"] if p["kind"] == "all")
    assert whole["agreement"]["n"] + whole["unanswered"] == 10
    assert whole["agreement"]["kappa"]["value"] == 1.0


def test_people_are_no_judge_of_a_session_unless_they_are_named(cohort: Cohort) -> None:
    asked = labelling(cohort)
    asked.take(next(iter(asked.questions)), Given(0, "no", "", ""))
    assert cohort.results("--sciagent-run=runs")["judge"]["model"] == "tester"
    ann = cohort.results("--sciagent-run=runs", "--sciagent-ledger=labels", "--sciagent-judge=human:ann")
    assert ann["judge"]["kind"] == "human"


def test_disagreement_comes_first_and_answers_outlive_the_command(cohort: Cohort) -> None:
    cohort.record(lambda run, finding, criterion: 1 if criterion == "rob.zero" else None, judge=OTHER)
    asked = labelling(cohort)
    order = [question.request.criterion_id for question in asked.questions.values()]
    assert order == ["rob.zero"] * 4 + ["ev.half"] * 4 + ["rob.open"] * 4 + ["ev.full"] * 4
    first = asked.next()
    assert first is not None
    assert asked.take(first, Given(1, "yes", "output/Result.md", "not there at all")).level is None
    assert asked.next() == first
    assert asked.take(first, Given(1, "yes", "output/Result.md", QUOTE)).level == 1
    again = labelling(cohort)
    assert again.answered == 1
    assert again.next() != first


def test_two_who_label_at_once_lose_nothing_of_each_other(cohort: Cohort) -> None:
    """Each command knows the folder as it was when it began."""
    ann, ben = labelling(cohort), labelling(cohort, "ben")
    for asked in (ann, ben, ann, ben):
        key = asked.next()
        assert key is not None
        asked.take(key, Given(0, "no", "", ""))
    given = [label.rater.name for label in labels_of_people(cohort.root / "labels")]
    assert sorted(given) == ["ann", "ann", "ben", "ben"]
    assert labelling(cohort).answered == 2


def test_a_second_tab_takes_the_answer_back(cohort: Cohort) -> None:
    asked = labelling(cohort)
    key = next(iter(asked.questions))
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    with served(asked) as server:
        for level, quote in (("1", QUOTE), ("0", "")):  # the same question, still open in the other tab
            body = urlencode({"key": key, "level": level, "file": "output/Result.md", "quote": quote, "do": "answer"})
            connection = http.client.HTTPConnection(server.host)
            connection.request("POST", f"/{server.secret}/answer", body, form)
            assert connection.getresponse().status == 303
    assert asked.answered == 1
    assert [label.score for label in labels_of_people(cohort.root / "labels")] == [0.0]


def test_a_folder_that_can_not_be_written_to_is_told(cohort: Cohort) -> None:
    asked = labelling(cohort)
    (cohort.root / "labels").write_text("a file in the way", "utf-8")
    with pytest.raises(SciagentError, match="can't be written"):
        asked.take(next(iter(asked.questions)), Given(0, "no", "", ""))


def test_a_port_in_use_is_one_message(cohort: Cohort) -> None:
    with served(labelling(cohort)) as server:
        port = str(server.server_address[1])
        code, out, err = sciagent("label", "runs", "--as", "ann", "--rubric", "small", "--port", port)
    assert (code, out) == (4, "")
    assert err == f"sciagent: port {port} can't be used: Address already in use\n"


def test_two_raters_are_adjudicated(cohort: Cohort) -> None:
    for rater, level in (("ann", 1), ("ben", 0)):
        asked = labelling(cohort, rater)
        keys = list(asked.questions)
        asked.take(keys[0], Given(level, f"{rater} thinks so", "output/Result.md", QUOTE))
        asked.take(keys[1], Given(0, "both", "", ""))
    chair = labelling(cohort, "chair", ("ann", "ben"))
    assert len(chair.questions) == 1
    key = chair.next()
    assert key is not None
    assert [entry.level for entry in chair.questions[key].others] == [1, 0]
    with served(chair) as server:
        connection = http.client.HTTPConnection(server.host)
        connection.request("GET", f"/{server.secret}/")
        page = connection.getresponse().read().decode()
    assert "ann gave 1:" in page
    assert "ben thinks so" in page
    chair.take(key, Given(0, "ben is right", "", ""))
    labels = {(label.rater.name, label.score) for label in labels_of_people(cohort.root / "labels")}
    assert labels == {("ann", 1.0), ("ann", 0.0), ("ben", 0.0), ("chair", 0.0)}
    code, out, err = sciagent(
        *("calibrate", "labels", "--rater", "chair", "--judge", "handoff:tester", "--runs", "runs", "--rubric", "small")
    )
    assert (code, err) == (0, "")
    assert "against people (1 rater)" in out


def test_only_its_own_page_on_this_machine_is_answered(cohort: Cohort) -> None:
    asked = labelling(cohort)
    key = next(iter(asked.questions))
    body = f"key={key}&level=0&reason=&file=&quote=&do=answer"
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    with served(asked) as server:
        assert server.server_address[0] == "127.0.0.1"

        def status(method: str, path: str, headers: dict[str, str], body: str = "") -> int:
            connection = http.client.HTTPConnection(server.host)
            connection.request(method, path, body, headers)
            return connection.getresponse().status

        page = f"/{server.secret}/"
        assert status("GET", page, {}) == 200
        assert status("GET", "/", {}) == 404
        assert status("GET", page, {"Host": "evil.example"}) == 403  # a name that was bent to this address
        assert status("POST", page + "answer", form | {"Origin": "http://evil.example"}, body) == 403
        assert status("POST", "/answer", form, body) == 404
        assert status("POST", page + "answer", form, "key=nothing&level=1") == 400
        assert status("POST", page + "answer", form, body.replace("level=0", "level=7")) == 400
        assert status("POST", page + "answer", form, "x" * 300_000) == 413
        assert asked.answered == 0
        assert status("POST", page + "answer", form | {"Origin": f"http://{server.host}"}, body) == 303
        assert asked.answered == 1


def test_the_command_serves_until_it_is_interrupted(cohort: Cohort) -> None:
    command = [sys.executable, "-c", "from pytest_sciagent.cli import main; main()"]
    arguments = ["label", "runs", "--as", "ann", "--rubric", "small"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [*command, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        # where the tests run in the background, interrupts are ignored, and children would inherit that
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "0 of 16 answered; end with Ctrl-C\n"
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=20)[0] == "0 of 16 answered, in labels\n"
        assert process.returncode == 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--as", ""), "a rater's name is words without a comma"),
        (("--as", "ann,ben"), "a rater's name is words without a comma"),
        (("--adjudicate", "ann"), "name two raters, with a comma between them"),
        (("--adjudicate", "ann,ben"), "the two differ in nothing"),
        (("--judge", "handoff:nobody"), "nothing is recorded under the judge handoff:nobody"),
    ],
)
def test_bad_input(cohort: Cohort, args: tuple[str, ...], message: str) -> None:
    code, out, err = sciagent("label", "runs", "--as", "ann", "--rubric", "small", *args)
    assert (code, out) == (4, "")
    assert message in err
