# make run    install what running needs, run the benchmark problems
# make test   install the rest, run all tests
# make soak   random mechanisms: honest tolerances, against the independent simulator; studies, caches and files damaged, 40 minutes
# make docs   the site, in build/site; every block of every page is run
# make check  format, lint, types, import contracts, fast tests (under a minute)
# make check-versions  the same on every other version of Python that this machine has
# make bits   whether results have the same bits on all these versions

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1

# what is done for every other version of Python that this machine has: $$version, $$python and $$venv say which
for_others = set -e; others=$$(.ci/pythons $(BIN)/python); for other in $$others; do \
	version=$${other%%=*}; python=$${other\#*=}; venv=.venv-$$version; $(1); done

.PHONY: run test check check-versions bits test-nojit soak bench engine-tables docs clean

run: $(VENV)/installed
	$(BIN)/sarrus run --out runs

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

check: $(VENV)/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slow and not soak"

check-versions: $(VENV)/installed-dev
	@$(call for_others,echo "make check on Python $$version"; $(MAKE) check VENV=$$venv PYTHON=$$python)

bits: $(VENV)/installed-dev
	@$(call for_others,$(MAKE) $$venv/installed-dev VENV=$$venv PYTHON=$$python)
	$(BIN)/python tests/bits.py --compare $$($(call for_others,echo $$venv/bin/python))

test-nojit: $(VENV)/installed-dev
	SARRUS_PLAIN_KERNELS=1 $(BIN)/python -m pytest -n $(JOBS) tests/kernels tests/model tests/mechanism

soak: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m soak
	PYTHONPATH=tests $(BIN)/python benchmarks/honesty.py 400
	SARRUS_CHECKED=1 PYTHONPATH=tests $(BIN)/python tests/soak.py --minutes 15
	PYTHONPATH=tests $(BIN)/python tests/soak_processes.py --minutes 15
	PYTHONPATH=tests $(BIN)/python tests/soak_files.py --seconds 600
	PYTHONPATH=tests $(BIN)/python tests/soak_events.py --runs 10000
	PYTHONPATH=tests $(BIN)/python tests/soak_judge.py --files 500

bench: $(VENV)/installed-dev
	$(BIN)/python benchmarks/figures.py

# Tables of docs/engines.md, measured with all engines on a quiet machine: one to two hours; resumed if stopped.
engine-tables: $(VENV)/installed-dev
	$(BIN)/pip install -e '.[engines]'
	$(BIN)/sarrus bench double-four-bar rectangular-bricard --engines --budget 2 --out build/engines
	$(BIN)/sarrus bench double-four-bar rectangular-bricard --engine newton --budget 12 --out build/engines
	$(BIN)/sarrus bench n-four-bar --engines --budget 8 --out build/engines
	$(BIN)/python docs/tools/engine_tables.py build/engines --write

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
	rm -rf $(VENV) .venv-3.* runs build dist
