# The SDKs: tests without WebAssembly, the templates as plugins, and the host's facts about those; the shipped
# plugins in these languages are tested beside them. Included by the root Makefile; every path is relative to the root.
#
#   make sdk          all of them
#   make sdk-rust     needs nothing more, and does WebAssembly text as well
#   make sdk-go       needs Go 1.24 or newer
#   make sdk-js       needs Node.js and npm, which fetches componentize-qjs
#   make sdk-typescript  needs Node.js and npm, which fetches componentize-qjs and typescript
#   make sdk-python   needs Python 3.10 or newer and pip, which fetches componentize-py
#   make sdk-c        needs a C compiler, and clang with wasm-ld or what pip fetches: Zig
#   make sdk-zig      needs Zig 0.17, which pip fetches otherwise
#   make sdk-assemblyscript  needs Node.js and npm, which fetches AssemblyScript
#   make package      the crates for Rust programs and plugins, packed as cargo publishes them and built from that; the library's controller runs
#
# Each says what is missing, and is skipped then.

SDK_OUT := target/sdk

.PHONY: rust-bindings package sdk sdk-rust sdk-go sdk-js sdk-typescript sdk-python sdk-c sdk-zig sdk-assemblyscript go-sdk js-sdk typescript-sdk python-sdk zig-sdk assemblyscript-sdk

sdk: sdk-rust sdk-go sdk-js sdk-typescript sdk-python sdk-c sdk-zig sdk-assemblyscript

# $(call sdk_facts,language,plugins): runs a host with the plugins that were built, and the shipped plugins in that language offline.
# The behaviour suite runs the shipped plugins in a cluster.
define sdk_facts
INFORMANT_SDK=$(1) cargo test --workspace --test it -- host::sdk::$(1) $(subst -,_,$(2:%=host::shipped::offline::%))
endef

# $(call golden_source,language): what the next golden plugin is made of goes on doing what the one of today does.
define golden_source
mkdir -p $(GOLDEN_BUILT)/check-$(1); cp $(GOLDEN_BUILT)/$(1).wasm $(GOLDEN_BUILT)/check-$(1)/golden.wasm; \
target/debug/informant plugin test $(GOLDEN_BUILT)/check-$(1)/golden.wasm --objects $(GOLDEN)/sources/run/cluster --events $(GOLDEN)/sources/run/events.jsonl \
  --config $(GOLDEN)/sources/run/host.yaml --golden $(GOLDEN)/$(CONTRACT_VERSION)/$(if $(filter wat,$(1)),by-hand,everything).golden
endef
CONTRACT_VERSION = $(shell sed -n 's/^package informant:plugin@\(.*\);/\1/p' plugin-sdk/wit/plugin.wit)

# Whether there is what a language needs is seen once for each make, and left as a file that says so. What npm and pip fetch goes below target, and only there.
GO_SDK_READY := $(SDK_OUT)/go-is-ready
JS_SDK_READY := $(SDK_OUT)/js-is-ready
TYPESCRIPT_SDK_READY := $(SDK_OUT)/typescript-is-ready
PYTHON_SDK_READY := $(SDK_OUT)/python-is-ready
ZIG_SDK_READY := $(SDK_OUT)/zig-is-ready
ASSEMBLYSCRIPT_SDK_READY := $(SDK_OUT)/assemblyscript-is-ready

# The contract's bindings for Rust plugins, and those for WASI that the test guests use. They are
# committed: no plugin's build compiles the generator. A test says when the contract is newer.
WIT_BINDGEN_VERSION := 0.60.0
WIT_BINDGEN := $(SDK_OUT)/wit-bindgen-$(WIT_BINDGEN_VERSION)/bin/wit-bindgen
RUST_BINDINGS := plugin-sdk/rust/src/bindings
$(WIT_BINDGEN): | prerequisites
	cargo install --locked --root $(SDK_OUT)/wit-bindgen-$(WIT_BINDGEN_VERSION) wit-bindgen-cli@$(WIT_BINDGEN_VERSION)

rust-bindings: $(WIT_BINDGEN)
	@set -e; worlds=$(SDK_OUT)/worlds; rm -rf $$worlds; mkdir -p $$worlds/deps; \
	cp $(RUST_BINDINGS)/sdk.wit $$worlds/; cp -r plugin-sdk/wit $$worlds/deps/plugin; \
	generate() { $(WIT_BINDGEN) rust --generate-all --format "$$@"; }; \
	generate plugin-sdk/wit --world plugin --pub-export-macro -d PartialEq -d Eq -d Hash --out-dir $(RUST_BINDINGS); \
	generate $$worlds --world stateful --pub-export-macro --out-dir $(RUST_BINDINGS); \
	for world in flat-handler reconciler sync-aware timer; do \
	  generate $$worlds --world $$world --pub-export-macro --out-dir $(RUST_BINDINGS) \
	    --with 'informant:plugin/types@$(CONTRACT_VERSION)=crate::bindings::informant::plugin::types'; \
	done; \
	generate $(RUST_BINDINGS)/wasi.wit --world wasi --out-dir $(RUST_BINDINGS); \
	generate plugins/test-guests/src/system.wit --world system --out-dir plugins/test-guests/src; \
	sha256sum plugin-sdk/wit/plugin.wit | cut -d' ' -f1 >$(RUST_BINDINGS)/contract.txt

sdk-rust: plugins everyday-build golden-rust golden-wat
	@set -ex; cargo test -p informant-plugin; \
	$(call golden_source,rust); $(call golden_source,wat)

# Together, because the registry has no version of one that another depends on. cargo builds each from its archive. Then a test builds the
# README's controller and a plugin from the archives, in an empty directory, and runs them.
package: everyday-build
	rm -f target/package/*.crate
	cargo package -p informant-apimachinery -p informant-cache -p informant-plugin
	INFORMANT_PACKAGES=$(CURDIR)/target/package cargo test --workspace --test it -- packages::

# No module is fetched: there are none.
SDK_GO = GOTOOLCHAIN=local GOPROXY=off GOFLAGS=-mod=mod $(GO)
GO_WASM = GOOS=wasip1 GOARCH=wasm $(SDK_GO) build -trimpath -buildmode=c-shared -ldflags="-s -w"

go-sdk:
	@mkdir -p $(SDK_OUT); rm -f $(GO_SDK_READY); \
	if [ -z "$(GO)" ] || ! (cd plugin-sdk/go && $(SDK_GO) list . >/dev/null 2>&1); then \
	  echo "SKIPPED: what is written in Go needs Go 1.24 or newer on PATH or in /usr/local/go, which https://go.dev/dl has. It was neither built nor tested." >&2; \
	else touch $(GO_SDK_READY); fi

sdk-go: plugins everyday-build go-sdk golden-go
	@[ ! -e $(GO_SDK_READY) ] || { set -ex; \
	  test -z "$$($(GO)fmt -l plugin-sdk/go $(GO_PLUGINS:%=plugins/%))" || { $(GO)fmt -d plugin-sdk/go $(GO_PLUGINS:%=plugins/%); exit 1; }; \
	  (cd plugin-sdk/go && $(SDK_GO) vet . ./indexer ./kube ./fetch ./informanttest && $(SDK_GO) test ./...); \
	  for module in plugin-sdk/go/template $(GO_PLUGINS:%=plugins/%); do (cd $$module && $(SDK_GO) vet . && $(SDK_GO) test ./...); done; \
	  (cd plugin-sdk/go && $(GO_WASM) -o $(CURDIR)/$(SDK_OUT)/fails-go.wasm ./fails); \
	  (cd plugin-sdk/go/template && $(GO_WASM) -o $(CURDIR)/$(SDK_OUT)/hello-go.wasm .); \
	  INFORMANT_GO_EVENTS=100000 cargo test --workspace --test go_plugin -- --nocapture; \
	  $(call sdk_facts,go,$(GO_PLUGINS)); \
	  $(call golden_source,go); \
	}

SDK_NODE := $(CURDIR)/$(SDK_OUT)/node
JS_SDK_SOURCES := $(wildcard plugin-sdk/js/*.js plugin-sdk/js/src/*.js plugin-sdk/js/package.json plugin-sdk/wit/*.wit)
NPM_INSTALL := npm install --no-audit --no-fund --silent --fetch-retries=1

# $(call fresh_sources,language): of the copy before nothing is left but what npm has brought.
fresh_sources = mkdir -p $(SDK_NODE)/$(1); find $(SDK_NODE)/$(1) -mindepth 1 -maxdepth 1 ! -name node_modules ! -name package-lock.json -exec rm -rf {} +

# What runs JavaScript, from the version on that the SDKs are for.
NODE_IS_THERE := command -v npm >/dev/null && node -e 'const [major, minor] = process.versions.node.split(".").map(Number); process.exit(major > 20 || (major === 20 && minor >= 6) ? 0 : 1)'

# The SDK is built in a copy, with what npm fetches beside it; it is fetched again when package.json is another.
js-sdk:
	@mkdir -p $(SDK_NODE)/node_modules $(SDK_NODE)/plugins; rm -f $(JS_SDK_READY); \
	if ! { $(NODE_IS_THERE); }; then \
	  echo "SKIPPED: what is written in JavaScript needs Node.js 20.6 or newer with npm, which https://nodejs.org has. It was neither built nor tested." >&2; exit 0; \
	fi; \
	set -e; $(call fresh_sources,js); cp -r plugin-sdk/js plugin-sdk/wit $(SDK_NODE)/; ln -sfn ../js $(SDK_NODE)/node_modules/informant-plugin; \
	if ! cmp -s plugin-sdk/js/package.json $(SDK_NODE)/fetched.json; then \
	  if ! $(NPM_INSTALL) --prefix $(SDK_NODE)/js; then \
	    echo "SKIPPED: npm cannot fetch componentize-qjs and esbuild (plugin-sdk/js/package.json). What is written in JavaScript was neither built nor tested." >&2; exit 0; \
	  fi; \
	  cp plugin-sdk/js/package.json $(SDK_NODE)/fetched.json; \
	fi; \
	touch $(JS_SDK_READY)

# $(call js_plugin,name): a shipped plugin as a file.
define js_plugin
$(PLUGINS_OUT)/$(1).wasm: $(filter-out %.test.js,$(wildcard plugins/$(1)/*.js)) $(JS_SDK_SOURCES) | js-sdk
	@[ ! -e $(JS_SDK_READY) ] || { set -e; echo "building a plugin in JavaScript: $(1)"; mkdir -p $(PLUGINS_OUT); \
	  cp -r plugins/$(1) $(SDK_NODE)/plugins/; \
	  node $(SDK_NODE)/js/build.js $(SDK_NODE)/plugins/$(1)/plugin.js target/.$(1).wasm; mv -f target/.$(1).wasm $$@; }
endef

sdk-js: plugins everyday-build js-sdk golden-js
	@[ ! -e $(JS_SDK_READY) ] || { set -ex; \
	  (cd $(SDK_NODE)/js && node --import ./testing/register.js --test test.js template/plugin.test.js templates/*/plugin.test.js); \
	  for plugin in $(JS_PLUGINS); do \
	    cp -r plugins/$$plugin $(SDK_NODE)/plugins/; \
	    (cd $(SDK_NODE)/plugins/$$plugin && node --import informant-plugin/testing/register --test); \
	  done; \
	  node $(SDK_NODE)/js/build.js $(SDK_NODE)/js/template/plugin.js $(SDK_OUT)/hello-js.wasm; \
	  node $(SDK_NODE)/js/build.js $(SDK_NODE)/js/fails/plugin.js $(SDK_OUT)/fails-js.wasm; \
	  for out in hello-js-dev hello-js-again; do INFORMANT_DEV=1 node $(SDK_NODE)/js/build.js $(SDK_NODE)/js/template/plugin.js $(SDK_OUT)/$$out.wasm; done; \
	  cmp $(SDK_OUT)/hello-js-dev.wasm $(SDK_OUT)/hello-js-again.wasm; \
	  INFORMANT_DEV=1 node $(SDK_NODE)/js/build.js $(SDK_NODE)/js/fails/plugin.js $(SDK_OUT)/fails-js-dev.wasm; \
	  $(call sdk_facts,js,$(JS_PLUGINS)); \
	  $(call golden_source,js); \
	}

# The SDK for JavaScript, with its declarations. npm brings the compiler beside the tests.
typescript-sdk: js-sdk
	@rm -f $(TYPESCRIPT_SDK_READY); [ -e $(JS_SDK_READY) ] || exit 0; set -e; tests=$(SDK_NODE)/typescript/tests; \
	$(call fresh_sources,typescript); mkdir -p $(SDK_NODE)/fetched-typescript $$tests; \
	cp -r plugin-sdk/typescript plugin-sdk/descriptor.schema.json $(SDK_NODE)/; cp $$tests/package.json $(SDK_NODE)/fetched-typescript/; \
	if ! cmp -s $$tests/package.json $(SDK_NODE)/fetched-typescript.json; then \
	  if ! $(NPM_INSTALL) --prefix $(SDK_NODE)/fetched-typescript; then \
	    echo "SKIPPED: npm cannot fetch typescript (plugin-sdk/typescript/tests/package.json). What is written in TypeScript was neither built nor tested." >&2; exit 0; \
	  fi; \
	  cp $$tests/package.json $(SDK_NODE)/fetched-typescript.json; \
	fi; \
	ln -sfn ../../fetched-typescript/node_modules $$tests/node_modules; ln -sfn $$tests/node_modules $(SDK_NODE)/typescript/node_modules; \
	touch $(TYPESCRIPT_SDK_READY)

sdk-typescript: plugins everyday-build typescript-sdk
	@[ ! -e $(TYPESCRIPT_SDK_READY) ] || { set -ex; cd $(SDK_NODE)/typescript; \
	  node --import ../js/testing/register.js --test tests/declarations.test.js; \
	  for folder in template template/test; do node tests/node_modules/typescript/bin/tsc --project $$folder; done; \
	  node --import ../js/testing/register.js --test template/test/plugin.test.ts; \
	  for kind in controller timer; do cp -r template $$kind; cp -r templates/$$kind/. $$kind/; \
	    for folder in $$kind $$kind/test; do node tests/node_modules/typescript/bin/tsc --project $$folder; done; \
	    node --import ../js/testing/register.js --test $$kind/test/plugin.test.ts; done; \
	  (cd template && node ../../js/build.js src/plugin.ts $(CURDIR)/$(SDK_OUT)/hello-typescript.wasm); \
	  (cd fails && node ../../js/build.js src/plugin.ts $(CURDIR)/$(SDK_OUT)/fails-typescript.wasm); \
	  cd $(CURDIR); $(call sdk_facts,typescript,); \
	}

SDK_VENV := $(SDK_OUT)/venv
SDK_PYTHON := $(CURDIR)/$(SDK_VENV)/bin/python
# A copy of the SDK: componentize-py leaves __pycache__ in each folder that it reads, and the program is compiled anew when a folder of
# plugin-sdk changes.
PYTHON_SDK_COPY := $(CURDIR)/$(SDK_OUT)/python
# $(PYTHON_PLUGIN) OUT: the plugin of the folder that it runs in.
PYTHON_PLUGIN = PYTHONDONTWRITEBYTECODE=1 $(SDK_PYTHON) $(PYTHON_SDK_COPY)/python/build.py
COMPONENTIZE_PY := componentize-py==0.25.1
PYTHON_SDK_SOURCES := $(wildcard plugin-sdk/python/build.py plugin-sdk/python/informant/*.py plugin-sdk/wit/*.wit)

python-sdk:
	@mkdir -p $(SDK_OUT); rm -f $(PYTHON_SDK_READY); \
	if ! $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then \
	  echo "SKIPPED: what is written in Python needs Python 3.10 or newer, which https://python.org has. It was neither built nor tested." >&2; exit 0; \
	fi; \
	if [ "$$(cat $(SDK_OUT)/fetched.pip 2>/dev/null)" != "$(COMPONENTIZE_PY)" ]; then \
	  if ! { $(PYTHON) -m venv $(SDK_VENV) && $(SDK_PYTHON) -m pip install --quiet --disable-pip-version-check --retries 1 $(COMPONENTIZE_PY); }; then \
	    echo "SKIPPED: pip cannot fetch $(COMPONENTIZE_PY). What is written in Python was neither built nor tested." >&2; exit 0; \
	  fi; \
	  echo "$(COMPONENTIZE_PY)" >$(SDK_OUT)/fetched.pip; \
	fi; \
	rm -rf $(PYTHON_SDK_COPY); mkdir -p $(PYTHON_SDK_COPY); cp -r plugin-sdk/python plugin-sdk/wit $(PYTHON_SDK_COPY)/ && \
	touch $(PYTHON_SDK_READY)

# $(call python_plugin,name): a shipped plugin as a file.
define python_plugin
$(PLUGINS_OUT)/$(1).wasm: $(filter-out %/test_%.py,$(wildcard plugins/$(1)/*.py)) $(PYTHON_SDK_SOURCES) | python-sdk
	@[ ! -e $(PYTHON_SDK_READY) ] || { set -e; echo "building a plugin in Python: $(1)"; mkdir -p $(PLUGINS_OUT); \
	  (cd plugins/$(1) && $(PYTHON_PLUGIN) $(CURDIR)/target/.$(1).wasm); \
	  mv -f target/.$(1).wasm $$@; }
endef

sdk-python: plugins everyday-build python-sdk golden-python
	@[ ! -e $(PYTHON_SDK_READY) ] || { set -ex; \
	  export PYTHONDONTWRITEBYTECODE=1; \
	  (cd plugin-sdk/python && $(SDK_PYTHON) -m unittest test_informant); \
	  for plugin in plugin-sdk/python/template plugin-sdk/python/templates/* $(PYTHON_PLUGINS:%=plugins/%); do \
	    (cd $$plugin && PYTHONPATH=$(CURDIR)/plugin-sdk/python $(SDK_PYTHON) -m unittest); \
	  done; \
	  (cd $(PYTHON_SDK_COPY)/python/template && $(PYTHON_PLUGIN) $(CURDIR)/$(SDK_OUT)/hello-python.wasm); \
	  (cd $(PYTHON_SDK_COPY)/python/fails && $(PYTHON_PLUGIN) $(CURDIR)/$(SDK_OUT)/fails-python.wasm); \
	  $(call sdk_facts,python,$(PYTHON_PLUGINS)); \
	  $(call golden_source,python); \
	}

# Zig of the version that the SDK is written in, as a program below target: the one on the path, or else pip's.
ZIG_VERSION := 0.17.0
SDK_ZIG := $(CURDIR)/$(SDK_OUT)/zig/zig

zig-sdk:
	@mkdir -p $(dir $(SDK_ZIG)); rm -f $(ZIG_SDK_READY); \
	if [ "$$($(SDK_ZIG) version 2>/dev/null)" != $(ZIG_VERSION) ]; then \
	  if [ "$$(zig version 2>/dev/null)" = $(ZIG_VERSION) ]; then ln -sf "$$(command -v zig)" $(SDK_ZIG); \
	  elif { $(PYTHON) -m venv $(SDK_OUT)/zig/venv && $(SDK_OUT)/zig/venv/bin/python -m pip install --quiet --disable-pip-version-check --retries 1 ziglang==$(ZIG_VERSION); } >&2; then \
	    printf '#!/bin/sh\nexec "$(CURDIR)/$(SDK_OUT)/zig/venv/bin/python" -m ziglang "$$@"\n' >$(SDK_ZIG); chmod +x $(SDK_ZIG); \
	  else \
	    echo "SKIPPED: there is no Zig $(ZIG_VERSION), and pip cannot fetch it (ziglang). What is written in Zig, and in C where clang makes no WebAssembly, was neither built nor tested." >&2; exit 0; \
	  fi; \
	fi; touch $(ZIG_SDK_READY)

# A folder with a plugin's source and, in sdk, ours, as projects have it.
define zig_folder
rm -rf $(SDK_OUT)/zig/$(1); mkdir -p $(SDK_OUT)/zig/$(1); cp $(2) $(SDK_OUT)/zig/$(1)/; ln -s $(CURDIR)/plugin-sdk $(SDK_OUT)/zig/$(1)/sdk
endef
ZIG_WASM = $(SDK_ZIG) build-exe -target wasm32-freestanding -O safe -fstrip -fno-entry -rdynamic --stack 131072

sdk-zig: plugins everyday-build zig-sdk golden-zig
	@[ ! -e $(ZIG_SDK_READY) ] || { set -ex; \
	  $(SDK_ZIG) fmt --check plugin-sdk/zig; \
	  (cd plugin-sdk/zig && $(SDK_ZIG) test --cache-dir $(CURDIR)/$(SDK_OUT)/zig/cache informant_test.zig); \
	  $(call zig_folder,hello,plugin-sdk/zig/template/hello.zig); $(call zig_folder,fails,plugin-sdk/zig/fails/*.zig); \
	  (cd $(SDK_OUT)/zig/hello && $(SDK_ZIG) test hello.zig && $(ZIG_WASM) hello.zig -femit-bin=$(CURDIR)/$(SDK_OUT)/hello-zig.wasm); \
	  (cd $(SDK_OUT)/zig/fails && $(ZIG_WASM) fails.zig -femit-bin=$(CURDIR)/$(SDK_OUT)/fails-zig.wasm); \
	  $(call sdk_facts,zig,); \
	  $(call golden_source,zig); \
	}

# What makes WebAssembly of C, as $$cc: clang if it can, or else Zig. Without both that is all.
define find_c_compiler
cc="$${WASM_CC:-clang --target=wasm32}"; \
if ! echo 'int probe;' | $$cc $(C_FLAGS) -x c - -o $(SDK_OUT)/.probe.wasm >/dev/null 2>&1; then \
  [ -e $(ZIG_SDK_READY) ] || exit 0; cc="$(SDK_ZIG) cc -target wasm32-freestanding"; \
fi
endef

# The system's compiler for the tests.
sdk-c: plugins everyday-build zig-sdk golden-c
	@$(find_c_compiler); set -ex; \
	$(MAKE) --no-print-directory -C plugin-sdk/c/tests test BUILD=$(CURDIR)/$(SDK_OUT)/c; \
	rm -rf $(SDK_OUT)/c/hello; cp -r plugin-sdk/c/template $(SDK_OUT)/c/hello; ln -s $(CURDIR)/plugin-sdk $(SDK_OUT)/c/hello/sdk; \
	$(MAKE) --no-print-directory -C $(SDK_OUT)/c/hello test; \
	$$cc $(C_FLAGS) plugin-sdk/c/informant.c plugin-sdk/c/template/hello.c -o $(SDK_OUT)/hello-c.wasm; \
	$$cc $(C_FLAGS) plugin-sdk/c/informant.c plugin-sdk/c/fails/fails.c -o $(SDK_OUT)/fails-c.wasm; \
	$(call sdk_facts,c,); \
	$(call golden_source,c)

# As with JavaScript; npm puts the compiler beside the SDK's copy.
assemblyscript-sdk:
	@mkdir -p $(SDK_NODE)/node_modules; rm -f $(ASSEMBLYSCRIPT_SDK_READY); \
	if ! { $(NODE_IS_THERE); }; then \
	  echo "SKIPPED: what is written in AssemblyScript needs Node.js 20.6 or newer with npm, which https://nodejs.org has. It was neither built nor tested." >&2; exit 0; \
	fi; \
	set -e; $(call fresh_sources,assemblyscript); cp -r plugin-sdk/assemblyscript plugin-sdk/reference.md $(SDK_NODE)/; cp plugin-sdk/js/testing/keys.js $(SDK_NODE)/assemblyscript/testing/; ln -sfn ../assemblyscript $(SDK_NODE)/node_modules/informant-plugin-assemblyscript; \
	if ! cmp -s plugin-sdk/assemblyscript/package.json $(SDK_NODE)/fetched-assemblyscript.json; then \
	  if ! $(NPM_INSTALL) --prefix $(SDK_NODE)/assemblyscript; then \
	    echo "SKIPPED: npm cannot fetch assemblyscript (plugin-sdk/assemblyscript/package.json). What is written in it was neither built nor tested." >&2; exit 0; \
	  fi; \
	  cp plugin-sdk/assemblyscript/package.json $(SDK_NODE)/fetched-assemblyscript.json; \
	fi; \
	touch $(ASSEMBLYSCRIPT_SDK_READY)

sdk-assemblyscript: plugins everyday-build assemblyscript-sdk golden-assemblyscript
	@[ ! -e $(ASSEMBLYSCRIPT_SDK_READY) ] || { set -ex; \
	  (cd $(SDK_NODE)/assemblyscript && node --test tests/*.test.js); \
	  for kind in controller timer; do (cd $(SDK_NODE)/assemblyscript && cp -r template $$kind && cp -r templates/$$kind/. $$kind/ && cd $$kind && node --test plugin.test.js); done; \
	  (cd $(SDK_NODE)/assemblyscript/template && node --test plugin.test.js && node ../build.js assembly/index.ts $(CURDIR)/$(SDK_OUT)/hello-assemblyscript.wasm); \
	  (cd $(SDK_NODE)/assemblyscript/fails && node ../build.js assembly/index.ts $(CURDIR)/$(SDK_OUT)/fails-assemblyscript.wasm); \
	  $(call sdk_facts,assemblyscript,); \
	  $(call golden_source,assemblyscript); \
	}

$(foreach p,$(JS_PLUGINS),$(eval $(call js_plugin,$(p))))
$(foreach p,$(PYTHON_PLUGINS),$(eval $(call python_plugin,$(p))))
