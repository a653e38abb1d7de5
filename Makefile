# Podracer. `make run` needs Python >= 3.11 and make, nothing else.

VENV := .venv
PYTHON := $(VENV)/bin/python
# The machine's own choice first. Each is asked whether it will do: a name may mislead, or start nothing.
FIND_PYTHON := for name in python3 python3.13 python3.12 python3.11; do \
    "$$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2> /dev/null \
    && { echo "$$name"; break; }; done

# Bytecode is made after installing, on all cores; pip would make it on one. Without it every start is slow where
# Python is told not to write any. Some packages carry files that do not compile, and never mean to.
PIP_OPTIONS := --quiet --disable-pip-version-check --no-compile
COMPILE := $(PYTHON) -m compileall -qq -j 0 $(VENV)/lib > /dev/null 2>&1 || true

# Whole files go to each process, those that take long first (tests/conftest.py). Threads of torch that wait for each
# other must not spin on a core that another process needs.
IN_PARALLEL := -n logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder --max-worker-restart 0
PYTEST := OMP_WAIT_POLICY=passive $(PYTHON) -m pytest

.PHONY: run worker test test-core lint format bench docs pages lock clean

run: $(VENV)/.stamp ## The dashboard with a worker, on http://127.0.0.1:8000
	@$(PYTHON) -m webapp.embedded

worker: $(VENV)/.stamp ## A worker alone, for DATABASE_URL and REDIS_URL
	@$(PYTHON) -m workers

test: $(VENV)/.stamp-dev ## Every test, on a PostgreSQL and a Valkey of its own
	@$(PYTEST) $(IN_PARALLEL) $(ARGS)

test-core: $(VENV)/.stamp-dev ## The tests of podracer_core: no web, no database
	@PODRACER_TESTS_HOME=none $(PYTEST) $(IN_PARALLEL) tests/core $(ARGS)

pages: $(VENV)/.stamp-dev ## Every page in Chromium: axe, the console, layout shifts, phone width
	@$(PYTHON) -m pytest -m pages tests/browser/test_every_page.py $(ARGS)

lint: $(VENV)/.stamp-dev ## Style, types, who may import whom, containers
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy podracer_core podracer_client workers webapp
	@$(VENV)/bin/lint-imports
	@$(VENV)/bin/check-jsonschema --builtin-schema vendor.compose-spec docker-compose.yml
	@$(VENV)/bin/hadolint Dockerfile

docs: $(VENV)/.stamp-dev ## The documentation as a site, in docs/_build/html
	@$(PYTHON) -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

format: $(VENV)/.stamp-dev
	@$(VENV)/bin/ruff check --fix-only --quiet .
	@$(VENV)/bin/ruff format .

bench: $(VENV)/.stamp-dev ## Speed, measured
	@$(PYTHON) -m benchmarks $(ARGS)

lock: $(VENV)/.stamp-dev ## Pin every package anew
	@deploy/lock.sh

clean:
	rm -rf $(VENV)

$(VENV)/bin/python:
	@python=$$($(FIND_PYTHON)); \
	if [ -z "$$python" ]; then \
	    echo "Podracer needs Python 3.11 or newer with venv: install python3 and python3-venv." >&2; exit 1; \
	fi; \
	"$$python" -m venv --clear $(VENV)

$(VENV)/.stamp: requirements.txt | $(VENV)/bin/python
	@echo "Installing Podracer's packages into $(VENV); this takes a few minutes once."
	@$(PYTHON) -m pip install $(PIP_OPTIONS) -r requirements.txt
	@$(COMPILE)
	@touch $@

$(VENV)/.stamp-dev: requirements-dev.txt $(VENV)/.stamp
	@echo "Installing what tests and checks need into $(VENV)."
	@$(PYTHON) -m pip install $(PIP_OPTIONS) -r requirements-dev.txt
	@$(COMPILE)
	@touch $@
