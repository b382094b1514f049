# Every target sets itself up: a fresh clone needs git, make, Python 3.11 or later and Rust.

.PHONY: setup demo test bench digests kernel lint minimum-rust site validate fuzz wheel wheels clean
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
LOG := $(VENV)/setup.log
PIP = $(BIN)/python -m pip install --disable-pip-version-check
DEVELOP = VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release --locked --extras dev
# The first Python that is recent enough; PYTHON=... chooses another.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
# For one triple. maturin looks for zig among the programs of the environment that it is called in.
RELEASE = PATH="$(abspath $(BIN)):$$PATH" VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin build --release --locked --zig \
	--compatibility manylinux_2_17 --out dist --target $(1)
SOURCES := Cargo.toml Cargo.lock rust-toolchain.toml pyproject.toml \
	$(shell find crates -name '*.rs' -not -path 'crates/fuzz/*' -not -path '*/benches/*' -not -path '*/tests/*' -o -name Cargo.toml)
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

# What the extra `site` asks for, without installing dumbbell itself once more.
SITE_NEEDS = $(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["site"], sep="\n")'
$(VENV)/.site: $(VENV)/.installed
	@$(call stage,installing what builds the documentation,$(SITE_NEEDS) >$(VENV)/site.txt && $(PIP) -r $(VENV)/site.txt)
	@touch $@

$(VENV)/.zig: $(VENV)/.created
	@$(call stage,installing zig,$(PIP) "ziglang>=0.15")
	@touch $@

# The one-flow study of the SCE draft: 320 runs of 300 s, tables and figures.
demo: setup
	@$(BIN)/dumbbell reproduce sce --part one-flow --out results/demo

# Rust's tests check overflows and debug assertions (profile `test`). The tests of one Python file stay together, since they share what is
# slow to make. Whatever tests draw follows from recorded seeds (.cargo/config.toml, tests/conftest.py), so that what passed once passes
# again; `make validate` draws anew.
test: setup
	@cargo test -q --locked -p dumbbell-sim -p dumbbell-foreign -p dumbbell-trace -p dumbbell-ends -p dumbbell-fuzz -p dumbbell-code-hash
	@$(BIN)/python -m pytest -n auto --maxprocesses=8 --dist=loadfile

# What runs cost: CPU time, memory, ns-3 beside it (NS3_ROOT=... takes an installation of your own), instructions. Fails where a
# benchmark takes 5 % more instructions than recorded.
bench: setup
	@$(BIN)/dumbbell bench
	@$(BIN)/python -m benchmarks.memory
	@$(BIN)/python -m benchmarks.captures
	@$(BIN)/python -m benchmarks.explorer
	@$(BIN)/python -m benchmarks.plots
	@$(BIN)/python -m benchmarks.side_by_side
	@cargo bench -q --locked -p dumbbell-sim -p dumbbell-trace
	@$(BIN)/python -m benchmarks.instructions

# Shows that a change of the simulator changed no result: every packet event of some 1,800 runs, hashed and compared with those recorded.
digests: setup
	@$(BIN)/python -m benchmarks.digests

# This machine's wheel, alone in dist/, for Linux with glibc 2.17 (of 2012) or later: zig links it for that.
wheel: $(VENV)/.zig
	@rm -rf dist
	@$(call stage,building the wheel,$(call RELEASE,$(shell rustc -vV | sed -n 's/^host: //p')))
	@ls dist/*

# The wheels of both machines, and the sources. That of the other machine is linked here, and nothing of it is tried.
wheels: $(VENV)/.zig
	@rm -rf dist
	@for triple in x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu; do \
		if command -v rustup >/dev/null; then rustup -q target add $$triple; fi; \
		$(call stage,building the wheel for $$triple,$(call RELEASE,$$triple)); done
	@$(call stage,packing the sources,$(BIN)/maturin sdist --out dist)
	@ls dist/*

# The kernel that the engine `kernel` boots, into the user's cache: a few minutes the first time.
kernel: setup
	@$(BIN)/dumbbell kernel build

lint: setup
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@cargo fmt --all --check
	@cargo fmt --check --manifest-path fuzz/Cargo.toml
	@cargo clippy -q --locked --workspace --all-targets -- -D warnings
	@if cargo deny --version >/dev/null 2>&1; then \
		cargo deny --locked check && cargo deny --locked --manifest-path fuzz/Cargo.toml check --config deny.toml; \
	else $(BIN)/python .ci/licences.py; fi
	@$(BIN)/python .ci/wording.py
	@$(BIN)/python .ci/prose.py
	@$(BIN)/python .ci/messages.py

# Builds with the oldest Rust that Cargo.toml names (`rust-version`), which rustup fetches.
MINIMUM_RUST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
minimum-rust:
	@rustup toolchain install $(MINIMUM_RUST) --profile minimal --no-self-update
	@cargo +$(MINIMUM_RUST) check --locked --workspace --target-dir target/minimum

# The seed of everything that `validate` draws: SEED=... repeats what an earlier call drew.
SEED := $(or $(SEED),$(shell date +%s))

# The native module with checks (profile `checked`), in a folder of its own, which no other build throws away.
CHECKED := target/validate/checked/lib_native.so
.PHONY: $(CHECKED)
$(CHECKED):
	@cargo build -q --locked --profile checked -p dumbbell-bindings --target-dir target/validate

# Agreement with the published numbers and with the kernel; fails below the bars. Then, from a fresh seed (SEED): the property tests of Rust
# (ten times) and of Python, tests by the clock, random scenarios in a simulator that is built with checks, one end compared with the kernel's,
# attacks on stored runs and on what comes from others, and what tcptrace says of captures. Then, in a laboratory, kills in the middle of
# runs over machines, and such runs beside those of the kernel.
# Last, what `make wheels` leaves: tags, symbols, the sources built by cargo alone, a kernel built from a package that cannot be written to.
validate: setup $(CHECKED)
	@$(BIN)/dumbbell reproduce oracle --out results/validate/oracle --check
	@$(BIN)/dumbbell reproduce sce --part one-flow --out results/validate/sce --check
	@$(BIN)/dumbbell reproduce sce --part two-flow --out results/validate/sce-two-flow --check
	@cargo test -q --locked -p dumbbell-sim --test measured -- --ignored --nocapture
	@for i in 0 1 2 3 4 5 6 7 8 9; do echo "property tests of Rust: PROPTEST_RNG_SEED=$$(($(SEED) + i))"; \
		PROPTEST_RNG_SEED=$$(($(SEED) + i)) cargo test -q --locked -p dumbbell-sim -p dumbbell-trace || { \
		echo "keep the case: commit what is new in crates/*/proptest-regressions/, or write a test with the input above" >&2; exit 1; }; done
	@echo "property tests, and those by the clock: --seed $(SEED)"; \
		$(BIN)/python -m pytest -m "hypothesis or clock" --seed $(SEED) --examples 200 --kills 200 || { \
		echo "keep the case: as @example(...) of its test, or in a test of its own" >&2; exit 1; }
	@echo "random scenarios: --seed $(SEED)"; \
		$(BIN)/python tests/attack/random_scenarios.py --native $(CHECKED) --seed $(SEED) --count 2000
	@echo "one end compared with the kernel's, packet by packet: --seed $(SEED)"; \
		$(BIN)/dumbbell agree ends --kind send --cc cubic --seed $(SEED) --count 4000 --show 0 --check && \
		$(BIN)/dumbbell agree ends --kind receive --seed $(SEED) --count 3000 --show 0 --check && \
		$(BIN)/dumbbell agree ends --kind both --cc cubic --seed $(SEED) --count 3000 --show 0 --check
	@echo "attacks on stored runs: --seed $(SEED)"; $(BIN)/python -m pytest tests/attack/test_flips.py --seed $(SEED) --flips 3000
	@echo "hostile folders, damaged files, requests: --seed $(SEED)"; $(BIN)/python -m pytest --seed $(SEED) \
		--folders 500 --flips 500 tests/attack/test_hostile_folders.py tests/exchange/test_damaged_files.py tests/explorer/test_server.py
	@echo "kills of workers and of what has the store: --seed $(SEED)"; $(BIN)/python tests/kill_cluster.py --seed $(SEED)
	@if command -v tcptrace >/dev/null; then echo "captures beside tcptrace: --seed $(SEED)"; \
		$(BIN)/python tests/compare_tcptrace.py --seed $(SEED) --count 30; \
	else echo "tcptrace is not installed: captures are not compared with it"; fi
	@echo "kills in the middle of runs over machines: --seed $(SEED)"; \
		$(BIN)/dumbbell testbed lab -- $(BIN)/python tests/kill_testbed.py --seed $(SEED) --count 100
	@echo "tables of studies that another simulator computed"; $(BIN)/python -m docs.generate --stale
	@echo "runs over machines: bounds"; $(BIN)/dumbbell testbed lab -- $(BIN)/python tests/bounds_testbed.py
	@echo "runs over machines beside those of the kernel: --seed $(SEED)"; \
		$(BIN)/dumbbell testbed lab -- $(BIN)/python tests/compare_testbed.py --seed $(SEED) --out "$$(mktemp -d)"
	@$(MAKE) wheels && $(BIN)/python tests/check_release.py dist

# The targets of crates/fuzz under libFuzzer for FUZZ_SECONDS each, all at once, from the corpus and with what earlier calls found
# (fuzz/found). What fails is kept as fuzz/*.failed. The flags are those of `cargo fuzz --sanitizer none`: they need no nightly.
FUZZ_SECONDS ?= 3600
FUZZ_TARGETS := capture plan receiver
FUZZ_TRIPLE := $(shell rustc -vV | sed -n 's/^host: //p')
fuzz:
	@command -v c++ >/dev/null || { echo "expected a C++ compiler (c++): libFuzzer is written in it" >&2; exit 3; }
	@RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module $(foreach option,level=4 inline-8bit-counters pc-table trace-compares,\
		-Cllvm-args=-sanitizer-coverage-$(option))" cargo build -q --locked --release --manifest-path fuzz/Cargo.toml --target $(FUZZ_TRIPLE)
	@mkdir -p $(FUZZ_TARGETS:%=fuzz/found/%)
	@failed=; for name in $(FUZZ_TARGETS); do FUZZ_TARGET=$$name fuzz/target/$(FUZZ_TRIPLE)/release/fuzz fuzz/found/$$name fuzz/corpus/$$name \
		-max_total_time=$(FUZZ_SECONDS) -timeout=20 -rss_limit_mb=2048 -max_len=65536 -exact_artifact_path=fuzz/$$name.failed \
		>fuzz/$$name.log 2>&1 & eval "$$name=$$!"; done; \
	for name in $(FUZZ_TARGETS); do eval "wait \$$$$name" || failed="$$failed $$name"; tail -n 3 fuzz/$$name.log; done; \
	test -z "$$failed" || { echo "failed:$$failed; see fuzz/*.log" >&2; exit 1; }

# The documentation, read as files from site/index.html or from any server: pages of docs/, notebooks with their results, the references of
# Python and Rust, and the explorers of the studies, of their quick sets where results/ has no more (three minutes the first time).
site: $(VENV)/.site
	@rm -rf target/doc
	@cargo doc -q --locked --no-deps -p dumbbell-sim -p dumbbell-foreign
	@$(BIN)/python docs/staging.py --notebooks --rust target/doc --explorers
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "the documentation is in site/index.html"

clean:
	@rm -rf $(VENV) target dist fuzz/target site dumbbell/_native*.so

comma := ,
