# Golden plugins: one of each language for a version of the contract, built once, when that version is released. Included by plugins/plugins.mk, and run
# from the repository's root.
#
#   make golden-plugins VERSION=0.2.0   plugins/golden/0.2.0, from plugins/golden/sources; needs Go, Node.js with npm, Python, clang or Zig, and zstd
#   make golden-zig                     target/golden/zig.wasm alone, to try a source; so for each language
#
# A set that is there is never built again: it stands for the files that people have.

GOLDEN          := plugins/golden
GOLDEN_BUILT    := target/golden
GOLDEN_SET      = $(GOLDEN)/$(VERSION)
GOLDEN_LANGUAGES := rust go js python c zig assemblyscript wat
GOLDEN_PACK     := zstd --ultra -22 --long=27 -q

.PHONY: golden-plugins golden-wanted golden-tools golden-built $(GOLDEN_LANGUAGES:%=golden-%)

golden-plugins: golden-built
	@set -e; staged=$(GOLDEN_BUILT)/set; rm -rf $$staged; cp -r $(GOLDEN)/sources/run $$staged; \
	for language in $(GOLDEN_LANGUAGES); do \
	  $(GOLDEN_PACK) $(GOLDEN_BUILT)/$$language.wasm -o $$staged/$$language.wasm.zst; \
	done; \
	chmod 644 $$staged/*.zst; mv $$staged $(GOLDEN_SET); du -h $(GOLDEN_SET)/*.zst; \
	echo "$(GOLDEN_SET) is new. Write what they do, look whether it is what they should do, and commit both:"; \
	echo "  cargo build -p informant && UPDATE_EXPECT=1 cargo test -p informant-e2e --test it host::golden -- --include-ignored && git diff"

# Everything that can be wrong is seen before anything is built.
golden-wanted:
	@test -n "$(VERSION)" || { echo "say which version: make golden-plugins VERSION=0.2.0" >&2; exit 1; }
	@grep -q '^package informant:plugin@$(VERSION);' plugin-sdk/wit/plugin.wit || { \
	  echo "the contract here is $$(sed -n 's/^package \(.*\);/\1/p' plugin-sdk/wit/plugin.wit), not $(VERSION)" >&2; exit 1; }
	@test ! -e $(GOLDEN_SET) || { echo "$(GOLDEN_SET) is there, and stays as it is: it stands for files that people have" >&2; exit 1; }
	@command -v zstd >/dev/null || { echo "zstd is missing; on Debian and Ubuntu: sudo apt-get install zstd" >&2; exit 1; }

# Everything is there before anything is built.
golden-tools: prerequisites wat2plugin go-sdk js-sdk python-sdk zig-sdk assemblyscript-sdk
	@for ready in $(GO_SDK_READY) $(JS_SDK_READY) $(PYTHON_SDK_READY) $(ZIG_SDK_READY) $(ASSEMBLYSCRIPT_SDK_READY); do \
	  test -e $$ready || { echo "a set has all languages: see above what is missing" >&2; exit 1; }; done

# The languages are named in a make of their own, so that what was built for another set is gone first.
golden-built: golden-wanted golden-tools
	@rm -rf $(GOLDEN_BUILT)
	+@$(MAKE) --no-print-directory $(GOLDEN_LANGUAGES:%=golden-%)

# Each by itself is skipped where its language is, as the SDKs' tests are.
golden-rust: prerequisites
	@mkdir -p $(GOLDEN_BUILT)
	CARGO_TARGET_DIR=target $(CARGO) build --profile plugin --target $(WASM_TARGET) -p golden
	cp $(WASM_BUILT)/golden.wasm $(GOLDEN_BUILT)/rust.wasm

golden-go: go-sdk
	@[ ! -e $(GO_SDK_READY) ] || { set -ex; mkdir -p $(GOLDEN_BUILT); \
	  cd $(GOLDEN)/sources/go; $(GO_WASM) -o $(CURDIR)/$(GOLDEN_BUILT)/go.wasm .; }

golden-js: js-sdk
	@[ ! -e $(JS_SDK_READY) ] || { set -ex; mkdir -p $(GOLDEN_BUILT) $(SDK_NODE)/plugins/golden; \
	  cp $(GOLDEN)/sources/js/plugin.js $(SDK_NODE)/plugins/golden/; \
	  node $(SDK_NODE)/js/build.js $(SDK_NODE)/plugins/golden/plugin.js $(GOLDEN_BUILT)/js.wasm; }

golden-python: python-sdk
	@[ ! -e $(PYTHON_SDK_READY) ] || { set -ex; mkdir -p $(GOLDEN_BUILT); cd $(GOLDEN)/sources/python; \
	  $(PYTHON_PLUGIN) $(CURDIR)/$(GOLDEN_BUILT)/python.wasm; }

golden-c: zig-sdk
	@$(find_c_compiler); set -ex; mkdir -p $(GOLDEN_BUILT); \
	$$cc $(C_FLAGS) plugin-sdk/c/informant.c $(GOLDEN)/sources/c/golden.c -o $(GOLDEN_BUILT)/c.wasm

golden-zig: zig-sdk
	@[ ! -e $(ZIG_SDK_READY) ] || { set -ex; mkdir -p $(GOLDEN_BUILT); $(call zig_folder,golden,$(GOLDEN)/sources/zig/golden.zig); \
	  cd $(SDK_OUT)/zig/golden; $(ZIG_WASM) golden.zig -femit-bin=$(CURDIR)/$(GOLDEN_BUILT)/zig.wasm; }

golden-assemblyscript: assemblyscript-sdk
	@[ ! -e $(ASSEMBLYSCRIPT_SDK_READY) ] || { set -ex; rm -rf $(SDK_NODE)/plugins/golden-assemblyscript; mkdir -p $(GOLDEN_BUILT) $(SDK_NODE)/plugins; \
	  cp -r $(GOLDEN)/sources/assemblyscript $(SDK_NODE)/plugins/golden-assemblyscript; cd $(SDK_NODE)/plugins/golden-assemblyscript; \
	  node $(SDK_NODE)/assemblyscript/build.js assembly/index.ts $(CURDIR)/$(GOLDEN_BUILT)/assemblyscript.wasm; }

golden-wat: wat2plugin
	@mkdir -p $(GOLDEN_BUILT)
	$(WAT2PLUGIN) $(GOLDEN)/sources/wat/golden.wat $(GOLDEN_BUILT)/wat.wasm
