# Every target sets itself up: a fresh clone needs git, make, Python 3.11 or later and Rust.

.PHONY: setup demo test bench digests kernel lint docs validate clean
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
LOG := $(VENV)/setup.log
PIP = $(BIN)/python -m pip install --disable-pip-version-check
DEVELOP = VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release --locked --extras dev
# The first Python that is recent enough; PYTHON=... chooses another.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
SOURCES := Cargo.toml Cargo.lock rust-toolchain.toml pyproject.toml \
	$(shell find crates -name '*.rs' -not -path '*/benches/*' -not -path '*/tests/*' -o -name Cargo.toml)
# Says what is being done and, in the end, how long it took; the command's output goes to the log, whose end is shown if it fails.
stage = printf '%s ... ' "$(1)" >&2; began=$$(date +%s); \
	{ $(2); } >>$(LOG) 2>&1 || { echo >&2; tail -n 30 $(LOG) >&2; echo "failed: the whole output is in $(LOG)" >&2; exit 1; }; \
	echo "$$(($$(date +%s) - began)) s" >&2

setup: $(VENV)/.installed

$(VENV)/.created:
	@test -n "$(PYTHON)" || { echo "expected Python 3.11 or later (make PYTHON=...)" >&2; exit 3; }
	@command -v cargo >/dev/null || { echo "expected Rust (cargo); see https://rustup.rs" >&2; exit 3; }
	@mkdir -p $(VENV)
	@$(call stage,setting up $(VENV) (1 of 2),$(PYTHON) -m venv $(VENV) && $(PIP) "maturin>=1.9$(comma)<2")
	@touch $@

$(VENV)/.installed: $(VENV)/.created $(SOURCES)
	@$(call stage,building the simulator$(comma) installing its libraries (2 of 2),$(DEVELOP))
	@touch $@

$(VENV)/.docs: $(VENV)/.installed
	@$(call stage,installing pdoc,$(PIP) "pdoc>=15")
	@touch $@

# The one-flow study of the SCE draft: 320 runs of 300 s, tables and figures.
demo: setup
	@$(BIN)/dumbbell reproduce sce --part one-flow --out results/demo

# The tests of one file stay together, since they share what is slow to make.
test: setup
	@cargo test -q --locked -p dumbbell-sim -p dumbbell-trace
	@$(BIN)/python -m pytest -n auto --maxprocesses=8 --dist=loadfile

# What runs cost: CPU time, memory, ns-3 beside it (NS3_ROOT=... takes an installation of your own), instructions. Fails where a
# benchmark takes 5 % more instructions than recorded.
bench: setup
	@$(BIN)/dumbbell bench
	@$(BIN)/python -m benchmarks.memory
	@$(BIN)/python -m benchmarks.side_by_side
	@cargo bench -q --locked -p dumbbell-sim -p dumbbell-trace
	@$(BIN)/python -m benchmarks.instructions

# Shows that a change of the simulator changed no result: every packet event of some 1,800 runs, hashed and compared with those recorded.
digests: setup
	@$(BIN)/python -m benchmarks.digests

# The kernel that the engine `kernel` boots, into the user's cache: a few minutes the first time.
kernel: setup
	@$(BIN)/dumbbell kernel build

lint: setup
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@cargo fmt --all --check
	@cargo clippy -q --locked --workspace --all-targets -- -D warnings
	@if cargo deny --version >/dev/null 2>&1; then cargo deny --locked check; else $(BIN)/python .ci/licences.py; fi

# Agreement with the published numbers and with the kernel; fails below the bars. Then attacks on stored runs, from a fresh seed.
validate: setup
	@$(BIN)/dumbbell reproduce oracle --out results/validate/oracle --check
	@$(BIN)/dumbbell reproduce sce --part one-flow --out results/validate/sce --check
	@$(BIN)/dumbbell reproduce sce --part two-flow --out results/validate/sce-two-flow --check
	@seed=$$(date +%s); echo "attacks on stored runs: --seed $$seed"; \
		$(BIN)/python -m pytest tests/attack/test_flips.py tests/attack/test_kills.py --seed $$seed --flips 3000 --kills 200

docs: $(VENV)/.docs
	@cargo doc -q --locked --no-deps -p dumbbell-sim -p dumbbell-trace
	@$(BIN)/python -c 'from dumbbell import *; import pathlib, pdoc; pdoc.pdoc("dumbbell", output_directory=pathlib.Path("target/doc/python"))'
	@echo "the reference is in target/doc: dumbbell_sim/index.html, python/dumbbell.html"

clean:
	@rm -rf $(VENV) target dumbbell/_native*.so

comma := ,
