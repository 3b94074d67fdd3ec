# `make help` lists the targets. Each sets up what it needs first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help setup demo demo-experiment test lint schemas architecture docs cookbook bench fuzz audit package lowest pythons clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*  ## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-24s %s\n", $$1, $$2 }'

setup: $(VENV)/.done  ## make .venv with everything that demo and tests need

$(VENV)/.done: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

# Failing criteria are what the demo shows, so pytest's exit code 1 is a success here; every other code is not.
demo: setup  ## test the shipped runs: no key, no network beyond the package index
	$(BIN)/pytest --sciagent-run=runs/ -q --no-header --tb=no -r N -v || [ $$? -eq 1 ]

# A recorded experiment: no harness starts and nobody is asked, the tables are made anew from frozen runs.
demo-experiment: setup  ## make the tables of the recorded experiment anew
	cd examples/experiment && "$(CURDIR)/$(BIN)/sciagent" experiment experiment.yaml

test: setup lint  ## all checks: lint, the tests, the worthless runs
	$(BIN)/pytest -q -n auto
	$(BIN)/sciagent selfcheck

lint: setup  ## style, types, floors of the imports, workflows
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/actionlint -shellcheck= -pyflakes=

schemas: setup  ## write the JSON Schemas anew, after a change of a model
	$(BIN)/sciagent schema schemas

architecture: setup  ## draw the table of imports in docs/architecture.md anew
	$(BIN)/python tests/floors.py

docs: setup  ## build the docs site in site/; a broken link fails it
	$(BIN)/python -m mkdocs build --strict

cookbook: setup  ## write docs/cookbook.md anew from the recorded verdicts
	$(BIN)/python tools/cookbook.py

bench: setup  ## what a replayed criterion costs beside a plain pytest item
	$(BIN)/python benchmarks/all.py --only items --items 5075 --dry

# FUZZ_SECONDS for each parser. atheris has no wheel for every Python and system, so it is no part of the setup; where it
# can't be installed, texts are made at random, which is told.
FUZZ_SECONDS ?= 60
fuzz: setup  ## feed random input to the parsers, FUZZ_SECONDS each
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: atheris
	for parser in report numbers findings answer ledger; do \
		$(BIN)/python tests/fuzz.py $$parser -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=2048 -timeout=10 || exit 1; \
	done

# Each installed package by its exact version; one that can't be looked up fails it, as all do where PyPI's data of known
# weaknesses can't be reached: it never passes without having looked. The list is kept out of the tree.
audit: setup  ## look the installed packages up among known vulnerabilities
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pip-audit
	list=$$(mktemp) && $(BIN)/python -m pip list --format freeze --exclude-editable >$$list && \
		$(BIN)/pip-audit --strict --no-deps --disable-pip --progress-spinner off --requirement $$list; \
		code=$$?; rm -f $$list; exit $$code

# A wheel that was made from the sdist, installed into an environment of its own without any extra, and used outside of
# the checkout. The rest of the environment is what pip finds today.
package: setup  ## build sdist and wheel into dist/, install the wheel by itself and use it
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build
	rm -rf dist build/smoke
	$(BIN)/python -m build --outdir dist .
	$(PYTHON) -m venv build/smoke
	build/smoke/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	build/smoke/bin/python -I tests/smoke.py

# Every package of the core and of the extras at the lowest version that pyproject.toml allows, under the oldest Python;
# what only tests use is free.
LOWEST_TESTS ?= tests
lowest: setup  ## run the tests with the lowest allowed versions (LOWEST_TESTS=tests/test_x.py for some of them)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv venv --quiet --clear --python 3.11 build/lowest
	$(BIN)/uv pip compile --quiet --python build/lowest --resolution lowest-direct --extra all pyproject.toml -o build/lowest.txt
	$(BIN)/uv pip install --quiet --python build/lowest --constraint build/lowest.txt --editable '.[dev]'
	build/lowest/bin/python -m pytest -q -n auto $(LOWEST_TESTS)

pythons: setup  ## run the tests under each Python from 3.11 to 3.14 that is installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check nox
	$(BIN)/nox

clean:  ## remove what these targets have made
	rm -rf $(VENV) .sciagent .nox build dist site
