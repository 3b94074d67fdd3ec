"""Parsing a report: which findings it registers, what belongs to each of them, and what they share."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ..models import Finding, Mention, Section
from ..text import one_line
from .grammar import MAX_NUMBER, FindingLabel, read_label, resembles_label
from .mentions import mentions_in
from .run_files import RunFiles

MAX_REPORT_CHARS = 2_000_000
MAX_REPORT_LINES = 250_000
USUAL_FINDINGS = 5
_MAX_LINE = 1_000  # of a line, as much is read to find headings and labels
_MAX_TITLE = 300
_MAX_LISTED = 10
_BOLD = 7  # ranks below every heading

_LABEL_HINT = re.compile(r"finding|discovery|D[0-9]", re.IGNORECASE)
_MARKUP = re.compile(r"[*_`\[<&\\!]")
_HIDDEN_IN_PARAGRAPH = re.compile(r"(?<!`)(`{1,3})(?!`).*?(?<!`)\1(?!`)|<!--.*?(?:-->|\Z)", re.DOTALL)
_BOLD_LINE = re.compile(r"^[ \t]*(?=\*\*|__)", re.MULTILINE)
_SPACE = re.compile(r"\s+")
_DECORATION = re.compile(r"(?:<[^<>]{0,100}>|[\W\d_])*")


@dataclass(frozen=True)
class ParsedReport:
    """What a report registers: findings by number, its other parts in order, and plain notes on anything unusual.

    The artifacts that they name stay empty until the `files` of the run are known.
    """

    findings: tuple[Finding, ...]
    shared: tuple[Section, ...]
    notes: tuple[str, ...]
    files: RunFiles | None = None

    @cached_property
    def shared_mentions(self) -> tuple[Mention, ...]:
        """The artifacts that the other parts name; looked for on first use, since these parts can be long."""
        if self.files is None:
            return ()
        return mentions_in("\n\n".join(section.text for section in self.shared), self.files)


@dataclass(frozen=True, slots=True)
class _Heading:
    """A heading, or a bold line (`level` is `_BOLD`) that carries a label; lines count from 0.

    `stop` is the line after it; `is_text` says whether a bold line goes on with text of the finding.
    """

    line: int
    stop: int
    level: int
    text: str
    label: FindingLabel | None = None
    is_text: bool = False


def parse_report(text: str) -> ParsedReport:
    """The findings registered in `text` (Markdown), each with its own section, and the sections they share.

    Registered is a label in a heading of any level or at the start of a bold line, outside lists, quotes, code and
    HTML. No text is refused; what is unusual about the labels is said in `notes`.
    """
    text = text.encode("utf-8", "replace").decode()  # a lone surrogate would be refused by the models
    lines = text[:MAX_REPORT_CHARS].replace("\r\n", "\n").replace("\r", "\n").split("\n")
    notes = []
    if len(text) > MAX_REPORT_CHARS or len(lines) > MAX_REPORT_LINES:
        notes.append(f"Only the first {MAX_REPORT_CHARS:,} characters and {MAX_REPORT_LINES:,} lines are read.")
        lines = lines[:MAX_REPORT_LINES]
    headings, asides = _outline(lines)
    chosen, repeats = _choose(headings)
    spans = _spans(headings, chosen, len(lines))
    sections = [_section(lines, marker.text, *span) for marker, span in zip(chosen, spans, strict=True)]
    findings = [_finding(marker, section) for marker, section in zip(chosen, sections, strict=True)]
    empty = [
        finding
        for marker, finding in zip(chosen, findings, strict=True)
        if not marker.is_text and not any(line.strip() for line in lines[marker.stop : finding.section.end])
    ]
    notes += asides
    notes += _notes(findings, repeats, lines)
    notes += [f"Finding {finding.number} (line {finding.section.start}) has no text." for finding in empty]
    return ParsedReport(
        findings=tuple(sorted(findings, key=lambda finding: finding.number)),
        shared=tuple(_shared(lines, headings, spans)),
        notes=tuple(notes),
    )


def whole_report(text: str) -> ParsedReport:
    """The report as one finding, titled by its first heading; none where there is no text."""
    text = text.encode("utf-8", "replace").decode()[:MAX_REPORT_CHARS]
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[:MAX_REPORT_LINES]
    headings, _ = _outline(lines)
    section = _section(lines, headings[0].text if headings else "", 0, len(lines))
    if not section.text.strip():
        return ParsedReport((), (), ("The report is empty.",))
    return ParsedReport((Finding(id="report", number=1, title=section.title or "the report", section=section),), (), ())


def headings_of(text: str) -> list[tuple[int, str]]:
    """The headings of a report, each with its line, counted from 1."""
    lines = text.encode("utf-8", "replace").decode()[:MAX_REPORT_CHARS].replace("\r\n", "\n").replace("\r", "\n")
    outline, _ = _outline(lines.split("\n")[:MAX_REPORT_LINES])
    return [(heading.line + 1, heading.text) for heading in outline if heading.level != _BOLD]


@cache
def _blocks() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table").disable("inline")


@cache
def _inlines() -> MarkdownIt:
    return MarkdownIt("commonmark")


def _outline(lines: list[str]) -> tuple[list[_Heading], list[str]]:
    """All headings and all labelled bold lines, in the order of their lines; and notes."""
    tokens = _blocks().parse("\n".join(line[:_MAX_LINE] for line in lines))
    headings: list[_Heading] = []
    notes: list[str] = []
    for token, inline in pairwise([*tokens, Token("", "", 0)]):
        if token.level != 0 or token.map is None:
            continue
        if token.type == "fence" and not _is_closed(token, lines):
            notes.append(f"The code block that opens on line {token.map[0] + 1} is never closed: the rest is code.")
        if token.type == "heading_open" and not _is_prose(token, inline):
            headings.append(_heading(token, inline, notes))
        elif token.type in ("paragraph_open", "heading_open") and _LABEL_HINT.search(inline.content):
            headings.extend(_bold_lines(inline.content, token.map[0], notes))
    return headings, notes


def _is_closed(fence: Token, lines: list[str]) -> bool:
    assert fence.map is not None
    last = lines[fence.map[1] - 1].strip()
    return fence.map[1] - 1 > fence.map[0] and last.startswith(fence.markup) and not last.strip(fence.markup[0])


def _is_prose(heading: Token, inline: Token) -> bool:
    """Whether an underlined "heading" is a paragraph with a rule set close below it, as is often written."""
    return heading.markup in ("-", "=") and ("\n" in inline.content or inline.content.endswith("."))


def _heading(token: Token, inline: Token, notes: list[str]) -> _Heading:
    assert token.map is not None
    text = _plain(_children(inline.content))
    label = read_label(text)
    if label is None:
        _note_refused(text, token.map[0], notes)
    return _Heading(token.map[0], token.map[1], int(token.tag[1:]), text, label)


def _bold_lines(content: str, line: int, notes: list[str]) -> Iterator[_Heading]:
    """The lines of a paragraph, whose first is `line`, that start in bold with a label."""
    visible = _HIDDEN_IN_PARAGRAPH.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), content)
    starts = [m.end() for m in _BOLD_LINE.finditer(visible)]
    counted = 0
    for start, stop in pairwise([*starts, len(content)]):
        line, counted = line + content.count("\n", counted, start), start
        bold, line_rest = _split_bold(_children(content[start:stop].strip()))
        label = read_label(bold + line_rest)
        if label is not None and _stands_alone(label, bold, line_rest):
            text = bold if label.end < len(bold.rstrip(" .:")) else bold + line_rest  # the title is in bold, or follows
            yield _Heading(line, line + 1, _BOLD, text, read_label(text), line_rest.strip(" \t:.–—-") != "")
        elif label is None:
            _note_refused(bold, line, notes)


def _stands_alone(label: FindingLabel, bold: str, line_rest: str) -> bool:
    """Whether the label is all in bold and no part of a sentence: not "**Finding 1** shows that"."""
    if label.end > len(bold):
        return False
    return label.separated or label.end < len(bold.rstrip()) or line_rest.lstrip()[:1].isupper()


def _note_refused(text: str, line: int, notes: list[str]) -> None:
    if len(notes) < _MAX_LISTED and resembles_label(text):
        quote = one_line(text, 80)
        notes.append(f'Line {line + 1} ("{quote}") labels no finding: it names no single number up to {MAX_NUMBER}.')


def _children(content: str) -> list[Token]:
    content = content[:_MAX_LINE]
    if not _MARKUP.search(content):
        return [Token("text", "", 0, content=content)]
    children = _inlines().parseInline(content)[0].children or []
    return [token for token in children if token.type != "text" or token.content]


def _plain(tokens: Iterable[Token]) -> str:
    """The text of inline tokens without its markup, white space folded."""
    return _fold(
        "".join(
            " " if token.type in ("softbreak", "hardbreak") else token.content
            for token in tokens
            if token.type != "html_inline"
        )
    )


def _fold(text: str) -> str:
    return _SPACE.sub(" ", text)


def _split_bold(children: list[Token]) -> tuple[str, str]:
    """The bold text at the start, and what follows it on the same line; ("", "") where the start is not bold."""
    kinds = [token.type for token in children]
    if "strong_close" not in kinds or (kinds[0] != "strong_open" and kinds[:2] != ["em_open", "strong_open"]):
        return "", ""
    end = kinds.index("strong_close")
    stop = next((i for i in range(end, len(kinds)) if kinds[i] in ("softbreak", "hardbreak")), len(kinds))
    return _plain(children[:end]), _plain(children[end:stop])


def _choose(headings: list[_Heading]) -> tuple[list[_Heading], dict[int, list[_Heading]]]:
    """The marker of each number, in the order of the lines; and the markers of each number that has several."""
    by_number: defaultdict[int, list[_Heading]] = defaultdict(list)
    for heading in headings:
        if heading.label is not None:
            by_number[heading.label.number].append(heading)
    chosen = [min(same, key=lambda h: (h.level, h.line)) for same in by_number.values()]
    repeats = {n: [c, *(h for h in by_number[n] if h is not c)] for n, c in zip(by_number, chosen, strict=True)}
    return sorted(chosen, key=lambda h: h.line), {n: same for n, same in repeats.items() if len(same) > 1}


def _spans(headings: list[_Heading], chosen: list[_Heading], length: int) -> list[tuple[int, int]]:
    """The lines [start, stop) of each chosen marker's section."""
    chosen_lines = {marker.line for marker in chosen}
    spans = []
    start, limit, level = None, 0, 0  # the open section; the level of a heading that ends it; the level we stand at
    for heading in headings:
        marks = heading.line in chosen_lines
        is_heading = heading.level != _BOLD
        if start is not None and (marks or (is_heading and heading.level <= limit)):
            spans.append((start, heading.line))
            start = None
        if is_heading:
            level = heading.level
        if marks:
            start, limit = heading.line, level or _BOLD  # a bold line under no heading: any heading ends it
    return spans if start is None else [*spans, (start, length)]


def _section(lines: list[str], title: str, start: int, stop: int) -> Section:
    """Lines [start, stop) counted from 0, without the blank ones at the end."""
    while stop > start and not lines[stop - 1].strip():
        stop -= 1
    return Section(title=one_line(title, _MAX_TITLE), start=start + 1, end=stop, text="\n".join(lines[start:stop]))


def _shared(lines: list[str], headings: list[_Heading], spans: list[tuple[int, int]]) -> Iterator[Section]:
    """Every part outside `spans`, cut at its headings; blank parts are left out."""
    titles = {heading.line: heading.text for heading in headings if heading.level != _BOLD}
    cuts = sorted({0, len(lines), *titles, *(edge for span in spans for edge in span)})
    inside = iter([*spans, (len(lines), len(lines))])
    span = next(inside)
    for start, stop in pairwise(cuts):
        if start >= span[1]:
            span = next(inside)
        if start < span[0]:
            section = _section(lines, titles.get(start, ""), start, stop)
            if section.text.strip():
                yield section


def _finding(marker: _Heading, section: Section) -> Finding:
    assert marker.label is not None
    number, title = marker.label.number, one_line(marker.label.title, _MAX_TITLE)
    return Finding(id=f"finding_{number}", number=number, title=title, section=section)


def _notes(findings: list[Finding], repeats: dict[int, list[_Heading]], lines: list[str]) -> Iterator[str]:
    """What is unusual about `findings`, which come in the order of their lines."""
    if not findings:
        yield "No finding is registered: no heading or bold line is labelled like `Finding 1: ...`." + _elsewhere(lines)
        return
    numbers = [finding.number for finding in findings]
    if len(findings) == 1:
        yield f"Only one finding is registered (line {findings[0].section.start})."
    if len(findings) > USUAL_FINDINGS:
        yield f"{len(findings)} findings are registered, more than {USUAL_FINDINGS}."
    if numbers != sorted(numbers):
        places = _listed(f"{f.number} on line {f.section.start}" for f in findings)
        yield f"The findings are out of order: {places}."
    if missing := sorted(set(range(1, max(numbers))) - set(numbers)):
        last = max(findings, key=lambda f: f.number)
        yield (
            f"Numbers are left out: {_listed(map(str, missing))}; "
            f"the highest is {last.number}, on line {last.section.start}."
        )
    for number, (kept, *others) in sorted(repeats.items()):
        places = _listed(str(other.line + 1) for other in others)
        yield f"Finding {number} is labelled more than once: line {kept.line + 1} counts, not line {places}."


def _elsewhere(lines: list[str]) -> str:
    """Where a label stands in a place that does not count."""
    bare = (_fold(_DECORATION.sub("", line[:_MAX_LINE], count=1)) for line in lines)
    found = [number for number, line in enumerate(bare, 1) if resembles_label(line)]
    if not found:
        return ""
    return f" Labels in lists, quotes, code, HTML or running text do not count (line {_listed(map(str, found))})."


def _listed(items: Iterable[str]) -> str:
    shown = list(items)
    more = len(shown) - _MAX_LISTED
    return ", ".join(shown[:_MAX_LISTED]) + (f" and {more:,} more" if more > 0 else "")
