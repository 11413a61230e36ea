# Two commands: `make run` serves a sample catalog, `make test` checks everything; a third one,
# `make test-deep`, tries at length what `make test` tries a little of.
# The newest Python that the tests are run on, or another one from 3.11 on; PYTHON=... names one.
NEW_ENOUGH := -c 'import sys; sys.exit(sys.version_info < (3, 11))'
PYTHON ?= $(shell for each in python3.13 python3.12 python3.11 python3; do \
  if $$each $(NEW_ENOUGH) 2>/dev/null; then echo $$each; break; fi; done)
VENV := .venv
BIN := $(VENV)/bin
DATA ?= catalog-data
PORT ?= $(or $(CATALOG_PORT),8585)

# Kept bytecode is a quarter of every start of a process, of which tests make hundreds.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test test-deep types suite bench audit install

install: $(VENV)/installed

# Most of what is installed is imported by every test; these are by none, or in small parts.
UNUSED := /(tests?|faker|Crypto|lexers|mypyc?|pip|pkg_resources|setuptools)/

# What is installed where LOCKED is set, as in CI: these releases alone, held to their hashes.
LOCK := .ci/requirements.txt

# pip 25.1 is the first that installs dependency groups.
$(VENV)/installed: pyproject.toml $(if $(LOCKED),$(LOCK))
	@test -x $(BIN)/pip || test -n "$(PYTHON)" \
	  || { echo "no Python from 3.11 on was found; name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) $(NEW_ENOUGH) \
	  || { echo "$(PYTHON) is no Python from 3.11 on" >&2; exit 1; }
	test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
ifdef LOCKED
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile --require-hashes --requirement $(LOCK)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
else
	$(BIN)/pip install --quiet --disable-pip-version-check "pip>=25.1"
	$(BIN)/pip install --quiet --no-compile --editable '.[postgres,opensearch]' --group dev
endif
	$(BIN)/python -W ignore -m compileall -qq -j 0 -x '$(UNUSED)' $(VENV)/lib
	touch $@

run: install
	@! $(BIN)/python -c 'import socket; socket.create_connection(("127.0.0.1", $(PORT)), 5)' 2>/dev/null \
	  || { echo "error: port $(PORT) is taken by another program: end it, or take another one with make run PORT=..." >&2; exit 2; }
	@test -e $(DATA)/events.db || { $(BIN)/python -m benchmarks.generate 500 > $(VENV)/sample.jsonl \
	  && $(BIN)/catalog import --data $(DATA) $(VENV)/sample.jsonl \
	  && $(BIN)/python -m benchmarks.draw_lineage --data $(DATA) $(VENV)/sample.jsonl; }
	@echo; echo "In another terminal, the commands on its path, a token for one day, and a request to try:"
	@echo "  export PATH=\"$(abspath $(BIN)):\$$PATH\" CATALOG_DATA=\"$(abspath $(DATA))\""
	@echo "  export TOKEN=$$($(BIN)/catalog token --subject me --role admin --data $(DATA))"
	@echo "  curl -s -H \"Authorization: Bearer \$$TOKEN\" 'http://127.0.0.1:$(PORT)/v1/dataContracts?limit=2'"; echo
	@if [ -t 1 ]; then echo "In a browser, the link that is printed below signs in once."; \
	  else echo "For a browser, this prints a link that signs in once:"; \
	    echo "  $(abspath $(BIN))/catalog sign-in-link --data $(abspath $(DATA)) --address http://127.0.0.1:$(PORT)"; fi; echo
	@echo "The catalog is at http://127.0.0.1:$(PORT) until Ctrl-C."; echo
	$(BIN)/catalog serve --data $(DATA) --host 127.0.0.1 --port $(PORT)

# A real identity provider for one test, where node is at hand; without it that test is skipped.
PROVIDER := tests/e2e/identity_provider
$(PROVIDER)/node_modules: $(PROVIDER)/package-lock.json
	-@command -v npm >/dev/null && npm ci --prefix $(PROVIDER) --no-fund --no-audit --silent
	@mkdir -p $@ && touch $@

# What the pages are held to in a browser; without it those tests are skipped.
BROWSER := tests/browser
$(BROWSER)/node_modules: $(BROWSER)/package-lock.json
	-@command -v npm >/dev/null && npm ci --prefix $(BROWSER) --no-fund --no-audit --silent
	@mkdir -p $@ && touch $@

test: install $(PROVIDER)/node_modules $(BROWSER)/node_modules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@$(MAKE) --no-print-directory -j 2 types suite

# Beside the tests, which leave a core free now and then.
types: install
	$(BIN)/mypy
	$(BIN)/lint-imports

# Collected once before, when tests have changed: each process would compile them all for itself.
$(VENV)/collected: $(VENV)/installed $(shell find tests -name '*.py')
	-@$(BIN)/pytest --collect-only -qq >/dev/null
	@touch $@

# Two more processes than the usual two cores, as many a test waits for most of its time.
suite: install $(PROVIDER)/node_modules $(BROWSER)/node_modules $(VENV)/collected
	.ci/in_memory $(BIN)/pytest -n 4 --dist loadgroup

# What `make test` leaves out; QUARTER=0 to 3 runs a fourth of it.
QUARTER ?= all
test-deep: install $(PROVIDER)/node_modules $(BROWSER)/node_modules
	$(BIN)/pytest -n 3 --dist loadgroup --deep $(QUARTER)

bench: install
	$(BIN)/python -m benchmarks

# Needs the network: it asks PyPI for known weaknesses of what is installed.
audit: install
	$(BIN)/pip-audit --skip-editable --strict
