# The end-to-end benchmark. Included by the root Makefile; every path is relative to the root.
#
#   make bench         builds the host and all contenders, measures them in turn and writes BENCHMARKS.md
#   make bench-quick   the same with tiny sizes: shows that everything runs, measures nothing, overwrites nothing
#   make bench-tools   only builds; then `target/release/informant-bench --help`
#   make bench-languages  what a plugin costs in each language: writes host/bench/LANGUAGES.md and its tables in plugin-sdk/README.md; npm and pip fetch, and a
#                      language without its tools is left out. bench-languages-quick shows that it works, measures nothing, overwrites nothing
#   make bench-watchers  200 watchers of 10,000 pods at the host's Kubernetes API: latency and cost of 500 changes a second
#   make bench-parts   what decoding, packing, the store, queues and calls cost by themselves: writes host/bench/PARTS.md
#
# Without Go there is no client-go to compare with: its rows are left out, and that is said.

BENCH_CLIENT_GO := host/bench/comparators/client-go
BENCH_KUBE_RS   := host/bench/comparators/kube-rs

.PHONY: bench bench-quick bench-watchers bench-parts bench-languages bench-languages-quick bench-tools bench-client-go bench-kube-rs bench-kube-rs-everyday bench-guest bench-lint

bench: bench-tools
	target/release/informant-bench --rounds 3 --patience 1200 --report . --json target/bench/results.json

bench-watchers: plugins build
	cargo build --release -p informant-bench
	target/release/bench-watchers

# What they print is kept, and the page is made of it.
bench-parts: prerequisites plugins
	@mkdir -p target/bench
	set -o pipefail; { cargo bench -p informant-cache --bench decode --bench parts \
	  && cargo bench -p informant-runtime --bench queue --bench call; } | tee target/bench/parts.txt
	cargo run --release -p informant-bench --bin informant-bench -- --parts target/bench/parts.txt --report .

# Projects are made below target/bench/languages, by the program itself.
bench-languages: prerequisites build
	cargo build --release -p informant-bench
	target/release/bench-languages --report .

# The same with tiny sizes and not optimised: measures nothing, overwrites nothing.
bench-languages-quick: everyday-build
	cargo build --workspace --bin bench-languages
	target/debug/bench-languages --quick --report target/bench/report

# Not optimised, with what the tests were built with: nothing is measured.
bench-quick: plugins c-plugins bench-client-go bench-kube-rs-everyday bench-guest
	cargo build --workspace --bins
	target/debug/informant-bench --quick --pods 300 --report target/bench/report

# The host by itself, as people get it: together they would be built with each other's features.
bench-tools: plugins c-plugins bench-client-go bench-kube-rs bench-guest build
	cargo build --release -p informant-bench

# A workspace of its own: see its Cargo.toml.
bench-kube-rs: prerequisites
	cargo build --release --locked --manifest-path $(BENCH_KUBE_RS)/Cargo.toml

# Not optimised, for sizes that are tiny, and for the behaviour suite.
bench-kube-rs-everyday: prerequisites
	cargo build --locked --manifest-path $(BENCH_KUBE_RS)/Cargo.toml

ifeq ($(GO),)
bench-client-go:
	@echo "SKIPPED: client-go as a contender needs Go 1.26 or newer, and there is no 'go' on PATH nor in /usr/local/go/bin." >&2
else
bench-client-go: target/bench/client-go
endif

# What cannot be fetched is skipped as if there were no Go: the modules come from a proxy.
target/bench/client-go: $(wildcard $(BENCH_CLIENT_GO)/*.go) $(BENCH_CLIENT_GO)/go.mod $(BENCH_CLIENT_GO)/go.sum
	@echo "building client-go's program"
	@mkdir -p target/bench
	@cd $(BENCH_CLIENT_GO) && CGO_ENABLED=0 $(GO) build -trimpath $(GO_WITHOUT_DEBUG) -ldflags '-s -w' -o $(CURDIR)/$@.partial . \
	  && mv $(CURDIR)/$@.partial $(CURDIR)/$@ \
	  || echo "SKIPPED: client-go as a contender could not be built; its rows are left out." >&2

bench-guest: prerequisites
	+@CARGO_TARGET_DIR=target $(CARGO) build --profile plugin --target $(WASM_TARGET) -p bench-stamp -p bench-subscriber
	@mkdir -p target/bench
	@$(call put,$(WASM_BUILT)/bench_stamp.wasm,target/bench/stamp.wasm)
	@$(call put,$(WASM_BUILT)/bench_subscriber.wasm,target/bench/subscriber.wasm)

bench-lint: prerequisites
	cargo fmt --manifest-path $(BENCH_KUBE_RS)/Cargo.toml --check
	cargo clippy --release --locked --manifest-path $(BENCH_KUBE_RS)/Cargo.toml -- -D warnings
