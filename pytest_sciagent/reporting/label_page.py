"""The page on which a person judges one criterion: the words and the evidence that judges are shown, and no verdict."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from ..text import clean

if TYPE_CHECKING:
    import jinja2

    from ..evaluation.labelling import Given, Question

POLICY = (
    "default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
_FENCE = re.compile(r"^<<<DATA (?P<mark>[0-9a-f]+) (?P<label>.*)\n(?P<text>(?s:.*?))\nDATA (?P=mark)>>>$", re.MULTILINE)

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{{ title }}</title>
<style nonce="{{ nonce }}">
body { font: 15px/1.45 sans-serif; margin: 0; color: #1a1a1a; background: #fff }
main { display: grid; grid-template-columns: 1fr 27rem; gap: 1.5rem; padding: 1rem }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.4 monospace; margin: .3rem 0 }
details { border-top: 1px solid #767676; padding: .3rem 0 }
summary { cursor: pointer; font-weight: bold }
form { position: sticky; top: 1rem; align-self: start; max-height: calc(100vh - 2rem); overflow-y: auto }
fieldset { border: 1px solid #767676; margin: 0 0 .8rem }
label { display: block; margin: .3rem 0 }
textarea, select { width: 100%; box-sizing: border-box; font: inherit }
.problem { border-left: 4px solid #a00000; padding: .3rem .6rem; background: #fff0f0 }
header { padding: .6rem 1rem; background: #eef }
</style></head><body>
<header>{{ answered }} of {{ total }} answered, as {{ rater }}</header>
{% if question is none %}<main><p id="done">Nothing is left to label. Close this page, and end the command with Ctrl-C.
</p></main>{% else %}
<main><div>
<h1>Evidence</h1>
{% for piece in evidence %}<details data-file="{{ piece.file }}"{{ " open" if "own section" in piece.label }}>
<summary>{{ piece.label }}</summary><pre>{{ piece.text }}</pre></details>
{% endfor %}</div>
<form method="post" action="answer">
<h1>Question</h1>
{% for piece in asked %}<pre>{{ piece.text }}</pre>{% endfor %}
{% for other in others %}<p class="other">{{ other.judge.model }} gave {{ "%g" | format(other.level) }}:
{{ other.reason | clean }}</p>{% endfor %}
{% if problem %}<p class="problem" role="alert">{{ problem }}</p>{% endif %}
<input type="hidden" name="key" value="{{ key }}">
<fieldset><legend>Level</legend>
{% for level in ("1", "0.5", "0") %}<label><input type="radio" name="level" value="{{ level }}" required
{{ "checked" if given and given.level == level | float }}> {{ level }}</label>{% endfor %}</fieldset>
<label>Why<textarea name="reason" rows="3">{{ given.reason if given }}</textarea></label>
<label>File of the passage<select name="file">{% for file in files %}
<option{{ " selected" if given and given.file == file }}>{{ file }}</option>{% endfor %}</select></label>
<label>Passage, word for word (needed above level 0)
<textarea name="quote" rows="4">{{ given.quote if given }}</textarea></label>
<p><button type="button" id="take">Take what is selected</button></p>
<p><button type="submit" name="do" value="answer">Answer</button>
<button type="submit" name="do" value="skip" formnovalidate>Later</button></p>
</form></main>
<script nonce="{{ nonce }}">
const take = document.getElementById("take");
take.addEventListener("mousedown", event => event.preventDefault());  // else the click ends the selection
take.addEventListener("click", () => {
  const chosen = document.getSelection();
  if (!chosen.rangeCount || !String(chosen).trim()) return;
  const node = chosen.anchorNode, piece = (node.closest ? node : node.parentElement).closest("details[data-file]");
  document.querySelector("[name=quote]").value = String(chosen).trim();
  if (piece && piece.dataset.file) document.querySelector("[name=file]").value = piece.dataset.file;
});
</script>{% endif %}
</body></html>
"""


@dataclass(frozen=True, slots=True)
class Shown:
    """A stretch of what is shown; `file` is empty where it is of no file of the run."""

    label: str
    text: str
    file: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """How far the person is: how many are answered, of how many, as whom."""

    answered: int
    total: int
    rater: str


@cache
def _template() -> jinja2.Template:
    import jinja2

    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters["clean"] = clean
    return environment.from_string(PAGE)


def label_page(
    state: State,
    nonce: str,
    key: str = "",
    question: Question | None = None,
    given: Given | None = None,
    problem: str = "",
) -> str:
    """The page of one question, or, without one, the last page. All texts of the run are escaped.

    given, problem: what was answered and could not be taken, and why.
    """
    evidence: list[Shown] = []
    asked: list[Shown] = []
    files: list[str] = []
    if question is not None:
        prompt = question.request.make_prompt()
        files = [str(path) for path in question.case.run.files]
        evidence, asked = list(shown_parts(prompt.shared, files)), list(shown_parts(prompt.last, files))
    return _template().render(
        title="sciagent label",
        nonce=nonce,
        key=key,
        question=question,
        evidence=evidence,
        asked=asked,
        others=question.others if question is not None else (),
        files=files,
        given=given,
        problem=problem,
        answered=state.answered,
        total=state.total,
        rater=state.rater,
    )


def shown_parts(text: str, files: Sequence[str]) -> Iterator[Shown]:
    """A prompt's text, fenced material apart from the words around it; the fences themselves are left out."""
    end = 0
    for found in _FENCE.finditer(text):
        if before := text[end : found.start()].strip():
            yield Shown(before.splitlines()[0][:80], before)
        label = found["label"]
        file = label.split(" (", 1)[0]
        yield Shown(label, found["text"], file if file in files else "")
        end = found.end()
    if rest := text[end:].strip():
        yield Shown(rest.splitlines()[0][:80], rest)
