# Only python3 (3.11 or newer, with venv) and make have to be there. `make` lists the targets;
# ARGS=... goes to the command of run, demo, analyze, test, soak, bench and clients.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# What a person keeps here is used without a flag.
CONFIG := $(wildcard config.toml)

.DEFAULT_GOAL := help
.PHONY: help install run demo analyze test soak bench clients check audit fmt lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

install: $(READY) ## make .venv with all that running and testing need

# Made again only when a lock or the project's own description changes.
$(READY): pyproject.toml requirements/dev.txt requirements/real.txt requirements/uv.txt
	@sh requirements/install.sh "$(PYTHON)" "$(VENV)"
	@touch $@

run: $(READY) ## start the proxy: with config.toml if it is there, else 127.0.0.1:8484 -> 127.0.0.1:8000
	@$(BIN)/turnscope-proxy $(CONFIG:%=--config %) $(ARGS)

demo: $(READY) ## see it work: a real server, a real model, a chat with too many tools (half a minute)
	@$(BIN)/python -m demo $(ARGS)

# With config.toml: the folder that it names, as the proxy itself reads it, after its own check of it.
FOLDER = from pathlib import Path; from proxy.config import Flags; from proxy.configfile import load; \
	print(load(Path("$(CONFIG)"), Flags()).journal.dir)
analyze: $(READY) ## where did the time of my turns go? the report, and the same as report.html
ifeq ($(CONFIG),)
	@$(BIN)/turnscope report --html report.html $(ARGS)
else
	@$(BIN)/turnscope-proxy --config $(CONFIG) --check >/dev/null
	@$(BIN)/turnscope report --journal "$$($(BIN)/python -c '$(FOLDER)')" --html report.html $(ARGS)
endif

test: $(READY) ## run all tests
	@$(BIN)/python -m pytest -q $(ARGS)

soak: $(READY) ## load and faults: nothing may be harmed, lost in silence, or grow (ten minutes)
	@$(BIN)/python -m soak $(ARGS)

bench: $(READY) ## what the proxy adds, side by side with nginx and others (12 minutes; ARGS=--quick: one)
	@$(BIN)/python -m bench $(ARGS)

clients: $(READY) ## real clients and agents, one turn each, against what is known of them (npm; not in CI)
	@$(BIN)/python -m clients $(ARGS)

check: $(READY) ## format, lint and types, without changing a file
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --no-error-summary -p proxy -p analysis -p demo -p clients -p bench -p soak
	@echo "check: format, lint and types are fine"

audit: $(READY) ## known vulnerabilities of what is locked (asks the internet; not part of check)
	@$(BIN)/python requirements/audit.py .cache/audit

fmt: $(READY) ## format the code and mend what lint can mend
	@$(BIN)/ruff check --quiet --fix --exit-zero .
	@$(BIN)/ruff format --quiet .

# Without ARGS=--upgrade what is locked stays as it is, where pyproject.toml still allows it.
COMPILE = VIRTUAL_ENV=$(VENV) $(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --custom-compile-command 'make lock' $(ARGS)
lock: $(READY) ## write requirements/*.txt anew from pyproject.toml
	@$(COMPILE) pyproject.toml -o requirements/run.txt
	@$(COMPILE) pyproject.toml --group dev -c requirements/run.txt -o requirements/dev.txt
	@$(COMPILE) --no-deps --group real -o requirements/real.txt
	@$(COMPILE) --group installer -o requirements/uv.txt

clean: ## remove .venv and all caches; journals and config.toml stay
	@rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
