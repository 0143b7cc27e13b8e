# make run    install what running needs, run the benchmark problems
# make test   install the rest, run all tests
# make soak   random mechanisms: honest tolerances, against the independent simulator; studies and caches disturbed, 30 minutes
# make docs   the site, in build/site; every block of every page is run
# make check  format, lint, types, import contracts, fast tests (under a minute)

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1

.PHONY: run test check test-nojit soak bench docs clean

run: $(VENV)/installed
	$(BIN)/sarrus run --out runs

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

check: $(VENV)/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slow"

test-nojit: $(VENV)/installed-dev
	SARRUS_PLAIN_KERNELS=1 $(BIN)/python -m pytest -n $(JOBS) tests/kernels tests/model tests/mechanism

soak: $(VENV)/installed-dev
	PYTHONPATH=tests $(BIN)/python benchmarks/honesty.py 400
	PYTHONPATH=tests $(BIN)/python tests/soak.py --minutes 15
	PYTHONPATH=tests $(BIN)/python tests/soak_processes.py --minutes 15

bench: $(VENV)/installed-dev
	$(BIN)/python benchmarks/figures.py

docs: $(VENV)/installed-docs
	NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true $(BIN)/mkdocs build

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --editable .
	touch $@

$(VENV)/installed-%: $(VENV)/installed
	$(BIN)/pip install --quiet --editable ".[$*]"
	touch $@

clean:
	rm -rf $(VENV) runs build dist
