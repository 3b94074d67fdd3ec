"""Draws the table of imports in docs/architecture.md from the code: `python tests/floors.py` writes it anew."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import grimp

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "architecture.md"
PACKAGE = "pytest_sciagent"
BEGIN = "<!-- drawn from the code by `make architecture` -->"
END = "<!-- end -->"


def floors() -> list[list[str]]:
    """The floors of the import-linter contract, highest first: the names of their modules."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    return [sorted(layer.replace("|", ":").replace(" ", "").split(":")) for layer in layers]


def drawn() -> str:
    """The table: each package, from the highest floor down, how many modules it has, and which packages it imports."""
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    lines = ["| package | modules | imports |", "|---|---:|---|"]
    for name in (name for floor in floors() for name in floor):
        own = f"{PACKAGE}.{name}"
        modules = {own} | graph.find_descendants(own)
        imported = {
            other.split(".")[1] for m in modules for other in graph.find_modules_directly_imported_by(m) if "." in other
        }
        told = ", ".join(f"`{other}`" for other in sorted(imported - {name}))
        lines.append(f"| `{name}` | {len(modules)} | {told or 'nothing of these'} |")
    return "\n".join(lines)


def parts(page: str) -> tuple[str, str, str]:
    """The page before, within and after the marks."""
    before, found, rest = page.partition(BEGIN)
    within, ended, after = rest.partition(END)
    if not found or not ended:
        sys.exit(f"{PAGE}: the marks {BEGIN} and {END} are gone")
    return before, within.strip(), after


def main() -> None:
    """Write the table anew."""
    before, _, after = parts(PAGE.read_text("utf-8"))
    PAGE.write_text(f"{before}{BEGIN}\n\n{drawn()}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
