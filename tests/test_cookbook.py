"""The cookbook of criteria shows what is recorded now."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from pytest_sciagent.rubrics import load_rubric

ROOT = Path(__file__).parent.parent


def test_the_cookbook_is_current_and_whole() -> None:
    told = "import cookbook; print(cookbook.page(), end='')"
    done = subprocess.run([sys.executable, "-c", told], cwd=ROOT / "tools", capture_output=True, text=True, check=True)
    page = (ROOT / "docs" / "cookbook.md").read_text("utf-8")
    assert page == done.stdout, "docs/cookbook.md is not current: make cookbook"
    rubric = load_rubric("truthinsight", ROOT, ROOT)
    assert re.findall(r"^`([a-z_.]+)`, .* points", page, re.MULTILINE) == [c.id for c in rubric.criteria]
    assert len(re.findall(r"^\*\*Level (?:1|0\.5|0)\*\*", page, re.MULTILINE)) == 3 * 29
