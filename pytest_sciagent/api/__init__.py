"""The package in Python, without pytest: in a notebook, or in a program of one's own.

    from pytest_sciagent import compare, judge, load_run, score

Numbers are those of a session: the same runs, rubric and judge give what `--sciagent-json` writes.
"""

from __future__ import annotations

from .calls import compare, judge, load_run, score
from .scores import Compared, Scores

__all__ = ["Compared", "Scores", "compare", "judge", "load_run", "score"]
