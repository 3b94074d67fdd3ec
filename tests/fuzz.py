"""One parser, given what no test thought of: `python tests/fuzz.py report -max_total_time=60`.

With atheris, which takes further options of libFuzzer, texts are found by the code that they reach, beginning with a
valid one. Without it hypothesis changes the valid one at random for that time. Whatever the text, a parser gives a
result that keeps its promises or its own error; anything else ends the run.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

try:
    import atheris
except ImportError:
    atheris = None

with atheris.instrument_imports(include=["pytest_sciagent"]) if atheris else contextlib.nullcontext():
    from sample import answer as good_answer
    from sample import report_text
    from test_parsers import EDITS, LEDGER, WORK, edited

    from pytest_sciagent.documents import parse_json, parse_yaml
    from pytest_sciagent.errors import SciagentError
    from pytest_sciagent.evidence.numbers import extract_numbers
    from pytest_sciagent.findings import parse_report, resolve_mentions
    from pytest_sciagent.judging.answers import BadAnswer, parse_answer
    from pytest_sciagent.ledger import read_work
    from pytest_sciagent.models import LedgerFile

FILES = ("output/Result.md", "output/results/table.csv", "output/code/fit.py", "output/a/b/c.json")


def report(text: str) -> None:
    parsed = parse_report(text)
    numbers = [finding.number for finding in parsed.findings]
    assert numbers == sorted(set(numbers))


def numbers(text: str) -> None:
    for number in extract_numbers(text):
        assert 0 <= number.start < number.end <= len(text)
        assert number.value == number.value


def findings(text: str) -> None:
    for mention in resolve_mentions(text, FILES, FILES[0]):
        assert set(mention.paths) <= set(FILES)


def answer(text: str) -> None:
    try:
        parse_answer(text)
    except BadAnswer:
        return


def ledger(text: str) -> None:
    for read in (parse_json, parse_yaml):
        try:
            read(text, LedgerFile, "ledger")
        except SciagentError:
            continue
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a-1-b.jsonl").write_bytes(text.encode("utf-8", "surrogateescape"))
        try:
            read_work(Path(folder))
        except SciagentError:
            return


PARSERS: dict[str, tuple[Callable[[str], None], tuple[str, ...]]] = {
    "report": (report, (report_text(2),)),
    "numbers": (numbers, ("2.50 ± 0.13 km/s (95 % CI 2.2 to 2.8; n = 1,024), p < 10^-3, 3.1×10⁻⁴",)),
    "findings": (findings, ("see `output/results/*.csv`, `code/{fit,b}.py` and [c](a/b/c.json)",)),
    "answer": (answer, (json.dumps(good_answer(1)),)),
    "ledger": (ledger, (LEDGER, WORK)),
}
"""Each with valid texts to begin with."""


def with_hypothesis(parse: Callable[[str], None], seeds: tuple[str, ...], seconds: float) -> int:
    """Texts at random for `seconds`; how many."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import strategies as st

    ends, count = time.monotonic() + seconds, 0
    texts = st.one_of(st.text(), *(EDITS.map(lambda found, seed=seed: edited(seed, found)) for seed in seeds))

    @settings(
        max_examples=500,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(texts)
    def look(text: str) -> None:
        nonlocal count
        if time.monotonic() < ends:
            parse(text)
            count += 1

    while time.monotonic() < ends:
        look()
    return count


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in PARSERS:
        sys.exit(f"name a parser: {', '.join(PARSERS)}")
    name = sys.argv.pop(1)
    parse, seeds = PARSERS[name]
    if atheris is None:
        seconds = next((float(a.partition("=")[2]) for a in sys.argv if a.startswith("-max_total_time=")), 60.0)
        print(f"{name}: atheris is not installed, so texts are made at random, by hypothesis", flush=True)
        print(f"{name}: {with_hypothesis(parse, seeds, seconds):,} texts in {seconds:g} s")
        return
    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(seeds):
            Path(corpus, str(number)).write_text(seed, "utf-8")
        atheris.Setup([*sys.argv, corpus], lambda data: parse(data.decode("utf-8", "surrogateescape")))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
