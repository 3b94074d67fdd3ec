"""The HTML report in Chromium: it works without a network, and nothing an agent wrote does anything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pages import Tab, new_tab, start_browser
from PIL import Image
from sample import QUOTE, Cohort, write_task

from pytest_sciagent.reporting.html import pages

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SERIOUS = ("serious", "critical")
ITEM = "claude-guided--astronomy_activity_cycle--finding_1--alternatives.negative_control"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from start_browser()


@pytest.fixture
def report(browser: Browser, shipped_page: Path) -> Path:
    """The report of two shipped runs; made only where there is a browser to look at it."""
    return shipped_page


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    """A tab in which nothing may go wrong: no error, no dialog, no window, no request beyond local files."""
    tab = new_tab(browser)
    yield tab
    tab.page.context.close()
    assert tab.faults == []


def _shown(page: Page) -> int:
    return page.locator("details.item:visible").count()


def _screenshot(page: Page, path: Path) -> None:
    """Take one, and look whether it shows something: many colours, none of them on nearly all of it."""
    page.screenshot(path=path)
    with Image.open(path) as image:
        colours = image.convert("RGB").getcolors(1 << 24) or []
    assert len(colours) > 50
    assert max(count for count, _ in colours) < 0.97 * sum(count for count, _ in colours)


def test_screenshots_of_cohort_run_and_filtered_view(tab: Tab, report: Path, tmp_path: Path) -> None:
    page = tab.open(report)
    assert page.locator("h1").inner_text() == "2 runs, 6 findings, 180 criteria"
    _screenshot(page, tmp_path / "cohort.png")
    page = tab.open(report, "#claude-guided--astronomy_activity_cycle")
    assert page.locator("#claude-guided--astronomy_activity_cycle .finding").first.is_visible()
    _screenshot(page, tmp_path / "run.png")
    page = tab.open(report, "#level=zero&dimension=control_testing")
    _screenshot(page, tmp_path / "filtered.png")


def _wider_than(page: Page, width: int) -> int:
    """How much wider than the window the page is, with all of it unfolded."""
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    return int(page.evaluate("document.documentElement.scrollWidth")) - width


def test_nothing_stands_out_of_its_box(tab: Tab, report: Path) -> None:
    page = tab.open(report)
    for width in (1600, 1280, 1180, 768, 390, 320):
        assert _wider_than(page, width) <= 0, width
        wide = page.locator(".card, .group-head, .finding-head, .score-row:not(.axis), summary").evaluate_all(
            "boxes => boxes.filter(b => b.scrollWidth > b.clientWidth + 1).map(b => b.className + ': ' + b.innerText)"
        )
        assert wide == [], width


def test_long_names_widen_no_page(tab: Tab, cohort: Cohort, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "ONE_FILE", 1)
    word = "deoxyribonucleoprotein" * 4
    report = (
        f"# {word}\n\n## Finding 1: {word} of `{word}`\n\n{QUOTE}, `output/results/{word}.csv`, `output/code/fit.py`.\n"
    )
    write_task(cohort.root / "tasks" / f"task_{word}")
    for system in (f"{word}_a", "S" * 80):
        files = {f"results/{word}.csv": f"{word},b\n{word},2.50\n"}
        cohort.run(system, f"task_{word}", report=report, files=files, place=f"runs/{system[0]}/t")
    cohort.record()
    cohort.pytest("--sciagent-run=runs", "--sciagent-html=out.html", "--sciagent-min-score=50")
    written = [cohort.root / "out.html", *cohort.root.glob("out_files/*.html")]
    assert len(written) == 3
    for path in written:
        page = tab.open(path)
        for width in (320, 390, 768, 1280):
            assert _wider_than(page, width) <= 0, (path.name, width)


def test_a_place_that_several_cite_is_shown_where_it_is_cited(tab: Tab, report: Path) -> None:
    page = tab.open(report)
    links = page.locator(".there a")
    assert links.count() > 20
    wanted = page.locator(f"[id='{(links.first.get_attribute('href') or '')[1:]}']")
    text = (wanted.locator("pre, table").first.text_content() or "").strip()
    name = links.first.evaluate("link => link.closest('details.item').id")
    assert text not in (page.locator(f"[id='{name}']").text_content() or "")
    page = tab.open(report, f"#{name}")
    page.locator(f"[id='{name}'] > summary:focus").wait_for()
    assert text in (page.locator(f"[id='{name}']").text_content() or "")
    assert page.locator(f"[id='{name}'] .there").count() == 0


def test_filters_show_what_fits_and_keep_it_in_the_address(tab: Tab, report: Path) -> None:
    page = tab.open(report)
    all_items = page.locator("details.item")
    expected = all_items.evaluate_all(
        "items => items.filter(i => i.dataset.o === 'zero' && i.dataset.d === 'control_testing').length"
    )
    assert 0 < expected < all_items.count()
    page.select_option("[name=level]", "zero")
    page.select_option("[name=dimension]", "control_testing")
    page.wait_for_url("**#level=zero&dimension=control_testing")
    assert _shown(page) == expected
    assert page.locator("#count").inner_text() == f"{expected} of 180 criteria"
    page.reload()
    assert _shown(page) == expected
    page.select_option("[name=system]", "claude-plain")
    page.wait_for_url("**system=claude-plain")
    assert page.locator("#claude-guided--astronomy_activity_cycle").is_hidden()
    page.fill("[name=q]", "no such words anywhere")
    page.wait_for_url("**q=no**")
    assert _shown(page) == 0
    page.click("#clear")
    assert page.locator("#count").inner_text() == "180 of 180 criteria"
    assert "#" not in page.url


def test_text_is_found_in_reasons_and_citations(tab: Tab, report: Path) -> None:
    page = tab.open(report, "#q=IAAFT+surrogates.csv")
    assert 0 < _shown(page) < 60
    for item in page.locator("details.item:visible").all():
        assert "iaaft" in (item.text_content() or "").lower()


def test_a_deep_link_opens_its_item_and_tells_what_would_raise_it(tab: Tab, report: Path) -> None:
    page = tab.open(report, f"#{ITEM}")
    item = page.locator(f"[id='{ITEM}']")
    assert item.get_attribute("open") is not None
    box = item.bounding_box()
    assert box is not None
    assert 0 <= box["y"] < 400
    page.locator(f"[id='{ITEM}'] > summary:focus").wait_for()
    assert "What would raise this to 1" in item.inner_text()
    assert "+1.5 points" in item.inner_text()
    assert "The condition it met: level ½" in item.inner_text()
    assert item.locator(".cond.next .parts li").count() == 4
    assert item.locator("tr.cited mark").count() > 0


def test_a_filter_and_an_item_in_one_link(tab: Tab, report: Path) -> None:
    page = tab.open(report, f"#level=half&at={ITEM}")
    assert page.locator(f"[id='{ITEM}']").get_attribute("open") is not None
    assert page.locator("details.item[data-o=full]:visible").count() == 0


def test_a_citation_leads_into_the_report(tab: Tab, report: Path) -> None:
    page = tab.open(report, f"#{ITEM}")
    link = page.locator(f"[id='{ITEM}'] .passage a").first
    target = (link.get_attribute("href") or "")[1:]
    link.click()
    place = page.locator(f"[id='{target}']")
    assert place.is_visible()
    assert "surrogates" in place.inner_text()


def test_the_keyboard_is_enough(tab: Tab, report: Path) -> None:
    page = tab.open(report)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.locator(".run summary").first.focus()
    page.keyboard.press("Enter")
    page.locator("details.item summary").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("details.item").first.get_attribute("open") is not None
    page.keyboard.press("Space")
    assert page.locator("details.item").first.get_attribute("open") is None


def test_dark_and_light(tab: Tab, report: Path) -> None:
    page = tab.open(report)
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(colour)
    assert light != dark
    page.emulate_media(color_scheme="light")
    page.click("#theme")
    assert page.evaluate(colour) == dark
    page.reload()
    assert page.evaluate(colour) == dark


def test_print_unfolds_what_fails(tab: Tab, report: Path) -> None:
    page = tab.open(report, "#system=claude-plain")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    failing = page.locator(".run[data-system=claude-plain] details.item[data-o=zero]")
    assert failing.count() > 10
    assert all(failing.evaluate_all("items => items.map(item => item.open && item.offsetHeight > 60)"))
    assert page.locator(".filters").is_hidden()


def test_it_can_be_read_without_a_script(browser: Browser, report: Path) -> None:
    page = new_tab(browser, java_script_enabled=False).open(report)
    assert page.locator(".run").count() == 2
    assert page.locator("#filters").is_hidden()
    page.locator(".run summary").first.click()
    assert page.locator(".run .finding").first.is_visible()


def test_the_index_of_many_pages_lists_and_leads(
    tab: Tab, cohort: Cohort, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(pages, "ONE_FILE", 3)
    cohort.run()
    cohort.run("beta")
    cohort.record()
    cohort.pytest("--sciagent-run=runs", "--sciagent-html=out.html")
    page = tab.open(cohort.root / "out.html", "#level=zero&system=beta")
    assert page.locator("#count").inner_text() == "2 of 16 criteria"
    page.locator("#hits a").last.click()
    page.wait_for_url("**/out_files/beta--t1.html#beta--t1--finding_2--rob.zero")
    assert page.locator("[id='beta--t1--finding_2--rob.zero'] .reason").is_visible()
    page.locator("nav a").first.click()
    page.wait_for_url("**/out.html")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_accessibility_fault(browser: Browser, cohort: Cohort, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    cohort.run(findings=1, files={"results/plot.png": b"\x89PNG"})
    cohort.run("beta", findings=1)
    cohort.record()
    cohort.pytest("--sciagent-run=runs", "--sciagent-html=out.html", "--sciagent-min-score=50")
    page = new_tab(browser, bypass_csp=True, color_scheme=scheme).open(cohort.root / "out.html")
    for unfold in (False, True):
        if unfold:
            page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        found = axe.Axe().run(page).response["violations"]
        assert [(fault["id"], fault["nodes"][0]["html"]) for fault in found if fault["impact"] in SERIOUS] == []


# ---- a hostile run

EVIL = "window.hacked=1"
HOSTILE = f"""\
# Report <script>{EVIL}</script>

</div></details></section></template></textarea></style></script><script>{EVIL}</script><!-- <img src=x onerror={EVIL}>

<svg onload="{EVIL}"><animate onbegin="{EVIL}" attributeName=x dur=1s></svg>
<iframe srcdoc="<script>parent.hacked=1</script>"></iframe> <base href="http://evil.example/">
<meta http-equiv="refresh" content="0;url=http://evil.example/"> <link rel=stylesheet href=http://evil.example/x.css>

[one](javascript:{EVIL}) [two](JaVaScRiPt:{EVIL}) [three](data:text/html,<script>{EVIL}</script>)
[four](vbscript:x) [five](file:///etc/passwd) ![six](http://evil.example/pixel.png) [seven](//evil.example/)
<javascript:{EVIL}> [eight]( \x01javascript:{EVIL}) [nine](http://good.example/page) [ten](http://user:pw@evil.example/)

<style>body{{background:url(http://evil.example/)}}</style> <p style="background:url(http://evil.example/)">styled</p>
\\3c script\\3e {EVIL}\\3c /script\\3e  expression(alert(1))

\x1b[31mred\x1b[0m \x1b]8;;http://evil.example/\x07link\x1b]8;;\x07 \u202egnp.exe\u202c zero\u200bwidth

## Finding 1: <img src=x onerror={EVIL}> "'><script>{EVIL}</script> \u202eevil

The slope of the series is 2.50 units per year, from `output/results/table.csv` by `output/code/fit.py`.

| a | <img src=x onerror={EVIL}> |
|---|:-:|
| `</script>` | [x](javascript:{EVIL}) |
"""
HOSTILE_CSV = (
    f'year,"<img src=x onerror={EVIL}>"\n2000,"</td></table><script>{EVIL}</script>"\n2001,\x1b[31m2.50\n2002,3\n'
)
HOSTILE_CRITERION = f"""\
from pytest_sciagent import Verdict, criterion
from pytest_sciagent.models import Citation, Receipt

X = '''"'><img src=x onerror={EVIL}><script>{EVIL}</script></script><!-- \\u202e\\x1b[31m'''

@criterion('own.hostile', question='<script>{EVIL}</script>?', dimension='own')
def hostile(run, finding):
    cited = Citation(file='output/results/table.csv', place='line 2', quote='</td></table><script>{EVIL}</script>',
                     verified=True)
    other = Citation(file=X, place=X, quote=X, verified=False)
    facts = {{X: X, 'list': [X, {{X: X}}], 'rows': [{{X: X}}],
             'instructions_in_evidence': [{{'file': X, 'line': X, 'excerpt': X}}]}}
    return Verdict(criterion_id='own.hostile', status='assessed', level=0.0, reason=X, reason_code='x',
                   citations=(cited, other), receipt=Receipt(source=X, facts=facts),
                   votes=[{{'judge': X, 'draw': 1, 'level': None, 'status': 'timeout', 'reason': X}}])
"""


@pytest.fixture
def hostile(cohort: Cohort) -> Cohort:
    """A run in which everything that can carry markup does."""
    (cohort.root / "conftest.py").write_text(HOSTILE_CRITERION)
    name = f"<img src=x onerror={EVIL}>.txt"
    cohort.run(report=HOSTILE, files={"results/table.csv": HOSTILE_CSV, name: EVIL, "results/plot.png": b"\x89PNG"})
    cohort.record()
    return cohort


@pytest.mark.parametrize("one_file", [1000, 1])
def test_a_hostile_run_is_inert(tab: Tab, hostile: Cohort, monkeypatch: pytest.MonkeyPatch, one_file: int) -> None:
    monkeypatch.setattr(pages, "ONE_FILE", one_file)
    done = hostile.pytest("--sciagent-run=runs", "--sciagent-html=out.html")
    assert done.ret == 1, done.stdout.str()
    written = [hostile.root / "out.html", *hostile.root.glob("out_files/*.html")]
    assert len(written) == (1 if one_file > 1 else 2)
    for path in written:
        page = tab.open(path)
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        page.fill("[name=q]", "<script>")
        page.wait_for_url("**#q=**")
        page.wait_for_timeout(200)
        assert page.evaluate("window.hacked") is None
        assert page.locator("script:not([type='application/json'])").count() == 1
        assert page.locator("img, iframe, object, embed, base, link, video, audio").count() == 0
        attributes = page.evaluate(
            "[...document.querySelectorAll('*')].flatMap(e => [...e.attributes].map(a => [a.name, a.value]))"
        )
        assert [name for name, _ in attributes if name.startswith("on") or name in ("style", "src", "srcdoc")] == []
        links = {value for name, value in attributes if name == "href"}
        assert not [link for link in links if re.match(r"(?!#|http://good\.example/|\.\./out\.html|out_files/)", link)]
        text = page.locator("body").text_content() or ""
        assert not set(text) & set("\x1b\x07\u202e\u202c\u200b")
        assert "\\u202e" in text
    assert "\\x1b[31mred\\x1b[0m" in text  # of the page that holds the report
    assert "http://good.example/page" in links


def test_the_cell_that_a_hostile_table_holds_is_shown(hostile: Cohort, tab: Tab) -> None:
    hostile.pytest("--sciagent-run=runs", "--sciagent-html=out.html")
    page = tab.open(hostile.root / "out.html", "#alpha--t1--finding_1--own.hostile")
    item = page.locator("[id='alpha--t1--finding_1--own.hostile']")
    assert item.locator("tr.cited mark").inner_text() == f"</td></table><script>{EVIL}</script>"[:40][:39] + "…"
    assert "fell" not in item.inner_text()
