# The one place that says how this project is built, checked and shown.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# One version for everyone; on a machine without a GPU a CPU build saves gigabytes: make TORCH=/path/to/wheel
TORCH ?= torch==2.13.0

.DEFAULT_GOAL := help
.PHONY: help setup demo check test test-fast bench docs clean

help: ## Show what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(VENV)/ready ## Make the virtual environment with everything in it

$(VENV)/ready: pyproject.toml tests/page/package-lock.json
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet "$(TORCH)"
	$(BIN)/pip install --quiet --editable ".[dev]"
	if command -v npm > /dev/null; then npm ci --ignore-scripts --no-audit --no-fund --prefix tests/page; \
		else echo "to test the page too: apt install nodejs npm chromium, and again make setup"; fi
	touch $@

demo: setup ## Train a tiny model on made-up news and print headlines that fit (some minutes)
	$(BIN)/copyfit examples runs/demo/data
	$(BIN)/copyfit train recipes/tiny.toml --output runs/demo/model
	$(BIN)/copyfit write --model runs/demo/model/best --file runs/demo/data/article.txt \
		--length 24 --length 31 --length 38 --length 45 --show-count

check: setup ## Lint, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: setup ## All tests, with coverage
	$(BIN)/pytest -n 2 --cov --cov-report=term

test-fast: setup ## The tests that take seconds
	$(BIN)/pytest -n 2 -m "not long"

bench: setup ## Speed and memory, as ratios within one run
	$(BIN)/python -m benchmarks

docs: setup ## Build the documentation into site/
	$(BIN)/python docs/generate.py
	$(BIN)/zensical build --clean --strict

clean: ## Remove what was built
	rm -rf $(VENV) runs site dist .coverage* .mypy_cache .ruff_cache .pytest_cache
