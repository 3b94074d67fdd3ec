# `make demo` shows the main job on the shipped runs, `make demo-experiment` the arms of a recorded experiment,
# `make test` runs all checks. Each sets up first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo demo-experiment test lint setup schemas bench fuzz audit clean

setup: $(VENV)/.done

$(VENV)/.done: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

# Failing criteria are what the demo shows, so pytest's exit code 1 is a success here; every other code is not.
demo: setup
	$(BIN)/pytest --sciagent-run=runs/ -q --no-header --tb=no -r N -v || [ $$? -eq 1 ]

# A recorded experiment: no harness starts and nobody is asked, the tables are made anew from frozen runs.
demo-experiment: setup
	cd examples/experiment && "$(CURDIR)/$(BIN)/sciagent" experiment experiment.yaml

test: setup lint
	$(BIN)/pytest -q -n auto
	$(BIN)/sciagent selfcheck

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

schemas: setup
	$(BIN)/sciagent schema schemas

bench: setup
	$(BIN)/python benchmarks/items.py

# FUZZ_SECONDS for each parser. atheris has no wheel for every Python and system, so it is no part of the setup; where it
# can't be installed, texts are made at random, which is told.
FUZZ_SECONDS ?= 60
fuzz: setup
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: atheris
	for parser in report numbers findings answer ledger; do \
		$(BIN)/python tests/fuzz.py $$parser -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=2048 -timeout=10 || exit 1; \
	done

# Each installed package by its exact version; one that can't be looked up fails it, as all do where PyPI's data of known
# weaknesses can't be reached: it never passes without having looked. The list is kept out of the tree.
audit: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pip-audit
	list=$$(mktemp) && $(BIN)/python -m pip list --format freeze --exclude-editable >$$list && \
		$(BIN)/pip-audit --strict --no-deps --disable-pip --progress-spinner off --requirement $$list; \
		code=$$?; rm -f $$list; exit $$code

clean:
	rm -rf $(VENV) .sciagent build dist
