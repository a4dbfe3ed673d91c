# `make` builds everything; each recipe below needs only python3 (3.11 or later), make and git.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: all
all: .venv/installed graphiql ## build the environment and the GraphiQL page

.PHONY: serve
serve: all ## start the server on loopback with the embedded store and sample data
	@exec $(BIN)/penstock serve

.PHONY: test
test: all tools ## lint, types, floors and the whole test suite
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --dist worksteal

.PHONY: audit
audit: all tools ## run the published GraphQL over HTTP audits against a server
	@$(BIN)/python -m tests.http_audit.audit

.PHONY: scan
scan: all .venv-scan/installed ## run scanners of others (schemathesis, clairvoyance) against a server
	@$(BIN)/python -m tests.scan

.PHONY: conformance
conformance: .venv-conformance/installed ## run graphql-core's tests of execution against compiled execution
	@.venv-conformance/bin/python tests/conformance

.PHONY: peers
peers: all tools .venv-peers/installed ## measure beside other GraphQL servers; options in PEERS, as in PEERS=--help
	@.venv-peers/bin/python -m benchmarks.peers $(PEERS)

.PHONY: kill
kill: all ## kill the server amid 1,000 writes or notifications, 20 times each, and compare what it acknowledged
	KILL_ROUNDS=20 KILL_WRITES=1000 $(BIN)/pytest -o log_cli=true --log-cli-level=WARNING tests/faults/test_server_kill.py tests/faults/test_ngsi_server_kill.py

.PHONY: scale
scale: all tools ## measure writes that meet, as AWS would refuse them; options in SCALE, as in SCALE=--help
	@$(BIN)/python -m tests.scale $(SCALE)

.PHONY: schema
schema: all ## write schema.graphql
	$(BIN)/penstock schema > schema.graphql

.PHONY: help
help: ## list the recipes
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/:[^#]*## / \t/' | expand -t 14

.PHONY: clean
clean: ## remove what the recipes built; data/ stays
	rm -rf .venv .venv-conformance .venv-peers* .venv-scan dist server/graphiql/dist tests/*/node_modules benchmarks/peers/node/node_modules
	cd examples/typescript && rm -rf node_modules dist src/generated

.PHONY: graphiql
graphiql: .venv/installed
	@$(BIN)/python server/graphiql/build.py

.PHONY: tools
tools: .venv/installed
	@$(BIN)/python -m tests.install
	@$(BIN)/python tests/browser/install.py

.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed.")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --editable '.[dev]'
	@touch $@

.venv-scan/installed: tests/scan/requirements.txt
	$(PYTHON) -m venv .venv-scan
	.venv-scan/bin/python -m pip install --quiet --disable-pip-version-check -r tests/scan/requirements.txt
	@touch $@

.venv-conformance/installed: tests/conformance/requirements.txt
	$(PYTHON) -m venv .venv-conformance
	.venv-conformance/bin/python -m pip install --quiet --disable-pip-version-check -r tests/conformance/requirements.txt
	@touch $@

.venv-peers/installed: pyproject.toml constraints.txt benchmarks/peers/requirements.txt
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -r benchmarks/peers/requirements.txt --editable .
	@touch $@
