"""Which findings a report registers, what belongs to each, and which files it names."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_sciagent.findings import ParsedReport, lookalikes, parse_findings, parse_report, resolve_mentions
from pytest_sciagent.findings.mentions import MAX_MENTIONS
from pytest_sciagent.models import System
from pytest_sciagent.runs import Run
from pytest_sciagent.runs.freeze import FreezeOptions, freeze

DEMO_RUNS = Path(__file__).parents[2] / "shared" / "demo" / "runs"
REPORT = "output/Result.md"
FILES = [
    REPORT,
    "output/code/01_a.py",
    "output/code/02_b.py",
    "output/code/data.py",
    "output/old/02_b.py",
    "output/results/a.csv",
    "output/results/b.csv",
    "output/results/deep/c.csv",
    "output/results/f1_dev.json",
    "output/results/f1_held.json",
    "output/results/fold[1].csv",
    "output/results/my table.csv",
    "output/tables/b.csv",
    "output/Makefile",
    "logs/transcript.jsonl",
]


def numbers(text: str) -> list[int]:
    return [finding.number for finding in parse_report(text).findings]


def titles(text: str) -> dict[int, str]:
    return {finding.number: finding.title for finding in parse_report(text).findings}


def texts(text: str) -> dict[int, str]:
    return {finding.number: finding.section.text for finding in parse_report(text).findings}


def named(text: str, files: list[str] = FILES, report: str = REPORT) -> dict[str, list[str]]:
    return {mention.text: list(mention.paths) for mention in resolve_mentions(text, files, report)}


def paths(text: str, files: list[str] = FILES, report: str = REPORT) -> list[str]:
    return [path for found in named(text, files, report).values() for path in found]


# Labels


@pytest.mark.parametrize(
    ("label", "number", "title"),
    [
        ("Finding 1: The rise", 1, "The rise"),
        ("Finding 1", 1, ""),
        ("Finding #1", 1, ""),
        ("Finding #2 — The rise", 2, "The rise"),
        ("Finding: 1", 1, ""),
        ("Finding: 3: The rise", 3, "The rise"),
        ("Finding: 3 The rise", 3, "The rise"),
        ("Discovery 1", 1, ""),
        ("Discovery D2: The rise", 2, "The rise"),
        ("D1: The rise", 1, "The rise"),
        ("D4 — The rise", 4, "The rise"),
        ("finding 2 - the rise", 2, "the rise"),
        ("FINDING 2. THE RISE", 2, "THE RISE"),
        ("Finding 1 The rise", 1, "The rise"),
        ("Finding 1 growth rises", 1, "growth rises"),
        ("Finding (1) The rise", 1, "The rise"),
        ("Finding No. 1: The rise", 1, "The rise"),
        ("Finding 01: The rise", 1, "The rise"),
        ("Finding 1 (supported): The rise", 1, "(supported): The rise"),
        ("Finding 1 - 3 sites differ", 1, "3 sites differ"),
        ("Finding 1 — 1998 was warm", 1, "1998 was warm"),
        ("Finding 1: -0.5 per decade", 1, "-0.5 per decade"),
        ("Finding 3: what Finding 1 says holds elsewhere", 3, "what Finding 1 says holds elsewhere"),
        ("Finding One", 1, ""),
        ("Finding Two: The rise", 2, "The rise"),
        ("finding seventeen — The rise", 17, "The rise"),
        ("4.1 Finding 1: The rise", 1, "The rise"),
        ("Finding&nbsp;1: The *rise* of `r`, see [x](y.md)", 1, "The rise of r, see x"),
        ("Finding 999: The rise", 999, "The rise"),
    ],
)
@pytest.mark.parametrize("marker", ["# {}", "## {}", "###### {}", "## **{}**", "**{}**", "__{}__", "***{}***"])
def test_a_label_registers_in_a_heading_of_any_level_and_in_a_bold_line(
    marker: str, label: str, number: int, title: str
) -> None:
    (finding,) = parse_report(f"Text\n\n{marker.format(label)}\n\nMore\n").findings
    assert (finding.id, finding.number, finding.title) == (f"finding_{number}", number, title)
    assert (finding.section.start, finding.section.end) == (3, 5)


@pytest.mark.parametrize(
    "text",
    [
        "D2 receptor",
        "D2-like receptors",
        "D1/D2: ratio",
        "D1:2 ratio",
        "D2",
        "Findings",
        "Findings 1",
        "Findings 1-3",
        "Findings of test 1",
        "Finding 1 and Finding 2 compared",
        "Finding 1 Compared With Finding 2",
        "Finding 1 vs 2",
        "Finding 1 vs. Finding 2",
        "Finding 1-3",
        "Finding 1–3: overview",
        "Finding 1 – 3",
        "Finding 1 to 3",
        "Finding 1, 2 and 3",
        "Finding 1/2",
        "Finding 1 & 2",
        "Finding One and Two",
        "Finding one more cycle",
        "Finding F1 scores",
        "Finding: 3 of 5 sites differ",
        "Finding 1.2: The rise",
        "Finding 1's limits",
        "Finding 1000: The rise",
        "Finding 99999999999999999999: The rise",
        "Our finding 1: The rise",
        "Pathfinding 1: The rise",
    ],
)
@pytest.mark.parametrize("marker", ["## {}", "**{}**"])
def test_what_names_no_single_finding_registers_none(marker: str, text: str) -> None:
    assert numbers(f"{marker.format(text)}\n\nText\n") == []


@pytest.mark.parametrize(
    "text",
    [
        "```\n## Finding 1: x\n```",
        "~~~md\n**Finding 1:** x\n~~~",
        "```\n## Finding 1: x",
        "    ## Finding 1: x",
        "<div>\n## Finding 1: x\n</div>",
        "<h2>Finding 1: x</h2>",
        "<!--\n\n## Finding 1: x\n\n-->",
        "Text <!-- that goes on\n**Finding 1:** x -->",
        "Text `that goes on\n**Finding 1:** x`",
        "> ## Finding 1: x",
        "> **Finding 1:** x",
        "- ## Finding 1: x",
        "1. **Finding 1:** x",
        "- a\n\n  **Finding 1:** x",
        "| **Finding 1** | x |\n|---|---|\n| **Finding 2** | y |",
        "Finding 1: x",
        "*Finding 1:* x",
        r"\# Finding 1: x",
        r"\*\*Finding 1:\*\* x",
        "As said,\n**Finding 1** shows that it rises.",
        "**Finding** 1: x",
        "**Finding:** 3 of 5 sites differ",
        "**Finding 1** and **Finding 2** agree",
    ],
)
def test_code_html_quotes_lists_and_sentences_register_none(text: str) -> None:
    assert numbers(f"# Report\n\n{text}\n") == []


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("**Finding 1:** It rises.", "It rises."),
        ("**Finding 1**: It rises.", "It rises."),
        ("**Finding 1** It rises.", "It rises."),
        ("**Finding 1 – It rises.** We saw it.", "It rises."),
        ("**D1:** It rises.", "It rises."),
        ("**D1**: It rises.", "It rises."),
        ("**Finding 1: It\nrises.** We saw it.", "It rises."),
    ],
)
def test_a_bold_label_takes_its_title_from_the_bold_text_or_else_from_its_line(line: str, title: str) -> None:
    assert titles(line) == {1: title}


def test_bold_labels_register_on_every_line_of_a_paragraph() -> None:
    assert texts("Text\n**Finding 1:** a\n**Finding 2:** b\nmore\n") == {
        1: "**Finding 1:** a",
        2: "**Finding 2:** b\nmore",
    }


def test_underlined_headings_register_but_text_just_above_a_rule_is_no_heading() -> None:
    text = "Finding 1: a\n============\n\nOne\ntwo\n---\n\nThree.\n---\nFinding 2: b\n---\n"
    assert texts(text) == {1: "Finding 1: a\n============\n\nOne\ntwo\n---\n\nThree.\n---", 2: "Finding 2: b\n---"}


# Sections


def test_findings_know_their_own_sections_and_the_report_keeps_the_shared_ones() -> None:
    text = (
        "Summary\n\n# Report\n\n## Methods\n\nm\n\n## Findings\n\n### Finding 1: a\n\nA\n\n#### Detail\n\nd\n\n"
        "### Finding 2: b\n\nB\n\n### Limits of both\n\nl\n\n## Reproduction\n\nr\n"
    )
    parsed = parse_report(text)
    assert texts(text) == {1: "### Finding 1: a\n\nA\n\n#### Detail\n\nd", 2: "### Finding 2: b\n\nB"}
    assert [section.title for section in parsed.shared] == [
        "",
        "Report",
        "Methods",
        "Findings",
        "Limits of both",
        "Reproduction",
    ]
    assert parsed.shared[0].text == "Summary"
    assert (parsed.shared[-1].start, parsed.shared[-1].end) == (27, 29)
    assert parsed.notes == ()


def test_a_section_ends_at_a_heading_of_the_same_or_a_higher_level() -> None:
    assert texts("## Finding 1: a\n\nA\n\n### Sub\n\ns\n\n# Part\n\np") == {1: "## Finding 1: a\n\nA\n\n### Sub\n\ns"}


def test_a_bold_finding_ends_at_the_next_one_or_at_a_heading_no_deeper_than_its_own() -> None:
    text = "## Results\n\n**Finding 1: a**\n\n### Checks\n\nc\n\n**Finding 2: b**\n\nB\n\n## Limits\n\nl\n"
    assert texts(text) == {1: "**Finding 1: a**\n\n### Checks\n\nc", 2: "**Finding 2: b**\n\nB"}


def test_a_bold_finding_under_no_heading_ends_at_any_heading() -> None:
    assert texts("**Finding 1: a**\n\nA\n\n###### Checks\n\nc\n") == {1: "**Finding 1: a**\n\nA"}


def test_findings_out_of_order_keep_their_whole_sections_and_are_sorted() -> None:
    text = "## Finding 3: c\n\nC\n\n## Finding 1: a\n\nA\n\n### Sub\n\n## Finding 2: b\n\nB\n"
    parsed = parse_report(text)
    assert texts(text) == {1: "## Finding 1: a\n\nA\n\n### Sub", 2: "## Finding 2: b\n\nB", 3: "## Finding 3: c\n\nC"}
    assert numbers(text) == [1, 2, 3]
    assert parsed.notes == ("The findings are out of order: 3 on line 1, 1 on line 5, 2 on line 11.",)


def test_of_several_labels_of_one_number_the_strongest_heading_counts_then_the_first() -> None:
    text = (
        "**Finding 1:** brief\n\n### Finding 1: middling\n\nx\n\n## Finding 1: whole\n\nA\n\n"
        "## Finding 1: again\n\nB\n\n## Finding 2: b\n\nC\n"
    )
    parsed = parse_report(text)
    assert titles(text) == {1: "whole", 2: "b"}
    assert [section.text for section in parsed.shared] == [
        "**Finding 1:** brief",
        "### Finding 1: middling\n\nx",
        "## Finding 1: again\n\nB",
    ]
    assert parsed.notes == ("Finding 1 is labelled more than once: line 7 counts, not line 1, 3, 11.",)


# Notes


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        (
            "# Report\n",
            ["No finding is registered: no heading or bold line is labelled like `Finding 1: ...`."],
        ),
        (
            "- **Finding 1:** x\n\n```\n## Finding 2\n```\n",
            [
                "No finding is registered: no heading or bold line is labelled like `Finding 1: ...`. "
                "Labels in lists, quotes, code, HTML or running text do not count (line 1, 4)."
            ],
        ),
        ("## Finding 1: a\n\nA\n", ["Only one finding is registered (line 1)."]),
        (
            "".join(f"## Finding {n}: t\n\nT\n\n" for n in range(1, 7)),
            ["6 findings are registered, more than 5."],
        ),
        (
            "## Finding 2: a\n\nA\n\n## Finding 5: b\n\nB\n",
            ["Numbers are left out: 1, 3, 4; the highest is 5, on line 5."],
        ),
        (
            "## Finding 1: a\n\n### \n\n## Finding 2: b\n\n**Finding 3: c**\n\n**Finding 4:** It rises.\n",
            ["Finding 2 (line 5) has no text.", "Finding 3 (line 7) has no text."],
        ),
        (
            "## Finding 1: a\n\nA\n\n## Finding 2: b\n\nB\n\n## Finding 1-2\n\nC\n",
            ['Line 9 ("Finding 1-2") labels no finding: it names no single number up to 999.'],
        ),
        (
            "## Finding 1: a\n\nA\n\n## Finding 2: b\n\n```\n## Finding 3: c\n",
            ["The code block that opens on line 7 is never closed: the rest is code."],
        ),
    ],
)
def test_what_is_unusual_is_said_in_plain_notes(text: str, notes: list[str]) -> None:
    assert list(parse_report(text).notes) == notes


def test_findings_of_any_number_are_kept() -> None:
    text = "".join(f"## Finding {n}: t\n\nT\n\n" for n in range(0, 1200, 7))
    parsed = parse_report(text)
    assert numbers(text) == list(range(0, 1000, 7))
    assert all(len(note) < 300 for note in parsed.notes)


# Hostile and odd texts


def test_line_ends_and_unsafe_characters_do_not_matter() -> None:
    parsed = parse_report("## Finding 1: a\x1b[31m\r\n\r\nA\r## Finding 2: b\0\udcff\n\nB")
    assert titles("## Finding 1: a\x1b[31m\n\nA") == {1: "a\\x1b[31m"}
    assert [(f.section.start, f.section.end) for f in parsed.findings] == [(1, 3), (4, 6)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("## Finding 1: a\n" + "x" * 10_000_000 + "\n\n## Finding 2: b\n", [1]),
        ("## Finding 1: " + "a" * 1_000_000 + "\n\ntext\n\n## Finding 2: b\n", [1, 2]),
        ("\n\n".join(f"# {n}" for n in range(100_000)) + "\n\n# Finding 1\n", [1]),
        ("# Finding 1\n" * 20_000, [1]),
        ("**Finding 1:** a\n" * 20_000, [1]),
        ("finding " + " ".join("`" * n for n in range(1, 1_500)), []),
        ("finding\n" + "**[[[[" * 100_000, []),
        ("finding <!-- " * 100_000, []),
        ("> " * 500_000 + "## Finding 1", []),
        ("# Finding 1" + "\0" * 1_000_000, []),
        ("- " * 500_000, []),
        (("# finding" + " " * 980 + "x\n") * 500, []),
        (("**Finding 1 a finding" + " " * 970 + "x**\n\n") * 500, [1]),
        (("finding" + "\t" * 980 + "x\n\n") * 500, []),
    ],
    ids=range(14),
)
def test_huge_texts_are_read_in_linear_time(text: str, found: list[int]) -> None:
    start = time.process_time()
    assert numbers(text) == found
    assert time.process_time() - start < 30


def test_a_text_beyond_the_limit_is_cut_and_says_so() -> None:
    parsed = parse_report("## Finding 1: a\n\nA\n\n" + "x" * 2_000_000 + "\n\n## Finding 2: b\n")
    assert [finding.number for finding in parsed.findings] == [1]
    assert "Only the first 2,000,000 characters and 250,000 lines are read." in parsed.notes


_LINES = st.one_of(
    st.sampled_from(
        [
            "",
            "text",
            "## Finding 1: a",
            "# Finding 2",
            "### Discovery 3 — c",
            "**Finding 1:** b",
            "__D4:__ d",
            "## Methods",
            "# Part",
            "---",
            "===",
            "```",
            "> ## Finding 5",
            "- **Finding 6**",
            "<!--",
            "-->",
            "<div>",
            "    ## Finding 7",
            "| a |",
            "|---|",
            "[x]: y",
            "Finding 8: h",
        ]
    ),
    st.text(max_size=20),
)
_REPORTS = st.one_of(st.text(), st.lists(_LINES, max_size=25).map("\n".join))


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("## Key finding: it rises", "## Finding 2: it rises"),
        ("## Finding A: it rises", "## Finding 2: it rises"),
        ("### 4.2 Result 3 - it rises", "## Finding 3: it rises"),
        ("## Main claim #2", "## Finding 2: what holds"),
        ("F4: it rises\n---", "## Finding 4: it rises"),
        ("- **Finding 5**: it rises", "## Finding 5: it rises"),
        ("> Finding 1: it falls, says another", None),  # a mention of one that is registered
        ("## Findings", None),
        ("## Results", None),
        ("## Discovery of the data", "## Finding 2: of the data"),
        ("## D2 receptor", None),
        ("## Finding 2: it rises", None),
        ("Our main finding 2 rests on this.", None),
        ("## Findings of finding 1", None),
    ],
)
def test_what_looks_like_a_finding_and_is_none_is_told_with_the_fix(line: str, fix: str | None) -> None:
    text = f"# R\n\n## Finding 1: a thing\n\nText.\n\n{line}\n\nMore text.\n"
    found = lookalikes(text, parse_report(text))
    assert [(one.line, one.fix) for one in found] == ([] if fix is None else [(7, fix)])
    if fix is not None:  # what is advised registers it
        mended = text.replace(line, fix)
        assert len(parse_report(mended).findings) == 2
        assert lookalikes(mended, parse_report(mended)) == []


@given(_REPORTS)
def test_no_report_is_too_odd_to_look_for_lookalikes(text: str) -> None:
    parsed = parse_report(text)
    found = lookalikes(text, parsed)
    fixes = [parse_report(one.fix).findings[0].number for one in found]
    assert len({*fixes, *(finding.number for finding in parsed.findings)}) == len(fixes) + len(parsed.findings)


@given(_REPORTS)
@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_sections_lie_in_the_report_apart_from_each_other_and_leave_nothing_out(text: str) -> None:
    parsed = parse_report(text)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    found = [finding.number for finding in parsed.findings]
    sections = sorted([*(f.section for f in parsed.findings), *parsed.shared], key=lambda section: section.start)
    assert found == sorted(set(found))
    assert all(1 <= section.start <= section.end <= len(lines) for section in sections)
    assert all(before.end < after.start for before, after in pairwise(sections))
    assert all(section.text == "\n".join(lines[section.start - 1 : section.end]) for section in sections)
    inside = {number for section in sections for number in range(section.start, section.end + 1)}
    assert all(number in inside for number, line in enumerate(lines, 1) if line.strip())


@given(st.text(alphabet=st.characters(exclude_categories=[])))
@settings(deadline=None)
def test_no_text_is_refused(text: str) -> None:
    assert isinstance(parse_report(text), ParsedReport)


_WORDS = st.text(alphabet="abc xyz.,`*_", max_size=30).map(lambda text: f"x{text.strip()}")


@given(
    st.dictionaries(st.integers(0, 999), st.lists(_WORDS, min_size=1, max_size=3), min_size=1, max_size=6).flatmap(
        lambda bodies: st.tuples(st.just(bodies), st.permutations(list(bodies)))
    ),
    st.sampled_from(["## Finding {}: t", "### Discovery {}", "## D{}: t"]),
)
@settings(deadline=None)
def test_the_order_of_findings_does_not_change_them(drawn: tuple[dict[int, list[str]], list[int]], label: str) -> None:
    bodies, order = drawn
    sections = {n: "\n\n".join([label.format(n), *body]).rstrip() for n, body in bodies.items()}
    assert texts("\n\n".join(sections[n] for n in order)) == sections


# Mentions


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("`output/results/a.csv`", "output/results/a.csv"),
        ("see output/results/a.csv.", "output/results/a.csv"),
        ("results/a.csv, and more", "output/results/a.csv"),
        ("(a.csv)", "output/results/a.csv"),
        ("“a.csv”", "output/results/a.csv"),
        ("deep/c.csv", "output/results/deep/c.csv"),
        ("`01_a.py` → `x`", "output/code/01_a.py"),
        ("01_a.py→x", "output/code/01_a.py"),
        ("**Files: a.csv**", "output/results/a.csv"),
        ("**a.csv:** rows", "output/results/a.csv"),
        ("_a.csv_", "output/results/a.csv"),
        ("f1\\_dev.json", "output/results/f1_dev.json"),
        ("[table](results/a.csv)", "output/results/a.csv"),
        ('![plot](<results/a.csv> "A plot")', "output/results/a.csv"),
        ("[table](results/my%20table.csv)", "output/results/my table.csv"),
        ("`my table.csv`", "output/results/my table.csv"),
        ("`Makefile`", "output/Makefile"),
        ("`python output/code/01_a.py --fast`", "output/code/01_a.py"),
        ("```\npython code/01_a.py\n```", "output/code/01_a.py"),
        ("`f1_dev.json:slope`", "output/results/f1_dev.json"),
        ("output/code/01_a.py#L10", "output/code/01_a.py"),
        ("| a.csv | 3 |", "output/results/a.csv"),
        ("`fold[1].csv`", "output/results/fold[1].csv"),
        ("/workspace/output/results/a.csv", "output/results/a.csv"),
        ("./output/results/a.csv", "output/results/a.csv"),
        ("../results/a.csv", "output/results/a.csv"),
        ("../../a.csv", "output/results/a.csv"),
        ("/tmp/elsewhere/a.csv", "output/results/a.csv"),
        ("`C:\\work\\output\\results\\a.csv`", "output/results/a.csv"),
        ("~/run/output/results/b.csv", "output/results/b.csv"),
    ],
)
def test_a_file_is_named_in_many_ways(text: str, path: str) -> None:
    assert paths(text) == [path]


def test_names_are_relative_to_the_folder_of_the_report() -> None:
    files = ["output/report/report.md", "output/report/images/x.png", "output/images/x.png", "other/images/x.png"]
    assert paths("![](images/x.png)", files, "output/report/report.md") == ["output/images/x.png"]
    assert paths("![](images/x.png)", files[:2] + files[3:], "output/report/report.md") == [files[1]]


def test_a_base_name_matches_a_whole_name_and_only_one_file() -> None:
    assert named("a.py") == {"a.py": []}
    assert named("`a.py` and `data.py`") == {"a.py": [], "data.py": ["output/code/data.py"]}
    assert named("b.csv") == {"b.csv": []}


def test_a_short_form_goes_on_in_the_folder_spoken_of_last() -> None:
    assert paths("`output/code/01_a.py`, `02_b.py`") == ["output/code/01_a.py", "output/code/02_b.py"]
    assert paths("In `output/tables/`: `b.csv`") == ["output/tables/b.csv", "output/tables/b.csv"]
    assert paths("`02_b.py`") == []


def test_a_short_form_that_only_one_file_has_means_it_wherever_it_is() -> None:
    assert paths("`output/code/01_a.py` wrote `a.csv`") == ["output/code/01_a.py", "output/results/a.csv"]


def test_a_folder_means_the_files_below_it() -> None:
    below = [path for path in FILES if path.startswith("output/results/")]
    assert paths("`output/results/`") == sorted(below)
    assert paths("`output/results`") == sorted(below)
    assert paths("all in results/.") == sorted(below)
    many = [f"output/many/{n:04}.csv" for n in range(500)]
    assert paths("`output/many/`", many) == many[:200]


@pytest.mark.parametrize("text", ["`output/`", "./output/", "/workspace/output/", "`**`", "output/**", "`*`", "`F*`"])
def test_what_means_anything_names_nothing(text: str) -> None:
    assert named(text) == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("`output/results/f1_*.json`", ["f1_dev.json", "f1_held.json"]),
        ("output/results/f1_*.json", ["f1_dev.json", "f1_held.json"]),
        ("`f1_*`", ["f1_dev.json", "f1_held.json"]),
        ("`f1_[dh]*.json`", ["f1_dev.json", "f1_held.json"]),
        ("`results/?.csv`", ["a.csv", "b.csv"]),
        ("`results/**/c.csv`", ["deep/c.csv"]),
        ("`/workspace/output/results/f1_d*`", ["f1_dev.json"]),
        ("`f1_{dev,held}.json`", ["f1_dev.json", "f1_held.json"]),
        ("output/results/f1_{held,dev,none}.json", ["f1_held.json", "f1_dev.json"]),
        ("results/{a,f1}*.{csv,json}", ["a.csv", "f1_dev.json", "f1_held.json"]),
        ("`fold[{0..3}].csv`", ["fold[1].csv"]),
    ],
)
def test_patterns_mean_the_files_they_match(text: str, found: list[str]) -> None:
    assert paths(text) == [f"output/results/{path}" for path in found]


def test_a_star_stays_in_its_folder() -> None:
    assert "output/results/deep/c.csv" not in paths("`output/results/*`")
    assert "output/results/deep/c.csv" in paths("`output/results/**`")


@pytest.mark.parametrize(
    "pattern",
    [
        "{1..999999999}",
        "out{1..999999999}.csv",
        "{1..99999999999999999999999999}.csv",
        "{a,{b,c}}.csv",
        "{" * 140 + "a" + "}" * 140 + ".csv",
        "{" * 290 + ".csv",
        "{a," * 90 + ".csv",
        "{a,b}" * 50 + ".csv",
        "x{a..z..0}.csv",
        "*a" * 140 + ".csv",
        "**/" * 90 + "*.none",
        "[" * 280 + "*.none",
        "?" * 290 + "*.csv",
    ],
)
def test_patterns_that_would_blow_up_mean_nothing(pattern: str) -> None:
    files = [*FILES, f"output/{'a' * 250}.txt", *(f"output/many/{n}.txt" for n in range(2_000))]
    start = time.process_time()
    assert paths(f"`{pattern}`", files) == []
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    "text",
    [
        "numpy.linalg and scipy.stats.norm.pdf",
        "norm.pdf(x)",
        "e.g. i.e. p.m. et al.",
        "0.95 v1.2 1/2 3.5e-3 1,000.csv2",
        "https://example.org/a.csv",
        "`https://example.org/a.csv`",
        "[x](https://example.org/a.csv)",
        "www.example.org/a.csv github.com/x/y/a.csv 10.1000/a.csv me@a.csv",
        "mm/s and/or input/output",
        "<!-- a.csv -->",
        "x" * 301 + ".csv",
        "a\u202e.csv",
        "output/Result.md, `Result.md`, [this](Result.md)",
        "logs/transcript.jsonl, `logs/other.json`, `transcript.jsonl`",
        "data/individuals.csv, `data/*.csv`, `/workspace/data/a.csv`, literature/x.pdf",
        "`a` `slope` `p = 0.7 * x + 0.3`",
    ],
)
def test_other_things_are_no_mentions(text: str) -> None:
    assert named(text) == {}


def test_a_name_that_looks_like_a_file_of_the_run_is_kept_without_paths() -> None:
    assert named("missing.csv, `output/none.py`, ![](results/none.png), notes.txt") == {
        "missing.csv": [],
        "output/none.py": [],
        "results/none.png": [],
    }


def test_mentions_are_in_order_each_once_and_bounded() -> None:
    assert list(named("b.py a.csv `b.py` results/a.csv a.csv")) == ["b.py", "a.csv", "results/a.csv"]
    assert len(resolve_mentions(" ".join(f"f{n}.csv" for n in range(2_000)), FILES, REPORT)) == MAX_MENTIONS


def test_a_text_with_many_names_and_globs_is_read_in_linear_time() -> None:
    files = [f"output/{n % 100}/{n}.csv" for n in range(20_000)]
    text = "".join(f"`{n}.csv` `x{n}*.csv` {n}/y.txt {n}/{n}.csv " for n in range(10_000))
    start = time.process_time()
    assert len(resolve_mentions(text, files, REPORT)) == MAX_MENTIONS
    assert resolve_mentions("a/b " * 100_000 + "`" * 100_000 + "](" * 100_000, files, REPORT) == ()
    assert time.process_time() - start < 30


_PIECES = st.one_of(
    st.sampled_from(["`", "``", "](", ")", "{a,b}", "*", "[", "output/", "a.csv", "../", "results/", "<!--", " "]),
    st.text(max_size=5),
)
_PATHS = st.lists(st.one_of(st.sampled_from(FILES), st.text(min_size=1, max_size=10)), max_size=10)


@given(st.lists(_PIECES, max_size=20).map("".join), _PATHS)
@settings(max_examples=300, deadline=None)
def test_only_files_of_the_run_are_meant_and_never_its_report_or_logs(text: str, files: list[str]) -> None:
    for mention in resolve_mentions(text, files, REPORT):
        assert set(mention.paths) <= set(files) - {REPORT, "logs/transcript.jsonl"}
        assert 0 < len(mention.text) <= 300


@given(st.sampled_from(FILES[1:-1]))
def test_every_file_is_found_by_its_path(path: str) -> None:
    assert paths(f"`{path}`") == [path]


# Whole runs


def freeze_run(root: Path, contents: dict[str, str], inputs: dict[str, str] | None = None) -> Run:
    for path, text in contents.items():
        file = root / "workspace" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    options = FreezeOptions("life", System(name="plain"), inputs_before=inputs)
    return freeze(root / "workspace", root / "run", options, {}).run


def test_the_findings_of_a_run_carry_the_frozen_files_they_name(tmp_path: Path) -> None:
    report = (
        "Code in `output/fit.py`.\n\n## Finding 1: a\n\n`output/fit.csv`, `birds.csv`, `none.csv`\n\n"
        "## Finding 2: b\n\n`output/run.log`\n"
    )
    contents = {"output/Result.md": report, "output/fit.py": "", "output/fit.csv": "", "output/run.log": ""}
    parsed = parse_findings(freeze_run(tmp_path, contents, {"data/birds.csv": "0" * 64}))
    first, second = parsed.findings
    assert {mention.text: mention.paths for mention in first.mentions} == {
        "output/fit.csv": ("output/fit.csv",),
        "none.csv": (),
    }
    assert second.mentions == ()
    assert [mention.paths for mention in parsed.shared_mentions] == [("output/fit.py",)]


def test_a_run_without_a_report_registers_nothing(tmp_path: Path) -> None:
    parsed = parse_findings(freeze_run(tmp_path, {"output/fit.csv": ""}))
    assert (parsed.findings, parsed.shared) == ((), ())
    assert len(parsed.notes) == 1


@pytest.mark.skipif(not DEMO_RUNS.is_dir(), reason="the demonstration runs are not beside the repository")
@pytest.mark.parametrize("task", ["astronomy_activity_cycle", "earth_carbon_record", "life_bill_shape"])
@pytest.mark.parametrize("system", ["guided", "plain"])
def test_the_demonstration_reports_register_three_findings_with_code_and_results(
    system: str, task: str, tmp_path: Path
) -> None:
    options = FreezeOptions(task, System(name=system))
    run = freeze(DEMO_RUNS / system / task, tmp_path / "run", options, {}).run
    parsed = parse_findings(run)
    shared = {path for mention in parsed.shared_mentions for path in mention.paths}
    assert [finding.number for finding in parsed.findings] == [1, 2, 3]
    assert parsed.notes == ()
    assert "Reproduction" in [section.title for section in parsed.shared]
    for finding in parsed.findings:
        own = {run.files[path].role for path in finding.artifacts}
        assert "result" in own
        # One report names its only script once for all findings, before the first.
        assert "analysis_source" in own | {run.files[path].role for path in shared}
        assert all(mention.paths for mention in finding.mentions)
