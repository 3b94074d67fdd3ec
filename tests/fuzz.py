"""One parser under atheris, guided by coverage: `python tests/fuzz.py report`, and options of libFuzzer.

Whatever the bytes, a parser gives a result that keeps its promises or its own error; anything else ends the run.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["pytest_sciagent"]):
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


PARSERS: dict[str, Callable[[str], None]] = {
    "report": report,
    "numbers": numbers,
    "findings": findings,
    "answer": answer,
    "ledger": ledger,
}


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in PARSERS:
        sys.exit(f"name a parser: {', '.join(PARSERS)}")
    parse = PARSERS[sys.argv.pop(1)]
    atheris.Setup(sys.argv, lambda data: parse(data.decode("utf-8", "surrogateescape")))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
