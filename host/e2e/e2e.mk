# The behaviour suite against a real Kubernetes API server. Included by the root Makefile; every path
# is relative to the root.
#
#   make e2e-tools   builds kube-apiserver and etcd into target/e2e (several minutes the first time)
#   make e2e         builds them and runs the suite against them; E2E_ONLY="cache:: host::writes" for some facts
#   make behaviour   runs the same suite against the embedded cluster; both leave out plugin projects
#   make slow-tests  the part of it that `make test` leaves out: what takes more than 20 s
#   make promtool    fetches promtool from Debian; the suite has it read the expressions of alerts and dashboard
#   make storm       replaces a plugin's file 200 times under 2,000 changes a second and looks for what was lost (SEED=n);
#                    SHARDS=n for a plugin in several instances, KILLS=n for hosts that are killed meanwhile
#   make election    lets the leader of two hosts fail 50 times under load and looks for writes out of turn (SEED=n)
#   make siege       throws generated files, requests, state and recordings at a host for SIEGE_MINUTES=10, beside a good plugin (SEED=n);
#                    ONLY=files,requests for some kinds, FROM=n INPUTS=m for m inputs of each kind from the n-th
#   make attacks     runs known attacks one at a time, where nothing else runs, and compares the times of events and probes with their
#                    bounds (INFORMANT_E2E=real: beside a real API server, after make e2e-tools)
#   make soak-plugins  lets 50 good plugins live beside every test guest for SOAK_MINUTES=10 and measures them
#   make projects    plugin projects in every language whose tools are there, by the READMEs' own commands; npm and pip fetch;
#                    LANGUAGES="js python" for some
#   make openapi     a validator reads /openapi.json of a host, and a fuzzer compares its answers with it (pip fetches both);
#                    SEED=n replays, EXAMPLES=100 of each path
#   make deny        the dependency policy (deny.toml), where cargo-deny is installed
#   make image       the container image; without a container engine its root is laid out in
#                    target/image-root and started there (PROFILE=dev: with the everyday build)

GO ?= $(firstword $(shell command -v go 2>/dev/null) $(wildcard /usr/local/go/bin/go))
SOAK_MINUTES ?= 10
SIEGE_MINUTES ?= 10
# The programs are stripped, so that no package needs debug information. The standard library is compiled as other builds have it.
GO_WITHOUT_DEBUG := -gcflags=all=-dwarf=false -gcflags=std=
E2E_KUBERNETES_VERSION := 1.36.3
E2E_LDFLAGS := -s -w \
	-X k8s.io/component-base/version.gitVersion=v$(E2E_KUBERNETES_VERSION) \
	-X k8s.io/component-base/version.gitMajor=1 \
	-X k8s.io/component-base/version.gitMinor=36

.PHONY: e2e e2e-tools promtool e2e-run e2e-host projects behaviour slow-tests storm election siege attacks soak-plugins openapi deny image

# Without Go there is nothing to test against: that, and only that, is skipped.
ifeq ($(GO),)
e2e e2e-tools:
	@echo "SKIPPED: make $@ needs Go 1.26 or newer to build kube-apiserver and etcd, and there is no 'go' on PATH nor in /usr/local/go/bin." >&2
	@echo "         Install it from https://go.dev/dl/ and run 'make $@' again. Nothing was tested against a real API server." >&2
else
e2e: e2e-tools e2e-run
e2e-tools: target/e2e/etcd target/e2e/kube-apiserver
endif

# Written beside and renamed, so that an interrupted build leaves no half binary that looks done.
target/e2e/etcd: $(addprefix host/e2e/servers/,go.mod go.sum etcd/main.go)
	@echo "building etcd (it takes a while the first time)"
	@mkdir -p target/e2e
	cd host/e2e/servers && CGO_ENABLED=0 $(GO) build -trimpath $(GO_WITHOUT_DEBUG) -ldflags '-s -w' -o $(CURDIR)/$@.partial ./etcd
	@mv $@.partial $@

target/e2e/kube-apiserver: $(addprefix host/e2e/servers/,go.mod go.sum apiserver/main.go apiserver/signing_key.go)
	@echo "building kube-apiserver $(E2E_KUBERNETES_VERSION) (several minutes the first time)"
	@mkdir -p target/e2e
	cd host/e2e/servers && CGO_ENABLED=0 $(GO) build -trimpath $(GO_WITHOUT_DEBUG) -ldflags '$(E2E_LDFLAGS)' -o $(CURDIR)/$@.partial ./apiserver
	@mv $@.partial $@

promtool: target/e2e/promtool
target/e2e/promtool:
	@mkdir -p target/e2e/debian
	@cd target/e2e/debian && apt-get download prometheus >apt.log 2>&1 && dpkg -x prometheus_*.deb . && mv usr/bin/promtool .. || \
		echo "SKIPPED: make $@ fetches Debian's package prometheus with apt-get and dpkg, which failed; target/e2e/debian/apt.log has the reason." >&2

# What the facts about the host are driven with.
e2e-host: plugins test-guests everyday-build

# Facts that take more than 20 s by the clock are ignored in `make test`. Plugin projects are, too, because each language compiles its SDK
# several times, and npm and pip fetch.
WITHOUT_PROJECTS := --skip host::projects::languages

behaviour: e2e-host
	cargo test --workspace --test it -- --include-ignored $(WITHOUT_PROJECTS)

slow-tests: e2e-host
	cargo test --workspace --test it -- --ignored $(WITHOUT_PROJECTS)

e2e-run: e2e-host
	INFORMANT_E2E=real cargo test --workspace --test it -- --include-ignored $(WITHOUT_PROJECTS) $(strip $(E2E_ONLY))

projects: everyday-build
	cargo test --workspace --test it -- --include-ignored $(or $(LANGUAGES:%=host::projects::languages::%),host::projects)

# The host by itself, as people get it: together they would be built with each other's features.
storm: build test-guests
	cargo run --release -p informant-e2e --bin storm -- $(if $(SEED),--seed $(SEED)) \
		$(if $(SHARDS),--shards $(SHARDS)) $(if $(KILLS),--kills $(KILLS))

# With INFORMANT_E2E=real, after make e2e-tools, beside a real API server.
election: build test-guests
	cargo run --release -p informant-e2e --bin election -- $(if $(SEED),--seed $(SEED))

siege: build plugins test-guests
	cargo run --release -p informant-e2e --bin siege -- --minutes $(SIEGE_MINUTES) $(if $(SEED),--seed $(SEED)) \
		$(if $(ONLY),--only $(ONLY)) $(if $(FROM),--from $(FROM)) $(if $(INPUTS),--inputs $(INPUTS))

# In the build of everyday, which is slower than the released program: a bound that it keeps is kept.
attacks: e2e-host
	INFORMANT_TIMES=compared cargo test --workspace --test it -- attacks:: --include-ignored --test-threads=1

# SOAK_MINUTES=m: how long all are together.
soak-plugins: build test-guests
	cargo run --release -p informant-e2e --bin soak -- --minutes $(SOAK_MINUTES)

OPENAPI_OUT      := target/openapi
OPENAPI_PYTHON   := $(CURDIR)/$(OPENAPI_OUT)/venv/bin/python
OPENAPI_TOOLS    := host/e2e/openapi/requirements.txt
EXAMPLES         ?= 100

openapi: everyday-build
	@mkdir -p $(OPENAPI_OUT); \
	if ! cmp -s $(OPENAPI_TOOLS) $(OPENAPI_OUT)/fetched.pip; then \
		if ! { $(PYTHON) -m venv $(OPENAPI_OUT)/venv && $(OPENAPI_PYTHON) -m pip install --quiet --disable-pip-version-check --retries 1 -r $(OPENAPI_TOOLS); }; then \
			echo "SKIPPED: make $@ needs Python 3.10 or newer, and pip cannot fetch the tools of $(OPENAPI_TOOLS): see above." >&2; \
			echo "         The description of the HTTP API was not tried." >&2; exit 0; \
		fi; \
		cp $(OPENAPI_TOOLS) $(OPENAPI_OUT)/fetched.pip; \
	fi; \
	host/e2e/openapi/run.sh target/debug/informant $(OPENAPI_PYTHON) --max-examples $(EXAMPLES) $(if $(SEED),--seed $(SEED))

# Installing cargo-deny compiles for minutes, which is not asked of anybody who only builds.
deny: prerequisites
	@if ! cargo deny --version >/dev/null 2>&1; then \
		echo "SKIPPED: make deny needs cargo-deny: run 'cargo install --locked cargo-deny' and then 'make deny' again." >&2; \
		echo "         The dependency policy (deny.toml) was not checked." >&2; \
	else \
		cargo deny check bans licenses sources || exit 1; \
		if cargo deny fetch db >/dev/null 2>&1; then \
			cargo deny check --disable-fetch advisories; \
		else \
			echo "SKIPPED: the advisory database cannot be reached; known vulnerabilities were not checked." >&2; \
		fi; \
	fi

IMAGE        ?= informant:dev
IMAGE_ROOT   := target/image-root

# Without a container engine the same root is laid out in a folder and the image's own command line is
# started there, from a program without write access to anything else than its temporary directory.
ifeq ($(shell docker info >/dev/null 2>&1 && echo docker),docker)
image:
	docker build -t $(IMAGE) .
else
ifeq ($(PROFILE),dev)
IMAGE_PROGRAM := target/debug/informant
image: everyday-build
else
IMAGE_PROGRAM := target/release/informant
image: build
endif
image:
	@echo "no container engine answers: laying the image's root out in $(IMAGE_ROOT)"
	@rm -rf $(IMAGE_ROOT).partial && mkdir -p $(IMAGE_ROOT).partial/usr/local/bin $(IMAGE_ROOT).partial/plugins $(IMAGE_ROOT).partial/tmp
	@install -m 0755 $(IMAGE_PROGRAM) $(IMAGE_ROOT).partial/usr/local/bin/informant
	@rm -rf $(IMAGE_ROOT) && mv $(IMAGE_ROOT).partial $(IMAGE_ROOT)
	INFORMANT_BIN=$(CURDIR)/$(IMAGE_ROOT)/usr/local/bin/informant cargo test --workspace --test it -- host::image
endif
