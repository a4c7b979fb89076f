# Every target sets up what it needs. `make` alone lists them.
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help demo serve test test-all test-faults check lint bench docs constraints clean

help:  ## what there is to make
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(READY)  ## forecast a simulated ebook shop and look at the result
	$(BIN)/presage demo --out out/demo

serve: $(READY)  ## answer predictions for an ebook shop on http://127.0.0.1:8000, and show them there
	$(BIN)/presage serve --task examples/shop.toml --data out/serve

test: $(READY)  ## the tests, except the slow ones
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

test-all: $(READY)  ## the tests, slow ones too, with the coverage of the pure packages
	XLA_FLAGS= $(BIN)/python -m pytest -n 2 --dist worksteal --cov --cov-report=term

test-faults: $(READY)  ## the faults of a release: kills, power cuts, rot, floods and random courses, for up to an hour
	PRESAGE_FAULTS=release XLA_FLAGS= $(BIN)/python -m pytest -n 2 tests/faults tests/journal tests/joining/test_join.py \
	  tests/service/test_snapshots.py

check: lint  ## the same as lint, and the quick tests
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow and not long"

lint: $(READY)  ## style, types, import contracts, spelling, dependencies
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/codespell
	$(BIN)/deptry src

bench: $(READY)  ## the benchmarks: ratios, each measured side by side in one run
	$(BIN)/python -m pip install --quiet -c constraints.txt "torch==2.13.0" "river==0.26.1"
	$(BIN)/python -m benchmarks

docs: $(READY)  ## the documentation, into site/
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[docs]"
	$(BIN)/zensical build --clean

constraints: $(READY)  ## pin the dependencies anew (no addresses are written)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --upgrade --quiet --universal --no-annotate --no-header --no-emit-index-url \
	  --no-emit-find-links --python-version 3.11 --extra dev --extra docs pyproject.toml -o constraints.txt

clean:  ## remove the environment and everything made
	rm -rf $(VENV) site out .coverage* .mypy_cache .ruff_cache .pytest_cache .hypothesis

# The first Python from 3.11 to 3.13 that answers; uv if it is there, otherwise venv and pip.
$(READY): pyproject.toml constraints.txt
	@for python in python3 python3.13 python3.12 python3.11; do \
	  if $$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then \
	    found=$$python; break; fi; done; \
	if [ -z "$$found" ]; then echo "Presage needs Python 3.11, 3.12 or 3.13: install one and try again"; exit 1; fi; \
	echo "setting up $(VENV) with $$found; later runs skip this"; \
	if command -v uv >/dev/null 2>&1; then \
	  uv venv --quiet --clear --seed --python $$found $(VENV) && \
	  uv pip install --quiet --python $(BIN)/python -c constraints.txt -e ".[dev]"; \
	else \
	  $$found -m venv --clear $(VENV) && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"; \
	fi
	@touch $@
