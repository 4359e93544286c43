# Needs only python3 >= 3.11 with its venv module. The environment is made once, in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SCENARIO ?= storm
SHELL := /bin/bash

.PHONY: help demo test check format bench bench-fleet venv clean

help:
	@echo 'make demo [SCENARIO=storm]  set up, replay a recorded engine and diagnose it; no GPU, no server'
	@echo 'make test                   run the tests'
	@echo 'make check                  lint, format, types, generated files'
	@echo 'make bench                  speed and memory against named baselines'
	@echo 'make venv | clean           make the environment | remove what was made'

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo 'needs python3 >= 3.11; name another with: make PYTHON=python3.12 $(MAKECMDGOALS)' >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null \
	  || { echo 'python3 lacks its venv module; on Debian and Ubuntu: apt install python3-venv' >&2; exit 1; }
	@echo 'setting up $(VENV) (once) ...' >&2
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-input -e '.[dev]'
	@touch $@

venv: $(STAMP)

# The demo ends with 1 when it finds something to do: that is what it shows.
demo: $(STAMP)
	@$(BIN)/diagnose demo $(SCENARIO) || [ $$? -eq 1 ]

test: $(STAMP)
	@scripts/install-test-tools.sh
	@$(BIN)/python -m pytest -n 2 $(PYTEST)

check: $(STAMP)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/diagnose generate --check

format: $(STAMP)
	@$(BIN)/ruff check --fix . && $(BIN)/ruff format .

bench: $(STAMP)
	@$(BIN)/python benchmarks/bench.py

# 1,000 engines in a real Prometheus; takes minutes and a few GB below /tmp.
bench-fleet: $(STAMP)
	@scripts/install-test-tools.sh
	@$(BIN)/python benchmarks/fleet.py

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
