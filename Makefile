# The door to everything. `make` alone lists what there is.
#
# Only rustup and a C compiler have to be there before: every target that compiles brings the Rust
# toolchain of rust-toolchain.toml by itself (`make prerequisites`).

.DEFAULT_GOAL := help
SHELL := /bin/bash
export CARGO_TARGET_DIR := $(CURDIR)/target
# Most facts wait for a host or a cluster: more of them at once than there are processors.
export RUST_TEST_THREADS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 2)

.PHONY: help demo demo-plugin bench-readers build everyday-build test lint format format-check prerequisites

help:
	@echo "make demo         a live cluster on your screen, and a plugin to change while it runs"
	@echo "make demo-plugin  rebuilds the demo's plugin and drops it into the running demo"
	@echo "make recording    examples/demo/demo.svg, the picture in README: a recording of the demo (pip fetches pyte)"
	@echo "make test         the tests, but for the longest; they need nothing but rustup and a C compiler"
	@echo "make build        target/release/informant, optimised"
	@echo "make plugins      target/plugins/*.wasm, the shipped plugins"
	@echo "make test-guests  target/test-guests/*.wasm, plugins that misbehave on purpose"
	@echo "make e2e          the same behaviour against a real Kubernetes API server (needs Go)"
	@echo "make bench        the host beside client-go and kube-rs: writes BENCHMARKS.md (takes a while, and a quiet machine)"
	@echo "make bench-quick  the same with tiny sizes: shows that it works"
	@echo "make bench-parts  the parts by themselves: decoding, packing, store, indexes, queues, calls: writes host/bench/PARTS.md"
	@echo "make bench-languages  a plugin in each language: file, load, events, memory: writes host/bench/LANGUAGES.md"
	@echo "make bench-watchers  many watchers at the host's Kubernetes API: latency and cost of each change"
	@echo "make bench-readers  the cache's readers, at rest and during a relist of 160,000 objects"
	@echo "make image        the container image"
	@echo "make sim          the informers in a seeded simulation: SEED=n replays one, SEEDS=m runs m from there"
	@echo "make soak         new seeds for MINUTES=m"
	@echo "make soak-plugins  good plugins beside every misbehaving one for SOAK_MINUTES=10"
	@echo "make storm        a plugin replaced 200 times under 2,000 changes a second: SEED=n replays one"
	@echo "make election     the leader of two hosts fails 50 times while a plugin writes: SEED=n replays one"
	@echo "make attacks      known attacks one at a time, with times compared: where nothing else runs"
	@echo "make siege        generated files, requests, state and recordings thrown at a host for SIEGE_MINUTES=10: SEED=n, ONLY=files,requests"
	@echo "make openapi      a validator and a fuzzer try /openapi.json of a host: EXAMPLES=100, SEED=n (pip fetches both)"
	@echo "make slow-tests   the tests that take longest, which make test leaves out"
	@echo "make behaviour    the behaviour suite alone, against the embedded cluster"
	@echo "make browser      every page of the dashboard in Chromium (needs Node.js; npm and Debian fetch)"
	@echo "make picture      host/docs/dashboard.png, the picture in README (needs the same)"
	@echo "make fuzz         all decoders of bytes from outside, each for SECONDS=10"
	@echo "make c-plugins    target/plugins/hello-c.wasm (needs clang or Zig)"
	@echo "make golden-plugins  one plugin of each language for a new version of the contract: VERSION=n"
	@echo "make sdk          the SDKs for other languages than Rust, their templates and what a host makes of them"
	@echo "make package      the library and the Rust SDK packed for crates.io; the README's controller is built from that and runs"
	@echo "make projects     tests of plugin projects in every language, by the READMEs' own commands (npm and pip fetch)"
	@echo "make book         target/book/html: the guides as a book (the first time compiles mdBook)"
	@echo "make prose        checks the words and sentences of README, the book and --help"
	@echo "make lint         formatting, clippy, the library's docs, dependency policy"

include examples/demo/demo.mk
include plugins/plugins.mk
include host/e2e/e2e.mk
include host/e2e/browser/browser.mk
include host/simulation/simulation.mk
include host/fuzz/fuzz.mk
include host/bench/bench.mk
include plugin-sdk/sdk.mk
include host/docs/docs.mk

# Every target that compiles depends on this one. Where everything is there it takes a moment; what
# rustup can bring it fetches before anything is compiled, whatever RUSTUP_AUTO_INSTALL says.
prerequisites:
	@command -v cc >/dev/null || { \
	  echo "a C compiler is missing; on Debian and Ubuntu: sudo apt-get install build-essential" >&2; exit 1; }
	@command -v cargo >/dev/null || { \
	  echo "cargo is missing: install rustup with" >&2; \
	  echo "  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh" >&2; exit 1; }
	@$(HAVE_TOOLCHAIN) || { \
	  command -v rustup >/dev/null || { \
	    echo "the Rust toolchain lacks rustfmt, clippy or the target wasm32-unknown-unknown, and there is no rustup to bring them:" >&2; \
	    echo "  install rustup (https://rustup.rs), or these three by the way that Rust was installed" >&2; exit 1; }; \
	  echo "fetching the Rust toolchain that rust-toolchain.toml names"; \
	  if RUSTUP_AUTO_INSTALL=0 rustc --version >/dev/null 2>&1; then \
	    rustup component add $(RUST_COMPONENTS) && rustup target add $(WASM_TARGET); \
	  else \
	    rustup toolchain install --no-self-update; \
	  fi && $(HAVE_TOOLCHAIN) || { \
	    echo "rustup could not bring the toolchain: see above; it needs https://static.rust-lang.org" >&2; \
	    echo "  and rustup 1.28 or newer (rustup self update)" >&2; exit 1; }; }

RUST_COMPONENTS := rustfmt clippy
# Without the automatic download, which would say nothing here.
HAVE_TOOLCHAIN = { export RUSTUP_AUTO_INSTALL=0; sysroot="$$(rustc --print sysroot 2>/dev/null)" && test -d "$$sysroot/lib/rustlib/$(WASM_TARGET)" \
	  && cargo fmt --version && cargo clippy --version; } >/dev/null 2>&1

demo: prerequisites
	@examples/demo/demo.sh

# Rebuilds the demo's plugin and drops it into the running demo.
demo-plugin: prerequisites
	@examples/demo/plugin.sh

# How long readers of the cache take at rest and while all of it is listed again. Wants a quiet machine.
bench-readers: prerequisites
	cargo bench -p informant-cache --bench readers

# What people run, by itself: a build of the whole workspace has the features that others ask for.
build: prerequisites
	cargo build --release -p informant --features jemalloc

# target/debug/informant. Everything that is not optimised is built with the features of the whole
# workspace, so that no dependency is compiled twice: `--workspace`, and then one of its targets.
everyday-build: prerequisites
	cargo build --workspace --bin informant

format: prerequisites
	cargo fmt --all

format-check: prerequisites
	cargo fmt --all --check

lint: format-check deny
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links -A rustdoc::redundant-explicit-links" \
	  cargo doc --workspace --no-deps --lib

# These build the host, too.
test e2e-host sdk browser picture: WITH_WAT2PLUGIN := --bin informant

# The plugins come first: the tests load them.
test: plugins test-guests everyday-build
	cargo test --workspace --exclude test-guests
