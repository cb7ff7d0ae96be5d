# Everything a newcomer needs: `make demo` and `make test`. Each makes .venv from the pinned versions first.

PYTHON ?= $(firstword $(foreach v,python3 python3.13 python3.12 python3.11,$(shell $(v) -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $(v))))
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# Byte code is kept, whatever the environment says: the tests start hundreds of processes, and each one would compile all
# modules again. So collecting the tests costs 6 s of CPU instead of 17 s in each process.
unexport PYTHONDONTWRITEBYTECODE

# What targets say that run side by side is told target by target, by a make that can do that (4.0 and newer).
GROUPED := $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

LOWEST := .venv-lowest
OTHERS := 3.11 3.12 3.13

.PHONY: help demo test lint types contract docs unit simulate endurance mutants pythons lowest compat sbom format clean

help: ## what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): requirements.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "kinformer needs Python 3.11 or newer; set PYTHON=/path/to/python3"; exit 1; }
	@echo "making $(VENV) with $(PYTHON) ..."
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements.txt
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --editable .
	@touch $@

demo: $(STAMP) ## a ReplicationController gets its pods, a Deployment is rolled out, on an API server in this process
	@$(BIN)/kinformer demo

# INSTALLS=1 also plays the tests that install from the package index: the wheel on each Python, the image's steps.
# What takes a second is told at once. Types and the site are made beside the tests, which leave cores idle while they
# wait for processes; what they find is told at the end.
test: $(STAMP) ## lint, types, the import contract, the documentation's site and the tests
	@$(MAKE) --no-print-directory -j 2 $(GROUPED) lint contract
	@mkdir -p build
	@$(MAKE) --no-print-directory types docs >build/checks.txt 2>&1 & checks=$$!; \
	$(MAKE) --no-print-directory unit; tests=$$?; \
	wait $$checks; checked=$$?; cat build/checks.txt; \
	exit $$((tests || checked))

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy
	$(BIN)/mypy docs/examples
	@$(BIN)/python -m tests.docs.tutorial build/tutorial
	@rm -rf build/tutorial/.mypy_cache && cp -R .mypy_cache build/tutorial  # kinformer is not looked at a second time
	cd build/tutorial && ../../$(BIN)/mypy --strict .

contract: $(STAMP)
	$(BIN)/lint-imports --no-logo

docs: $(STAMP) ## the documentation's site, from scratch or what has changed: build/docs/index.html
	@$(BIN)/python -m sphinx -q -W --keep-going -j auto docs build/docs || { rm -rf build/docs; exit 1; }

unit: $(STAMP)
	$(BIN)/python -m pytest -n auto --dist worksteal $(if $(INSTALLS),,-m "not installs")

simulate: $(STAMP) ## the long search: public bugs, their mended twins, and each controller with a thousand seeds
	$(BIN)/python -m tests.simulation $(ARGS)

endurance: $(STAMP) ## real processes for a long time, killed, stopped and cut off: ARGS="--minutes 60"
	$(BIN)/python -m tests.endurance $(ARGS)

mutants: $(STAMP) ## are mistakes found? 300 small ones, one at a time, each against the tests of its package
	$(BIN)/python -m tests.mutants $(ARGS)

pythons: $(STAMP) ## simulated runs, compared between the Pythons that are installed: .venv-3.11, .venv-3.12, .venv-3.13
	@for version in $(OTHERS); do \
		python$$version -c '' 2>/dev/null || { echo "there is no python$$version"; continue; }; \
		python$$version -m venv .venv-$$version || exit 1; \
		pip=".venv-$$version/bin/python -m pip install -qq --disable-pip-version-check"; \
		$$pip --require-hashes -r requirements.txt && $$pip --no-deps --editable . || exit 1; \
	done
	$(BIN)/python -m pytest -q tests/simulation/test_pythons.py

# CI makes this environment beside what else it does.
$(LOWEST)/.installed: $(STAMP) scripts/lowest.py
	@$(PYTHON) -m venv --clear $(LOWEST)
	@$(BIN)/python scripts/lowest.py > $(LOWEST)/requirements.txt
	@$(LOWEST)/bin/python -m pip install -qq --disable-pip-version-check -r $(LOWEST)/requirements.txt
	@$(LOWEST)/bin/python -m pip install -qq --disable-pip-version-check pytest pytest-timeout pytest-asyncio pytest-xdist hypothesis
	@$(LOWEST)/bin/python -m pip install -qq --disable-pip-version-check --no-deps --editable .
	@touch $@

lowest: $(LOWEST)/.installed ## the core of the tests, with the lowest versions that pyproject.toml allows
	$(LOWEST)/bin/kinformer manager --help >/dev/null
	$(LOWEST)/bin/python -m pytest -q -p no:cacheprovider -n auto --dist worksteal \
		tests/cache tests/client tests/manager tests/meta tests/models tests/envtest/custom tests/expressions \
		tests/envtest/test_server.py tests/envtest/test_tls.py tests/fuzz \
		--ignore tests/manager/test_tracing.py  # needs OpenTelemetry's SDK, which wants its own version of the API

compat: $(STAMP) ## the test suites of other projects against the embedded server, in an environment of their own
	$(BIN)/python -m scripts.compat $(ARGS)

sbom: $(STAMP) ## a bill of materials of what `make` installs: dist/sbom.json
	@scripts/sbom

format: $(STAMP) ## put the code into the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove what was made
	rm -rf $(VENV) $(LOWEST) .venv-compat $(addprefix .venv-,$(OTHERS)) dist build docs/reference .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
