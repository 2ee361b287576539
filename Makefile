# Two commands set everything up: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-long test-torch test-slurm bench check format help-text pictures corpus clean
.DEFAULT_GOAL := test

$(VENV)/.demo: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "envsync needs Python 3.11 or newer: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[demo]'
	@touch $@

$(VENV)/.test: $(VENV)/.demo
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[test]'
	@touch $@

demo: $(VENV)/.demo  ## The whole job on this machine: three SSH nodes, push, drift, verify, diff
	$(BIN)/envsync demo

test: $(VENV)/.test  ## Unit tests, then real sshd and real conda
	$(BIN)/python tests/need.py
	$(BIN)/pytest tests/unit
	$(BIN)/pytest tests/cluster -n 2 --dist worksteal

test-long: $(VENV)/.test  ## What takes minutes: the demo, failing networks, a thousand hosts, a browser
	$(BIN)/python tests/need.py --long
	$(BIN)/pytest tests/long --timeout 1200

test-torch: $(VENV)/.test  ## verify against a real torch (CPU), 210 MB from pip's registry
	$(BIN)/python tests/need.py
	$(BIN)/python tests/real_torch/wheels.py
	$(BIN)/pytest tests/real_torch --timeout 600

test-slurm: $(VENV)/.test  ## A real Slurm with four nodes on this machine: six minutes
	$(BIN)/python tests/need.py --slurm
	$(BIN)/pytest tests/slurm

bench: $(VENV)/.test  ## What is promised of speed, as ratios against peers of the same run
	$(BIN)/python benchmarks/noop_push.py
	$(BIN)/python benchmarks/lock_install.py
	$(BIN)/python benchmarks/rollback.py
	$(BIN)/python benchmarks/lint.py
	$(BIN)/python benchmarks/fanout.py
	$(BIN)/python benchmarks/verify.py
	$(BIN)/python benchmarks/upload.py
	$(BIN)/python benchmarks/report.py

check: $(VENV)/.test  ## Lint, types, layers, shell scripts
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/shellcheck src/envsync/scripts/*.sh examples/slurm/*.sh .ci/run
	$(BIN)/python tools/help_text.py --check

help-text: $(VENV)/.test  ## Put the output of --help into README.md and docs/
	$(BIN)/python tools/help_text.py

pictures: $(VENV)/.test  ## Make the pictures of README.md anew, from a real run
	$(BIN)/python tools/pictures.py

corpus: $(VENV)/.test  ## Ask conda again how it reads each file of tests/corpus
	$(BIN)/python tools/corpus.py

format: $(VENV)/.test
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
