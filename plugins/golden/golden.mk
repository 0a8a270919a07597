# Golden plugins: one of each language for a version of the contract, built once, when that version is released. Included by plugins/plugins.mk, and run
# from the repository's root.
#
#   make golden-plugins VERSION=0.2.0   plugins/golden/0.2.0, from plugins/golden/sources; needs Go, Node.js, Python, clang or Zig, and zstd
#
# A set that is there is never built again: it stands for the files that people have.

GOLDEN          := plugins/golden
GOLDEN_BUILT    := target/golden
GOLDEN_SET      = $(GOLDEN)/$(VERSION)
GOLDEN_LANGUAGES := rust go js python c wat
GOLDEN_PACK     := zstd --ultra -22 --long=27 -q

.PHONY: golden-plugins golden-wanted golden-built

golden-plugins: golden-built
	@set -e; staged=$(GOLDEN_BUILT)/set; rm -rf $$staged; cp -r $(GOLDEN)/sources/run $$staged; \
	for language in $(GOLDEN_LANGUAGES); do \
	  $(GOLDEN_PACK) $(GOLDEN_BUILT)/$$language.wasm -o $$staged/$$language.wasm.zst; \
	done; \
	chmod 644 $$staged/*.zst; mv $$staged $(GOLDEN_SET); du -h $(GOLDEN_SET)/*.zst; \
	echo "$(GOLDEN_SET) is new. Write what they do, look whether it is what they should do, and commit both:"; \
	echo "  cargo build -p informant && UPDATE_EXPECT=1 cargo test -p informant-e2e --test it host::golden && git diff"

# Everything that can be wrong is seen before anything is built.
golden-wanted:
	@test -n "$(VERSION)" || { echo "say which version: make golden-plugins VERSION=0.2.0" >&2; exit 1; }
	@grep -q '^package informant:plugin@$(VERSION);' plugin-sdk/wit/plugin.wit || { \
	  echo "the contract here is $$(sed -n 's/^package \(.*\);/\1/p' plugin-sdk/wit/plugin.wit), not $(VERSION)" >&2; exit 1; }
	@test ! -e $(GOLDEN_SET) || { echo "$(GOLDEN_SET) is there, and stays as it is: it stands for files that people have" >&2; exit 1; }
	@command -v zstd >/dev/null || { echo "zstd is missing; on Debian and Ubuntu: sudo apt-get install zstd" >&2; exit 1; }

golden-built: golden-wanted wasm-target wat2plugin go-sdk js-sdk python-sdk
	@for ready in $(GO_SDK_READY) $(JS_SDK_READY) $(PYTHON_SDK_READY); do \
	  test -e $$ready || { echo "a set has all languages: see above what is missing" >&2; exit 1; }; done
	@rm -rf $(GOLDEN_BUILT); mkdir -p $(GOLDEN_BUILT)/c/golden $(SDK_NODE)/plugins/golden
	CARGO_TARGET_DIR=target $(CARGO) build --profile plugin --target $(WASM_TARGET) -p golden
	cp $(WASM_BUILT)/golden.wasm $(GOLDEN_BUILT)/rust.wasm
	cd $(GOLDEN)/sources/go && $(GO_WASM) -o $(CURDIR)/$(GOLDEN_BUILT)/go.wasm .
	cp $(GOLDEN)/sources/js/plugin.js $(SDK_NODE)/plugins/golden/
	node $(SDK_NODE)/js/build.js $(SDK_NODE)/plugins/golden/plugin.js $(GOLDEN_BUILT)/js.wasm full
	cd $(GOLDEN)/sources/python && PYTHONDONTWRITEBYTECODE=1 $(SDK_COMPONENTIZE) -w full componentize -p . -p $(CURDIR)/plugin-sdk/python app \
	  -o $(CURDIR)/$(GOLDEN_BUILT)/python.wasm
	cp $(GOLDEN)/sources/c/golden.c $(GOLDEN_BUILT)/c/golden/
	$(MAKE) --no-print-directory c-plugins C_PLUGINS=golden C_SOURCES=$(GOLDEN_BUILT)/c C_PLUGINS_OUT=$(GOLDEN_BUILT)/c
	mv $(GOLDEN_BUILT)/c/golden.wasm $(GOLDEN_BUILT)/c.wasm
	$(WAT2PLUGIN) $(GOLDEN)/sources/wat/golden.wat $(GOLDEN_BUILT)/wat.wasm
