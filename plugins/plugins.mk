# Plugins and test guests: source in, `.wasm` out. Included by the Makefile at the top, and run from there.
#
#   make plugins       target/plugins/<name>.wasm, with the <name>.yaml that it is shipped with, of all kinds:
#   make rust-plugins    those in Rust, all that the demo needs
#   make wat-plugins     those in WebAssembly text, whose assembler takes longer to build than they do
#   make go-plugins      those in Go, js-plugins those in JavaScript, python-plugins those in Python: each says what it needs, and is
#                        skipped where that is not there
#   make test-guests   target/test-guests/<sin>.wasm
#   make c-plugins     target/plugins-c/<name>.wasm, with clang or Zig; says so where neither is there
#
# Nothing is needed but cargo, and for the last three what plugin-sdk/sdk.mk says. Every output is written beside its place and renamed, and left alone where
# it would not change: a running host that watches the directory reloads exactly what is new.

WASM_TARGET     := wasm32-unknown-unknown
WASM_BUILT      := target/$(WASM_TARGET)/plugin
PLUGINS_OUT     := target/plugins
TEST_GUESTS_OUT := target/test-guests

# Rust plugins are crates, WAT plugins a file each; a test guest is an example, a text or plain bytes.
RUST_PLUGINS    := event-printer counter bandwidth hello default-deny
WAT_PLUGINS     := hello-wat
RUST_GUESTS     := $(basename $(notdir $(wildcard plugins/test-guests/examples/*.rs)))
WAT_GUESTS      := $(basename $(notdir $(wildcard plugins/test-guests/wat/*.wat)))
PLAIN_GUESTS    := $(basename $(notdir $(wildcard plugins/test-guests/*.txt)))

CARGO           ?= cargo
WAT2PLUGIN      := target/debug/wat2plugin

# $(call put,built file,place): the file at its place, complete or not at all, untouched if it is the same.
define put
cmp -s $(1) $(2) || { cp $(1) $(dir $(2)).$(notdir $(2)).tmp && mv -f $(dir $(2)).$(notdir $(2)).tmp $(2) && echo "  wrote $(2)"; }
endef

# $(call assemble,text,place): the same for WebAssembly text.
define assemble
$(WAT2PLUGIN) $(1) target/.$(notdir $(2)) && { $(call put,target/.$(notdir $(2)),$(2)); }
endef

# $(call put_configurations,names): beside each of these plugins that is built, the configuration that it is shipped with.
define put_configurations
for name in $(1); do for file in plugins/$$name/$$name.yaml examples/$$name/$$name.yaml; do \
  [ ! -e $$file ] || [ ! -e $(PLUGINS_OUT)/$$name.wasm ] || { $(call put,$$file,$(PLUGINS_OUT)/$$name.yaml); } || exit 1; done; done
endef

# $(call cargo_name,name): what cargo makes of a name in a file name.
cargo_name = $(subst -,_,$(1))

# Go plugins are modules; JavaScript and Python ones a folder each.
GO_PLUGINS      := node-watcher config-reloader
JS_PLUGINS      := restart-alert
PYTHON_PLUGINS  := orphan-finder

# C plugins: a file each, and what compiles C to wasm32.
C_PLUGINS       := hello-c
C_SOURCES       := plugins
C_PLUGINS_OUT   := target/plugins-c
C_FLAGS         := -O2 -g0 -std=c11 -Wall -Wextra -Werror -nostdlib -Iplugin-sdk/c -Wl,--no-entry -Wl,-z,stack-size=65536
PYTHON          ?= python3

.PHONY: plugins rust-plugins wat-plugins go-plugins js-plugins python-plugins test-guests c-plugins wat2plugin

plugins: rust-plugins wat-plugins go-plugins js-plugins python-plugins
	@echo "plugins are in $(PLUGINS_OUT)"

rust-plugins: prerequisites
	@echo "building plugins in Rust: $(RUST_PLUGINS)"
	+@CARGO_TARGET_DIR=target $(CARGO) build --profile plugin --target $(WASM_TARGET) $(RUST_PLUGINS:%=-p %)
	@mkdir -p $(PLUGINS_OUT)
	@set -e; $(foreach p,$(RUST_PLUGINS),$(call put,$(WASM_BUILT)/$(call cargo_name,$(p)).wasm,$(PLUGINS_OUT)/$(p).wasm);)
	@$(call put_configurations,$(RUST_PLUGINS))

wat-plugins: wat2plugin
	@echo "building plugins in WebAssembly text: $(WAT_PLUGINS)"
	@mkdir -p $(PLUGINS_OUT)
	@set -e; $(foreach p,$(WAT_PLUGINS),$(call assemble,plugins/$(p)/$(p).wat,$(PLUGINS_OUT)/$(p).wasm);)

go-plugins: go-sdk
	@mkdir -p $(PLUGINS_OUT); [ ! -e $(GO_SDK_READY) ] || { set -e; echo "building plugins in Go: $(GO_PLUGINS)"; \
	  $(foreach p,$(GO_PLUGINS),(cd plugins/$(p) && $(GO_WASM) -o $(CURDIR)/target/.$(p).wasm .); $(call put,target/.$(p).wasm,$(PLUGINS_OUT)/$(p).wasm);) }
	@$(call put_configurations,$(GO_PLUGINS))

# What these two are made of is made anew with every build: they are built when their sources are newer.
js-plugins: $(JS_PLUGINS:%=$(PLUGINS_OUT)/%.wasm)
	@$(call put_configurations,$(JS_PLUGINS))
python-plugins: $(PYTHON_PLUGINS:%=$(PLUGINS_OUT)/%.wasm)
	@$(call put_configurations,$(PYTHON_PLUGINS))

# With the packages of the plugins, so that both have dependencies with the same features, which are compiled once.
test-guests: prerequisites wat2plugin
	@echo "building test guests: $(RUST_GUESTS) $(WAT_GUESTS) $(PLAIN_GUESTS)"
	+@CARGO_TARGET_DIR=target $(CARGO) build --profile plugin --target $(WASM_TARGET) $(RUST_PLUGINS:%=-p %) -p test-guests --examples
	@mkdir -p $(TEST_GUESTS_OUT)
	@set -e; $(foreach g,$(RUST_GUESTS),$(call put,$(WASM_BUILT)/examples/$(call cargo_name,$(g)).wasm,$(TEST_GUESTS_OUT)/$(g).wasm);)
	@set -e; $(foreach g,$(WAT_GUESTS),$(call assemble,plugins/test-guests/wat/$(g).wat,$(TEST_GUESTS_OUT)/$(g).wasm);)
	@set -e; $(foreach g,$(PLAIN_GUESTS),$(call put,plugins/test-guests/$(g).txt,$(TEST_GUESTS_OUT)/$(g).wasm);)
	@echo "test guests are in $(TEST_GUESTS_OUT)"

# A compiler counts if it can build and link anything: many a clang comes without the wasm backend or linker.
c-plugins:
	@mkdir -p $(C_PLUGINS_OUT)
	@set -e; \
	for cc in "$${WASM_CC:-clang --target=wasm32}" "$(SDK_ZIG) cc -target wasm32-freestanding" "$(PYTHON) -m ziglang cc -target wasm32-freestanding"; do \
	  if echo 'int probe;' | $$cc $(C_FLAGS) -x c - -o $(C_PLUGINS_OUT)/.probe.wasm >/dev/null 2>&1; then \
	    echo "building C plugins with $$cc: $(C_PLUGINS)"; \
	    for p in $(C_PLUGINS); do \
	      $$cc $(C_FLAGS) plugin-sdk/c/informant.c $(C_SOURCES)/$$p/$$p.c -o $(C_PLUGINS_OUT)/.$$p.wasm.tmp; \
	      mv -f $(C_PLUGINS_OUT)/.$$p.wasm.tmp $(C_PLUGINS_OUT)/$$p.wasm; \
	      echo "  wrote $(C_PLUGINS_OUT)/$$p.wasm"; \
	    done; \
	    exit 0; \
	  fi; \
	done; \
	echo "SKIPPED the C plugins: there is no clang for wasm32 with a linker, and no Zig; run: pip install ziglang==0.17.0"

# The assembler of WebAssembly text: ours, so that nothing needs installing. A target that needs the host, too, builds both at
# once ($(WITH_WAT2PLUGIN)): by itself the assembler has dependencies with fewer features, which would be compiled twice.
wat2plugin: prerequisites
	+@CARGO_TARGET_DIR=target $(CARGO) build $(or $(WITH_WAT2PLUGIN),--quiet) --workspace --bin wat2plugin

include plugins/golden/golden.mk
