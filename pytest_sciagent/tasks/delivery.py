#!/usr/bin/env python3
"""Checks a delivery: is there a report, does it register findings, and does each lead to code and results?

Run it from the workspace: python validate.py. It looks at form only, never at what a finding says. Needs no package.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

CODE = {".py", ".ipynb", ".r", ".jl", ".m", ".js", ".ts", ".c", ".cc", ".cpp", ".f90", ".go", ".rs", ".sh", ".sql"}
RESULTS = {".csv", ".tsv", ".json", ".jsonl", ".parquet", ".feather", ".xlsx", ".h5", ".hdf5", ".npy", ".npz", ".mat"}
FIGURES = {".png", ".jpg", ".jpeg", ".svg", ".pdf", ".tif", ".tiff", ".webp"}
MAX_BYTES = 256 * 1024 * 1024
MAX_REPORT = 2_000_000
MAX_FINDINGS = 5
HEADING = re.compile(r"^##\s+Finding\s+(\d{1,2})\s*:\s*(\S.*)$")
TOP = re.compile(r"^#{1,2}\s")
BACKTICKED = re.compile(r"`([^`\n]{1,300})`")


def problems(output: Path) -> list[str]:
    """What is to be mended in the folder `output`; nothing if it can be taken as it is."""
    if not output.is_dir():
        return ["there is no folder output/"]
    found: list[str] = []
    files: dict[str, Path] = {}
    for path in sorted(output.rglob("*")):
        name = path.relative_to(output).as_posix()
        if path.is_symlink():
            found.append(f"output/{name} is a link: put the file itself there")
        elif path.is_file():
            files[name] = path
            if path.stat().st_size > MAX_BYTES:
                found.append(f"output/{name} is larger than {MAX_BYTES:,} bytes")
        elif not path.is_dir():
            found.append(f"output/{name} is not a regular file")
    report = files.get("Result.md")
    if report is None:
        return [*found, "output/Result.md is missing: the report must have this name"]
    if report.stat().st_size > MAX_REPORT:
        return [*found, f"output/Result.md is larger than {MAX_REPORT:,} bytes"]
    return found + _report_problems(report.read_bytes().decode("utf-8", "replace"), files)


def _report_problems(text: str, files: dict[str, Path]) -> list[str]:
    sections = _sections(text)
    if not sections:
        return ["output/Result.md registers no finding: give each a heading such as '## Finding 1: what holds'"]
    found = []
    numbers = [number for number, _, _ in sections]
    if numbers != list(range(1, len(numbers) + 1)):
        found.append(f"findings are numbered {', '.join(map(str, numbers))}: number them 1, 2, 3, ...")
    if len(numbers) > MAX_FINDINGS:
        found.append(f"{len(numbers)} findings: {MAX_FINDINGS} at most are wanted")
    for number, line, section in sections:
        named = [n for n in BACKTICKED.findall(section) if Path(n).suffix.lower() in CODE | RESULTS | FIGURES]
        known = [name for name in (_known(n, files) for n in named) if name]
        where = f"Finding {number} (line {line})"
        found += [
            f"{where} names {n}, which does not exist"
            for n in named
            if n.startswith("output/") and not _known(n, files)
        ]
        if not any(Path(name).suffix.lower() in CODE for name in known):
            found.append(f"{where} names no code file of output/ in backticks, such as `output/code/fit.py`")
        if not any(Path(name).suffix.lower() in RESULTS | FIGURES for name in known):
            found.append(f"{where} names no result file of output/ in backticks, such as `output/results/fit.csv`")
    return found


def _sections(text: str) -> list[tuple[int, int, str]]:
    """Number, line and text of each registered finding; headings inside code fences do not count."""
    sections: list[tuple[int, int, list[str]]] = []
    fenced = is_open = False
    for line_number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        match = None if fenced else HEADING.match(line)
        if match:
            sections.append((int(match[1]), line_number, []))
            is_open = True
        elif not fenced and TOP.match(line):
            is_open = False
        if is_open:
            sections[-1][2].append(line)
    return [(number, line, "\n".join(lines)) for number, line, lines in sections]


def _known(name: str, files: dict[str, Path]) -> str | None:
    """The delivered file that a report means by `name`: its path, or its base name where only one file has it."""
    plain = name.strip().removeprefix("./").removeprefix("output/")
    if plain in files:
        return plain
    same = [path for path in files if "/" not in plain and path.rsplit("/", 1)[-1] == plain]
    return same[0] if len(same) == 1 else None


if __name__ == "__main__":
    told = problems(Path(__file__).resolve().parent / "output")
    for problem in told:
        print(problem)
    print("the delivery can be taken" if not told else f"{len(told)} to be mended")
    sys.exit(1 if told else 0)
