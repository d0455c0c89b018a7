# Each command sets up what it needs: .venv is made from the locked requirements and renewed when they change.
#
#   make demo     four sites with live data, watched for a minute (SECONDS=60)
#   make test     one story of every capability (ROOM=protocols: the tests of one room)
#   make check    format, lint, types, imports, `make test` and the tests marked `middle`
#   make long     what takes longer than minutes  make bench   the measurements
#   make schedules   random schedules of faults, as many as `make long` runs (COUNT=10000 FAMILY=vector FROM=1000000)
#   make lint     check without the tests        make format  let ruff lay out the code
#   make lock     resolve the requirements anew (UPGRADE=--upgrade takes the newest)
#   make wire     the wire's Python from tacit.proto   make diagrams   the drawings of docs/PROTOCOLS.md
#   make configuration   the reference in docs/CONFIGURATION.md
#   make clean    remove all that was made
#
# PYTHON=/path/to/python3 chooses the Python. ARGS="..." is handed to the command.

.DELETE_ON_ERROR:
.PHONY: setup demo test check long schedules bench lint format lock wire diagrams configuration clean

READY := .venv/.ready
WARM := .venv/.warm
RUN := .venv/bin/python -m
WORKERS ?= 2
COUNT ?= 10000
LOCK_PYTHON ?= python3.11

# Nothing is kept outside this folder, so an empty or read-only home does as well.
export TACIT_CACHE_DIR := $(CURDIR)/.venv/cache
export MPLCONFIGDIR := $(CURDIR)/.venv/cache/matplotlib
export PYTHON

setup: $(WARM)

$(READY): requirements/build.txt requirements/locked.txt pyproject.toml tools/setup.sh
	@sh tools/setup.sh

# Compiled once here, so that commands and parallel tests load machine code instead of each making their own.
$(WARM): $(READY) $(wildcard src/tacit/*/_kernels*.py src/tacit/functions/tables.py)
	@echo "Compiling kernels; this takes a minute or two, once."
	@$(RUN) tacit.recording.warm
	@touch $@

demo: $(WARM)
	@.venv/bin/tacit demo $(if $(SECONDS),--seconds $(SECONDS)) $(ARGS)

PYTEST := $(RUN) pytest -n $(WORKERS) --dist loadgroup

test: $(WARM)
	$(PYTEST) -m "not middle and not long" $(foreach room,$(ROOM),$(wildcard src/tacit/$(room) tests/$(room))) $(ARGS)

# One run of both tiers, so that what tests share (Spark, servers) is started once.
check: lint $(WARM)
	$(PYTEST) -m "not long" $(ARGS)

long: $(WARM)
	$(PYTEST) -m long $(ARGS)
	$(MAKE) schedules

schedules: $(WARM)
	@$(RUN) tests.simulation.many --count $(COUNT) $(foreach name,$(FAMILY),--family $(name)) $(if $(FROM),--from $(FROM))

bench: $(WARM)
	@.venv/bin/tacit bench $(ARGS)

lint: $(READY)
	$(RUN) ruff format --check
	$(RUN) ruff check
	$(RUN) mypy
	.venv/bin/lint-imports --no-logo

format: $(READY)
	$(RUN) ruff format
	$(RUN) ruff check --fix

# Resolved with the oldest Python, as what fits it fits the newer ones too. The tool has a place of its own: it must
# work when the lock does not.
COMPILE := build/lock/bin/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras --no-header \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host $(UPGRADE)
title = printf '%s\n' '\# $(2). Made by `make lock` with Python 3.11; holds for 3.11 to 3.14.' | \
	cat - requirements/$(1) > build/lock/$(1) && mv build/lock/$(1) requirements/$(1)

lock:
	$(LOCK_PYTHON) -m venv --clear build/lock
	build/lock/bin/python -m pip install --quiet pip-tools==7.6.2
	$(COMPILE) --all-extras --output-file requirements/locked.txt pyproject.toml
	$(COMPILE) --extra site --constraint requirements/locked.txt --output-file requirements/runtime.txt pyproject.toml
	$(COMPILE) --constraint requirements/locked.txt --output-file requirements/build.txt requirements/build.in
	$(call title,locked.txt,Everything: core and site and dev)
	$(call title,runtime.txt,What runs: core and site)
	$(call title,build.txt,What builds tacit and the source package of Spark)

wire: $(READY)
	.venv/bin/python tools/generate_wire.py

diagrams: $(READY)
	.venv/bin/python tools/draw_protocols.py

configuration: $(READY)
	.venv/bin/python tools/write_configuration.py

clean:
	rm -rf .venv build dist .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	rm -rf src/tacit.egg-info
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
