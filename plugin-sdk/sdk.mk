# The SDKs for other languages than Rust and C: tests without WebAssembly, the templates as plugins, and the host's facts about those. Included by the
# root Makefile; every path is relative to the root.
#
#   make sdk          all of them
#   make sdk-go       needs Go 1.24 or newer
#   make sdk-js       needs Node.js and npm, which fetches componentize-qjs
#   make sdk-python   needs Python 3.10 or newer and pip, which fetches componentize-py
#
# Each says what is missing, and is skipped then.

SDK_OUT := target/sdk

.PHONY: sdk sdk-go sdk-js sdk-python

sdk: sdk-go sdk-js sdk-python

# $(call sdk_facts,language): what a host makes of what was built.
define sdk_facts
INFORMANT_SDK=$(1) cargo test -p informant-e2e --test it -- host::sdk::$(1)
endef

ifeq ($(GO),)
sdk-go:
	@echo "SKIPPED: make $@ needs Go 1.24 or newer, and there is no 'go' on PATH nor in /usr/local/go/bin." >&2
	@echo "         Install it from https://go.dev/dl/ and run 'make $@' again. The SDK for Go was not tested." >&2
else
# No module is fetched: there are none.
SDK_GO := GOTOOLCHAIN=local GOPROXY=off GOFLAGS=-mod=mod $(GO)
sdk-go: plugins
	@echo "testing the SDK for Go, and building its template"
	@test -z "$$($(GO)fmt -l plugin-sdk/go)" || { $(GO)fmt -d plugin-sdk/go; exit 1; }
	cd plugin-sdk/go && $(SDK_GO) vet . ./indexer ./kube ./fetch ./informanttest && $(SDK_GO) test ./...
	cd plugin-sdk/go/template && $(SDK_GO) test ./...
	@mkdir -p $(SDK_OUT)
	cd plugin-sdk/go && GOOS=wasip1 GOARCH=wasm $(SDK_GO) build -buildmode=c-shared -ldflags="-s -w" -o $(CURDIR)/$(SDK_OUT)/fails-go.wasm ./fails
	cd plugin-sdk/go/template && GOOS=wasip1 GOARCH=wasm $(SDK_GO) build -buildmode=c-shared -ldflags="-s -w" -o $(CURDIR)/$(SDK_OUT)/hello-go.wasm .
	cargo build -p informant
	$(call sdk_facts,go)
endif

# What npm and pip fetch goes below target, and only there.
SDK_NODE := $(CURDIR)/target/sdk/node
SDK_VENV := target/sdk/venv
SDK_PYTHON := $(CURDIR)/$(SDK_VENV)/bin/python

sdk-js: plugins
	@if ! command -v npm >/dev/null || ! node -e 'process.exit(+process.versions.node.split(".")[0] >= 20 ? 0 : 1)'; then \
	  echo "SKIPPED: make $@ needs Node.js 20.6 or newer with npm, which https://nodejs.org has. The SDK for JavaScript was not tested." >&2; \
	elif ! { mkdir -p $(SDK_NODE) && cp -r plugin-sdk/js plugin-sdk/wit $(SDK_NODE)/ \
	    && npm install --prefix $(SDK_NODE)/js --no-audit --no-fund --silent \
	    && ln -sfn .. $(SDK_NODE)/js/node_modules/informant-plugin; }; then \
	  echo "SKIPPED: npm cannot fetch componentize-qjs and esbuild (plugin-sdk/js/package.json). The SDK for JavaScript was not tested." >&2; \
	else \
	  echo "testing the SDK for JavaScript, and building its template"; set -e; \
	  npm test --prefix $(SDK_NODE)/js; \
	  node $(SDK_NODE)/js/build.js $(SDK_NODE)/js/template/plugin.js $(SDK_OUT)/hello-js.wasm; \
	  node $(SDK_NODE)/js/build.js $(SDK_NODE)/js/fails/plugin.js $(SDK_OUT)/fails-js.wasm full; \
	  cargo build -p informant; \
	  $(call sdk_facts,js); \
	fi

SDK_COMPONENTIZE = $(CURDIR)/$(SDK_VENV)/bin/componentize-py -d $(CURDIR)/plugin-sdk/wit
sdk-python: plugins
	@if ! $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then \
	  echo "SKIPPED: make $@ needs Python 3.10 or newer, which https://python.org has. The SDK for Python was not tested." >&2; \
	elif ! { $(PYTHON) -m venv $(SDK_VENV) && $(SDK_PYTHON) -m pip install --quiet --disable-pip-version-check componentize-py==0.25.1; }; then \
	  echo "SKIPPED: pip cannot fetch componentize-py 0.25.1. The SDK for Python was not tested." >&2; \
	else \
	  echo "testing the SDK for Python, and building its template"; set -e; \
	  export PYTHONDONTWRITEBYTECODE=1; \
	  (cd plugin-sdk/python && $(SDK_PYTHON) -m unittest test_informant); \
	  (cd plugin-sdk/python/template && PYTHONPATH=.. $(SDK_PYTHON) -m unittest); \
	  mkdir -p $(SDK_OUT); \
	  (cd plugin-sdk/python/template && $(SDK_COMPONENTIZE) -w plugin componentize -p . -p .. app -o $(CURDIR)/$(SDK_OUT)/hello-python.wasm); \
	  (cd plugin-sdk/python/fails && $(SDK_COMPONENTIZE) -w full componentize -p . -p .. app -o $(CURDIR)/$(SDK_OUT)/fails-python.wasm); \
	  cargo build -p informant; \
	  $(call sdk_facts,python); \
	fi
