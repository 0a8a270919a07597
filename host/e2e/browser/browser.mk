# The dashboard in a real browser. Included by the root Makefile; every path is relative to the root.
#
#   make browser   drives every page and every action of the dashboard in Chromium, and leaves pictures in target/browser/pictures
#   make picture   takes the picture of the dashboard in the README again
#
# They need Node.js 20 and npm, which fetches Playwright and axe, and Chromium: that of the machine, or Debian's, which root can fetch.

.PHONY: browser picture browser-tools

BROWSER_SUITE := target/browser/suite
# `make` reads it when a recipe runs: the tools may have been fetched before.
CHROMIUM = $(firstword $(shell command -v chromium chromium-browser google-chrome 2>/dev/null))
BROWSER_NODE = INFORMANT_BIN=$(CURDIR)/target/debug/informant INFORMANT_PLUGINS=$(CURDIR)/target/plugins \
	INFORMANT_TEST_GUESTS=$(CURDIR)/target/test-guests INFORMANT_WORK=$(CURDIR)/target/browser/hosts INFORMANT_PICTURES=$(CURDIR)/target/browser/pictures CHROMIUM=$(CHROMIUM) node

# Playwright of another version is fetched anew. What cannot be fetched is said.
browser-tools:
	@mkdir -p $(BROWSER_SUITE)
	@cp host/e2e/browser/*.mjs host/e2e/browser/package.json $(BROWSER_SUITE)/
	@command -v node >/dev/null && command -v npm >/dev/null || \
	  echo "SKIPPED: make browser needs Node.js 20 and npm." >&2
	@! command -v npm >/dev/null || npm install --prefix $(BROWSER_SUITE) --no-audit --no-fund --silent || \
	  echo "SKIPPED: make browser fetches Playwright and axe with npm, which failed." >&2
	@command -v chromium chromium-browser google-chrome >/dev/null || { test "$$(id -u)" = 0 && \
	  apt-get install -y --no-install-recommends chromium >target/browser/apt.log 2>&1; } || \
	  echo "SKIPPED: make browser needs Chromium on PATH; as root it fetches Debian's package, which failed (target/browser/apt.log)." >&2

define in_browser
	@if [ -d $(BROWSER_SUITE)/node_modules/playwright-core ] && [ -n "$$(command -v chromium chromium-browser google-chrome)" ]; \
	then cd $(BROWSER_SUITE) && $(BROWSER_NODE) $(1); else echo "SKIPPED: no page was looked at in a browser." >&2; fi
endef

browser: plugins test-guests everyday-build browser-tools
	$(call in_browser,--test dashboard.test.mjs)

picture: plugins test-guests everyday-build browser-tools
	$(call in_browser,picture.mjs $(CURDIR)/host/docs/dashboard.png)
