# Everything runs in .venv; nothing is installed into the system Python.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.PHONY: demo test check format bench browser clean

demo: $(VENV)/.demo  ## the main job end to end on bundled data
	$(BIN)/simifeat demo

test: $(VENV)/.test browser  ## installs what the tests need and runs them all
	$(BIN)/python -m pytest

check: $(VENV)/.check  ## lint, format and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(VENV)/.check  ## put the code in the one format
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

bench: $(VENV)/.bench  ## every figure of the README; see benchmarks/README.md
	$(BIN)/python benchmarks/detect.py
	$(BIN)/python benchmarks/detect.py --official
	$(BIN)/python benchmarks/neighbors.py
	$(BIN)/python benchmarks/transition.py
	$(BIN)/python benchmarks/million.py

browser: $(VENV)/.test  ## a Chromium for the tests of pages; without one they are skipped, and say so
	@$(BIN)/python tests/browser.py

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade pip

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(PIP) install -e ".[text,review]"
	touch $@

$(VENV)/.test $(VENV)/.check $(VENV)/.bench: $(VENV)/.%: pyproject.toml | $(BIN)/python
	$(PIP) install -e ".[$*]"
	touch $@

clean:  ## forget what was built
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache demo-output dist build
