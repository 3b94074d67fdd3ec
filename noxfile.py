"""The tests under each supported Python that is installed: `nox`, `nox -s tests-3.13 -- tests/test_compare.py`."""

from __future__ import annotations

import nox

nox.options.error_on_missing_interpreters = False
nox.options.reuse_existing_virtualenvs = True


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
def tests(session: nox.Session) -> None:
    """The whole suite, or what stands behind `--`."""
    session.install("--editable", ".[dev]")
    session.run("pytest", "-q", *(session.posargs or ("-n", "auto")))
